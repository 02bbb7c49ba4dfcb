"""A report for a terminal, as Markdown and as a page."""

"""Render a report for the terminal, as Markdown or as HTML."""

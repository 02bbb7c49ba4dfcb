"""From a file to the lines of a sheet: every form becomes a page, and one function places pages on sheets."""

"""The page of an explanation: HTML, style sheet and script in one file."""

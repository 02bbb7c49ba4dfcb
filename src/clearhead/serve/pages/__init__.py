"""HTML, styles and scripts of the web pages, as they are served."""

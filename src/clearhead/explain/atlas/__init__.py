"""The atlas of heads: the report of `clearhead heads` as one self-contained page."""

"""Low-level file access that every package may import: atomic writes, locks, JSON, YAML, and lines in and out."""

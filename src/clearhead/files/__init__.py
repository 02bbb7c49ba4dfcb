"""The ground floor: whole-file writing, locks, JSON and YAML in, lines in and out."""

"""Strings in, scores out; no number without the signature that says how it was made."""

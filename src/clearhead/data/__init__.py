"""Corpora in (many formats), batches out."""

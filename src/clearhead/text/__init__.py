"""Text in and ids out: normalising, tokenisers, special tokens. Never torch."""

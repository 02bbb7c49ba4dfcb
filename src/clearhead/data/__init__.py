"""Read corpora in many formats, filter them, and make batches for training."""

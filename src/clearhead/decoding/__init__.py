"""Translate sentences with a model: greedy search, beam search, sampling and alignments."""

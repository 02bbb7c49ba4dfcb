"""Translate and score on the machines of a Ray cluster: windows of lines in, results in the same order out."""

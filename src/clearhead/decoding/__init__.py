"""From a model and sentences to translations: greedy search, beam search, sampling, and what they looked at."""

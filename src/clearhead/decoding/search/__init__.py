"""Choose tokens: greedy search, beam search, sampling, and the rules and constraints on them."""

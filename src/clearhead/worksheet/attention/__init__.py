"""Attention layers: what a problem says of them (rule, layer), whether it fits (fit), and the working (work)."""

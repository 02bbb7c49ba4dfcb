"""Attention layers: their keys in a problem (rule, layer), the checks (validation) and the steps (work)."""

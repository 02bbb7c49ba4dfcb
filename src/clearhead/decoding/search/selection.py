"""Beam search choices on the device of the model: which candidates are kept, which end, and a record of both.

It makes the same choices as `beam.py` in tensors at fixed addresses, so that they can be part of a CUDA graph. It does
not decide which sentences are finished: their rows continue to be computed, but their records are ignored.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


class Selection:
    """The choices for B sentences of K hypotheses each, and the record of every step: (L, B, C, 5)."""

    def __init__(self, rows: int, beam: int, length: int, never: Tensor, eos: int) -> None:
        device = never.device
        self.beam, self.eos, self.never = beam, eos, never  # (V,): -∞ for tokens that are never written, else 0
        self.num_candidates = min(2 * beam, beam * min(2 * beam, len(never)))
        self.totals = torch.zeros(rows, beam, dtype=never.dtype, device=device)
        self.limits = torch.ones(rows, dtype=torch.long, device=device)
        self.min_length = torch.zeros(1, dtype=torch.long, device=device)
        self.record = torch.zeros(length, rows, self.num_candidates, 5, dtype=torch.float64, device=device)

    def start(self, limits: Sequence[int], min_length: int) -> None:
        """Start with one empty hypothesis for each sentence; rows without a sentence get a limit of one token."""
        self.totals.fill_(-math.inf)
        self.totals[:, 0] = 0.0
        self.limits.fill_(1)
        self.limits[: len(limits)] = torch.tensor(limits, device=self.limits.device)
        self.min_length.fill_(min_length)

    def choose(self, log_probs: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
        """Return the parents and tokens (B, K) of the kept candidates after `place` (1,) tokens; write the record."""
        hidden = self.never.expand(1, -1).clone()
        hidden[:, self.eos] += torch.where(place < self.min_length, -math.inf, 0.0)
        per_beam = (log_probs + hidden).topk(min(2 * self.beam, log_probs.shape[-1]))  # (B, K, C)
        best = (self.totals[..., None] + per_beam.values).flatten(1).topk(self.num_candidates)  # (B, C)
        parents = best.indices // per_beam.values.shape[-1]
        tokens, token_log_probs = (
            part.flatten(1).gather(1, best.indices) for part in (per_beam.indices, per_beam.values)
        )
        is_ended = (tokens == self.eos) | (self.limits <= place + 1)[:, None]
        parts = (parents, tokens, token_log_probs, best.values, is_ended)
        self.record.index_copy_(0, place, torch.stack([part.double() for part in parts], dim=-1)[None])
        choice = is_ended.int().argsort(dim=1, stable=True)[:, : self.beam]
        self.totals.copy_(best.values.gather(1, choice).masked_fill(is_ended.gather(1, choice), -math.inf))
        return parents.gather(1, choice), tokens.gather(1, choice)

"""Run a model one step at a time for several hypotheses of several sentences.

The hypotheses of a sentence are side by side in one row and share its encoder output.
"""

import torch
from torch import Tensor

from clearhead.model import Memory, SequenceModel
from clearhead.model.probe import Probe
from clearhead.steps import NO_TRACE, Tracer


class Stepper:
    """A model during decoding: B sentences with K hypotheses each."""

    def __init__(self, model: SequenceModel, source: Tensor, hidden: Tensor | None = None) -> None:
        self.model, self.hidden = model, hidden  # (B, 1, V) or (1, 1, V), from `hidden_logits`
        self.memory: Memory | None = model.encode(source)
        self.cache = model.start_beams(self.memory, len(source), source.device)

    def step(self, tokens: Tensor, trace: Tracer = NO_TRACE) -> Tensor:
        """Read the last token of every hypothesis (B, K, T); return log P of every next token: (B, K, V)."""
        last = tokens[..., -1] if tokens.shape[-1] else self._first(tokens)
        logits = self.model.decode(last, self.memory, self.cache, probe=Probe(trace))  # (B, K, V)
        if self.hidden is not None:
            logits = logits + self.hidden  # not in place, because the trace has the logits of the model
        return torch.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))

    def _first(self, tokens: Tensor) -> Tensor:
        """Return the tokens (B, K) that the first step reads."""
        return tokens.new_full(tokens.shape[:2], self.model.config.start_id)

    def follow(self, parents: Tensor) -> None:
        """Switch to hypotheses (B, K′) that continue those at `parents`."""
        self.cache.follow(parents)

    def keep(self, rows: Tensor) -> None:
        """Keep only the sentences at `rows`."""
        self.cache.reorder(rows)
        self.memory = None if self.memory is None else self.memory.reorder(rows)
        if self.hidden is not None and len(self.hidden) > 1:
            self.hidden = self.hidden[rows]

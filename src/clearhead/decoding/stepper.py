"""One step of a model for many hypotheses of many sentences: what each has written in, log-probabilities out.

The hypotheses of a sentence lie side by side and share what the encoder made of it; each has a cache of its own.
"""

import torch
from torch import Tensor

from clearhead.model import Transformer


class Stepper:
    """A model in the middle of writing: B sentences, K hypotheses each."""

    def __init__(self, model: Transformer, source: Tensor) -> None:
        self.model = model
        self.memory = model.encode(source)
        self.cache = model.start_cache(self.memory, len(source), source.device)

    def step(self, written: Tensor) -> Tensor:
        """Read the last token of every hypothesis (B, K, T), and return the log P of each next one: (B, K, V)."""
        sentences, beam, _ = written.shape
        logits = self.model.decode(self.last(written), self.memory, self.cache)[:, -1]  # (B·K, V)
        wide = torch.promote_types(logits.dtype, torch.float32)
        return torch.log_softmax(logits, dim=-1, dtype=wide).view(sentences, beam, -1)

    def last(self, written: Tensor) -> Tensor:
        """Return the last token of every hypothesis, or the start: (B·K, 1)"""
        if written.shape[-1] == 0:
            return written.new_full((written.shape[0] * written.shape[1], 1), self.model.config.start_id)
        return written[..., -1].reshape(-1, 1)

    def follow(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Go on with the hypotheses at `rows` (B′, K′) of the B · K there were, in these sentences (None: all)."""
        self.cache.reorder_beams(rows.flatten(), sentences)
        if sentences is not None:
            self.memory = self.memory.reorder(sentences)

    def penalties(self) -> Tensor | None:
        """Return what each hypothesis loses for what it has not covered (B, K), or None."""
        return None

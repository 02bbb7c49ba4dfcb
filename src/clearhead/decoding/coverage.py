"""The coverage penalty of Wu et al. (2016): a translation loses for every source token that it hardly attended to.

cp = β Σᵢ log min(Σⱼ aⱼᵢ, 1), where aⱼᵢ is what the step that writes token j gives to source token i: the mean over
the heads of the last block. Attention is seen in a trace only, so a search with this penalty is slower.
"""

import torch
from torch import Tensor

from clearhead.decoding.stepper import Stepper
from clearhead.model import Transformer
from clearhead.model.tracing import PartTrace

_LEAST = 1e-9  # attention that no step gave has a logarithm too


class CoverageStepper(Stepper):
    """A Stepper that adds up the attention of every hypothesis."""

    def __init__(self, model: Transformer, source: Tensor, weight: float) -> None:
        super().__init__(model, source)
        self.weight = weight
        self.is_real = source != model.config.pad  # (B, S)
        self.given = torch.zeros(len(source), 1, source.shape[1], device=source.device)  # (B, K, S)

    def step(self, written: Tensor) -> Tensor:
        """Do a traced step; a trace shows every hypothesis with a memory of its own."""
        sentences, beam, _ = written.shape
        each = torch.arange(sentences, device=written.device).repeat_interleave(beam)
        place = f"decoder.{self.model.config.decoder_blocks - 1}.cross_attention"
        trace = PartTrace((place,))
        logits = self.model.decode(self.last(written), self.memory.reorder(each), self.cache, trace=trace)[:, -1]
        heads = [record.value[:, -1] for record in trace.find("softmax")]
        self.given = self.given + torch.stack(heads).mean(dim=0).view(sentences, beam, -1)
        wide = torch.promote_types(logits.dtype, torch.float32)
        return torch.log_softmax(logits, dim=-1, dtype=wide).view(sentences, beam, -1)

    def follow(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Keep the attention of the hypotheses that go on."""
        super().follow(rows, sentences)
        self.given = self.given.flatten(0, 1)[rows]
        if sentences is not None:
            self.is_real = self.is_real[sentences]

    def penalties(self) -> Tensor:
        """β Σᵢ log min(Σⱼ aⱼᵢ, 1), over the real tokens of the source: (B, K)"""
        lost = self.given.clamp(_LEAST, 1.0).log() * self.is_real[:, None]
        return self.weight * lost.sum(dim=-1)

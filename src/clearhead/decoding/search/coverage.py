"""The coverage penalty of Wu et al. (2016): it lowers the score for source tokens that received little attention.

cp = β Σᵢ log min(Σⱼ aⱼᵢ, 1), where aⱼᵢ is the attention to source token i in the step that writes token j, averaged
over the heads of the last layer. Reading attention requires a trace, so a search with this penalty is slower.
"""

import torch
from torch import Tensor

from clearhead.decoding.search.stepper import Stepper
from clearhead.errors import ConfigError
from clearhead.model import SequenceModel
from clearhead.model.tracing import PartTrace
from clearhead.steps import NO_TRACE, Tracer

_LEAST = 1e-9  # keeps the logarithm finite for a source token without attention


class CoverageStepper(Stepper):
    """A Stepper that sums the attention of every hypothesis."""

    def __init__(self, model: SequenceModel, source: Tensor, weight: float, hidden: Tensor | None = None) -> None:
        if not model.has_cross_attention:
            raise ConfigError(
                "the coverage penalty needs attention to the source, and this model has none. Remove the penalty.",
                options=("coverage_penalty",),
            )
        super().__init__(model, source, hidden)
        self.weight = weight
        self.is_real = source != model.config.pad  # (B, S)
        self.attention = torch.zeros(len(source), 1, source.shape[1], device=source.device)  # (B, K, S)

    def step(self, tokens: Tensor, trace: Tracer = NO_TRACE) -> Tensor:
        """Do a traced step, and add its attention to the sums."""
        last_block = PartTrace((f"decoder.{self.model.config.decoder_blocks - 1}.cross_attention",))
        log_probs = super().step(tokens, last_block)
        heads = [record.value for record in last_block.find("softmax")]  # (B, K, S) each
        self.attention = self.attention + torch.stack(heads).mean(dim=0)
        return log_probs

    def follow(self, parents: Tensor) -> None:
        """Reorder the sums for hypotheses (B, K′) that continue those at `parents`."""
        super().follow(parents)
        self.attention = self.attention.gather(1, parents[..., None].expand(-1, -1, self.attention.shape[-1]))

    def keep(self, rows: Tensor) -> None:
        """Keep the sums of the sentences at `rows`."""
        super().keep(rows)
        self.attention, self.is_real = self.attention[rows], self.is_real[rows]

    def penalties(self) -> Tensor:
        """β Σᵢ log min(Σⱼ aⱼᵢ, 1), over the real tokens of the source: (B, K)"""
        log_coverage = self.attention.clamp(_LEAST, 1.0).log() * self.is_real[:, None]
        return self.weight * log_coverage.sum(dim=-1)

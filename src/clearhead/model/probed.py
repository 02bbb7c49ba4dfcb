"""A model seen through a probe: the same gates or patch in every pass, for code that knows no probes.

It is a value beside the model, which stays unchanged and shares its parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clearhead.model.base import DecoderBeams, DecoderCache, Memory, SequenceModel
from clearhead.model.batch import Batch
from clearhead.model.gates import Gates
from clearhead.model.mask import CAUSAL, Mask
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.tracing import MAX_TRACE_BYTES
from clearhead.model.transformer import Transformer
from clearhead.steps import Trace


class ProbedModel(SequenceModel):
    """A model that gets the gates of a probe in every pass in which no other gates are given, and always its edit.

    A model with an edit reads one sentence only, in any number of rows: positions have no meaning in another one.
    """

    def __init__(self, model: SequenceModel, probe: Probe) -> None:
        nn.Module.__init__(self)  # that of SequenceModel wants the config of one architecture
        self.model, self.probe, self.config, self.output = model, probe, model.config, model.output
        self.train(model.training)

    def _joined(self, probe: Probe) -> Probe:
        gates: Gates = probe.gates if probe.gates.is_on else self.probe.gates
        return Probe(probe.trace, gates, self.probe.edit)

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source."""
        return self.model.has_cross_attention

    @property
    def can_record_steps(self) -> bool:
        """Whether a step of its decoder can be recorded as a CUDA graph."""
        return self.model.can_record_steps

    def encode(
        self, source: Tensor, *, is_padded: bool = True, sentences: Tensor | None = None, probe: Probe = NO_PROBE
    ) -> Memory:
        """Encode sentences (B, S)."""
        return self.model.encode(source, is_padded=is_padded, sentences=sentences, probe=self._joined(probe))

    def decode_states(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: DecoderCache | None = None,
        *,
        mask: Mask = CAUSAL,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """Return the decoder's states (B, T, D), from which the logits are projected."""
        return self.model.decode_states(target, memory, cache, mask=mask, probe=self._joined(probe))

    def start_cache(self, memory: Memory | None, size: int, device: torch.device) -> DecoderCache:
        """Return an empty cache for `size` texts."""
        return self.model.start_cache(memory, size, device)

    def start_beams(self, memory: Memory | None, size: int, device: torch.device) -> DecoderBeams:
        """Return an empty cache for `size` rows of several continuations."""
        return self.model.start_beams(memory, size, device)

    def blocks(self) -> list[nn.Module]:
        """Return the layers of the model."""
        return self.model.blocks()

    def trace(
        self,
        batch: Batch,
        only: str | Sequence[str] = (),
        max_bytes: int = MAX_TRACE_BYTES,
        *,
        probe: Probe = NO_PROBE,
    ) -> tuple[Tensor, Trace]:
        """Return the logits of a batch and the steps that computed them, gates included."""
        return self.model.trace(batch, only, max_bytes, probe=self._joined(probe))


@dataclass(frozen=True, eq=False)
class StatePatch:
    """States (P, D) that replace those at P positions of a sentence after an encoder layer, counted from 0."""

    layer: int
    positions: tuple[int, ...]
    states: Tensor

    def __call__(self, layer: int, x: Tensor) -> Tensor:
        """Return the output x (B, S, D) of a layer with the states of this patch, if it belongs to the layer."""
        if layer != self.layer:
            return x
        patched = x.clone()
        patched[:, list(self.positions)] = self.states.to(x)
        return patched


def read_states(model: Transformer, source: Tensor, layer: int) -> Tensor:
    """Return the states (B, S, D) of sentences (B, S) after an encoder layer, counted from 0."""
    states: dict[int, Tensor] = {}

    def read(number: int, x: Tensor) -> Tensor:
        states[number] = x
        return x

    model.encode(source, probe=Probe(edit=read))
    return states[layer]

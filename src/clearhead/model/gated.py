"""A model seen through gates: the same model, with the same gates in every pass, for code that knows no gates.

Search and engines take a SequenceModel; this is one. It is a value beside the model, which stays unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from clearhead.model.batch import Batch
from clearhead.model.config import ModelConfig
from clearhead.model.gates import NO_GATES, HeadGates
from clearhead.model.mask import CAUSAL, Mask
from clearhead.model.memory import Memory
from clearhead.model.protocol import DecoderBeams, DecoderCache, SequenceModel
from clearhead.model.tracing import MAX_TRACE_BYTES
from clearhead.steps import NO_TRACE, Trace, Tracer


@dataclass(frozen=True, eq=False)
class GatedModel:
    """A SequenceModel that hands `default_gates` to a model in every pass in which no other gates are given."""

    model: SequenceModel
    default_gates: HeadGates

    def _chosen(self, gates: HeadGates) -> HeadGates:
        return gates if gates.is_on else self.default_gates

    # One pass

    def __call__(self, batch: Batch, *, gates: HeadGates = NO_GATES) -> Tensor:
        """Return logits: (B, T, V), or (B, C) for a classifier."""
        return self.model(batch, gates=self._chosen(gates))

    def encode(
        self,
        source: Tensor,
        *,
        is_padded: bool = True,
        sentences: Tensor | None = None,
        gates: HeadGates = NO_GATES,
        trace: Tracer = NO_TRACE,
    ) -> Memory:
        """Encode sentences (B, S)."""
        return self.model.encode(
            source, is_padded=is_padded, sentences=sentences, gates=self._chosen(gates), trace=trace
        )

    def decode(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: DecoderCache | None = None,
        *,
        mask: Mask = CAUSAL,
        gates: HeadGates = NO_GATES,
        trace: Tracer = NO_TRACE,
    ) -> Tensor:
        """Return the logits (B, T, V) of the token after each token of `target`."""
        return self.model.decode(target, memory, cache, mask=mask, gates=self._chosen(gates), trace=trace)

    def decode_states(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: DecoderCache | None = None,
        *,
        mask: Mask = CAUSAL,
        gates: HeadGates = NO_GATES,
        trace: Tracer = NO_TRACE,
    ) -> Tensor:
        """Return the states (B, T, D) from which `project` computes the logits of `decode`."""
        return self.model.decode_states(target, memory, cache, mask=mask, gates=self._chosen(gates), trace=trace)

    def trace(
        self,
        batch: Batch,
        only: str | Sequence[str] = (),
        max_bytes: int = MAX_TRACE_BYTES,
        *,
        gates: HeadGates = NO_GATES,
    ) -> tuple[Tensor, Trace]:
        """Return the logits of a batch and the steps that computed them, gates included."""
        return self.model.trace(batch, only, max_bytes, gates=self._chosen(gates))

    # The same as in the model

    @property
    def config(self) -> ModelConfig:
        """The architecture."""
        return self.model.config

    @property
    def training(self) -> bool:
        """Whether dropout is on."""
        return self.model.training

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the parameters."""
        return self.model.dtype

    @property
    def can_translate(self) -> bool:
        """Whether it reads a source and writes a target."""
        return self.model.can_translate

    @property
    def can_classify(self) -> bool:
        """Whether it returns the logits of classes."""
        return self.model.can_classify

    @property
    def can_continue_text(self) -> bool:
        """Whether it writes a target without a source."""
        return self.model.can_continue_text

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source."""
        return self.model.has_cross_attention

    @property
    def can_record_steps(self) -> bool:
        """Whether a step of its decoder can be recorded as a CUDA graph."""
        return self.model.can_record_steps

    def project(self, states: Tensor, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Return the logits of states."""
        return self.model.project(states, trace=trace)

    def shifted(self, target: Tensor, sentences: Tensor | None = None) -> Tensor:
        """Return the decoder's input for `target`."""
        return self.model.shifted(target, sentences)

    def start_cache(self, memory: Memory | None, size: int, device: torch.device) -> DecoderCache:
        """Return an empty cache for `size` texts."""
        return self.model.start_cache(memory, size, device)

    def start_beams(self, memory: Memory | None, size: int, device: torch.device) -> DecoderBeams:
        """Return an empty cache for `size` rows of several continuations."""
        return self.model.start_beams(memory, size, device)

    def train(self, mode: bool = True) -> Self:
        """Turn dropout of the model on or off."""
        self.model.train(mode)
        return self

    def eval(self) -> Self:
        """Turn dropout of the model off."""
        return self.train(False)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> Self:
        """Move the parameters of the model; the gates stay where they are."""
        self.model.to(device, dtype)
        return self

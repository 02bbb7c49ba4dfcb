"""Patches: states of one sentence in the encoder, replaced by those of another sentence after a layer.

A patch is an argument of `encode`, like gates. A PatchedModel hands it over, for code that knows no patches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from clearhead.errors import TraceError
from clearhead.model.batch import Batch
from clearhead.model.gated import GatedModel
from clearhead.model.gates import NO_GATES, HeadGates
from clearhead.model.memory import Memory
from clearhead.model.tracing import MAX_TRACE_BYTES
from clearhead.model.transformer import Transformer
from clearhead.steps import NO_TRACE, Trace, Tracer


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


@dataclass(frozen=True, eq=False)
class PatchedModel(GatedModel):
    """A model whose encoder replaces states of one sentence, with `default_gates` as in a GatedModel.

    It reads this sentence only, in any number of rows: positions have no meaning in another one.
    """

    model: Transformer
    patch: StatePatch

    def __call__(self, batch: Batch, *, gates: HeadGates = NO_GATES) -> Tensor:
        """Return the logits (B, T, V) of an encoder-decoder."""
        assert batch.source is not None
        assert batch.target is not None
        return self.decode(self.shifted(batch.target), self.encode(batch.source, gates=gates), gates=gates)

    def encode(
        self,
        source: Tensor,
        *,
        is_padded: bool = True,
        sentences: Tensor | None = None,
        gates: HeadGates = NO_GATES,
        trace: Tracer = NO_TRACE,
    ) -> Memory:
        """Encode the sentence (B, S) with the patch."""
        chosen = self._chosen(gates)
        return self.model.encode(
            source, is_padded=is_padded, sentences=sentences, gates=chosen, edit=self.patch, trace=trace
        )

    def trace(
        self,
        batch: Batch,
        only: str | Sequence[str] = (),
        max_bytes: int = MAX_TRACE_BYTES,
        *,
        gates: HeadGates = NO_GATES,
    ) -> tuple[Tensor, Trace]:
        """Raise TraceError: the replaced states were computed in another pass."""
        raise TraceError("a patched model has no trace: some of its states come from another sentence. Trace both.")


def read_states(model: Transformer, source: Tensor, layer: int, *, gates: HeadGates = NO_GATES) -> Tensor:
    """Return the states (B, S, D) of sentences (B, S) after an encoder layer, counted from 0."""
    states: dict[int, Tensor] = {}

    def read(number: int, x: Tensor) -> Tensor:
        states[number] = x
        return x

    model.encode(source, gates=gates, edit=read)
    return states[layer]

"""The interface of a model for search, engines and training: two protocols, which every architecture implements.

A third one is the interface of what a decoder remembers between one-token steps: keys and values, or a state.

Outside this package only the code that reads and writes weights names a model's class. This module does not import
torch at run time, so that modules without torch can use the types.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from clearhead.model.batch import Batch
    from clearhead.model.config import ModelConfig
    from clearhead.model.gates import HeadGates
    from clearhead.model.loss import Loss
    from clearhead.model.mask import Mask
    from clearhead.model.memory import Memory
    from clearhead.steps import Trace, Tracer


class DecoderCache(Protocol):
    """What a decoder remembers of the tokens that it has read, one text per row."""

    def reorder(self, index: "Tensor") -> None:
        """Reorder the rows, or drop some of them."""


class DecoderBeams(DecoderCache, Protocol):
    """What a decoder remembers of several continuations per row."""

    def follow(self, parents: "Tensor") -> None:
        """Continue with new hypotheses (B, K′), each with the past of its parent."""


@runtime_checkable
class SequenceModel(Protocol):
    """A model that reads and writes sequences of ids: the interface for search, engines and explanations.

    Axes: B batch, S source, T target, D model, V vocabulary, C classes.
    """

    @property
    def config(self) -> "ModelConfig":
        """The architecture."""

    @property
    def training(self) -> bool:
        """Whether dropout is on."""

    @property
    def device(self) -> "torch.device":
        """The device of the parameters, where ids must be too."""

    @property
    def dtype(self) -> "torch.dtype":
        """The dtype of the parameters."""

    # Capabilities

    @property
    def can_translate(self) -> bool:
        """Whether it reads a source and writes a target: `encode`, then `decode` with the memory."""

    @property
    def can_classify(self) -> bool:
        """Whether it returns the logits of classes, (B, C)."""

    @property
    def can_continue_text(self) -> bool:
        """Whether it writes a target without a source: `decode` without a memory."""

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source, from which an alignment can be read."""

    @property
    def can_record_steps(self) -> bool:
        """Whether a step of its decoder can be recorded as a CUDA graph and replayed."""

    # One pass

    def __call__(self, batch: "Batch", *, gates: "HeadGates" = ...) -> "Tensor":
        """Return logits: (B, T, V), or (B, C) for a classifier."""

    def encode(
        self,
        source: "Tensor",
        *,
        is_padded: bool = ...,
        sentences: "Tensor | None" = ...,
        gates: "HeadGates" = ...,
        trace: "Tracer" = ...,
    ) -> "Memory":
        """Encode sentences (B, S). `is_padded=False` promises that there is no padding; `sentences` (B, S) numbers the
        sentences that share a row; `gates` scale attention heads, here and in all methods below."""

    def decode(
        self,
        target: "Tensor",
        memory: "Memory | None" = ...,
        cache: "DecoderCache | None" = ...,
        *,
        mask: "Mask" = ...,
        gates: "HeadGates" = ...,
        trace: "Tracer" = ...,
    ) -> "Tensor":
        """Return the logits (B, T, V) of the token after each token of `target` (B, T).

        With a cache, `target` contains only the tokens that are new since the last call: (B, 1) for the result of
        `start_cache`, (B, continuations) for that of `start_beams`, which has one column per hypothesis.
        """

    def decode_states(
        self,
        target: "Tensor",
        memory: "Memory | None" = ...,
        cache: "DecoderCache | None" = ...,
        *,
        mask: "Mask" = ...,
        gates: "HeadGates" = ...,
        trace: "Tracer" = ...,
    ) -> "Tensor":
        """Return the states (B, T, D) from which `project` computes the logits of `decode`."""

    def project(self, states: "Tensor", *, trace: "Tracer" = ...) -> "Tensor":
        """Return the logits (…, V) or (…, C) of states (…, D)."""

    def shifted(self, target: "Tensor", sentences: "Tensor | None" = ...) -> "Tensor":
        """Return the decoder's input for `target` (B, T): the start token, then all tokens except the last."""

    def start_cache(self, memory: "Memory | None", size: int, device: "torch.device") -> "DecoderCache":
        """Return an empty cache for `size` texts, one per row."""

    def start_beams(self, memory: "Memory | None", size: int, device: "torch.device") -> "DecoderBeams":
        """Return an empty cache for `size` rows, each with several continuations of one text."""

    def trace(
        self, batch: "Batch", only: str | Sequence[str] = ..., max_bytes: int = ..., *, gates: "HeadGates" = ...
    ) -> "tuple[Tensor, Trace]":
        """Return the logits of a batch and the steps that computed them, in eval mode; `only` selects places."""

    # Mode and device

    def train(self, mode: bool = ...) -> Self:
        """Turn dropout on (or off) and return the model."""

    def eval(self) -> Self:
        """Turn dropout off and return the model."""

    def to(self, device: "torch.device | str | None" = ..., dtype: "torch.dtype | None" = ...) -> Self:
        """Move the parameters and return the model."""


@runtime_checkable
class TrainableModel(SequenceModel, Protocol):
    """A SequenceModel with the additional interface for training and checkpoints."""

    # The loss

    def loss(self, batch: "Batch", label_smoothing: float = ..., *, gates: "HeadGates" = ...) -> "Loss":
        """Return the summed cross-entropy of a batch, excluding padding."""

    def states(self, batch: "Batch", *, gates: "HeadGates" = ..., trace: "Tracer" = ...) -> "Tensor":
        """Return the states from which the logits are projected: (B, T, D), or (B, 1, D) for a classifier."""

    def loss_from_states(self, states: "Tensor", batch: "Batch", label_smoothing: float = ...) -> "Loss":
        """Return the loss of a batch from its `states`: the second half of `loss`, which can be compiled separately."""

    def labels(self, batch: "Batch") -> "Tensor":
        """Return the correct answers: target ids (B, T), or classes (B,)."""

    @property
    def ignore_index(self) -> int:
        """The label that is excluded from the loss: padding."""

    # Parameters

    def parameters(self) -> "Iterator[nn.Parameter]":
        """Yield every parameter once."""

    def named_parameters(self) -> "Iterator[tuple[str, nn.Parameter]]":
        """Yield every parameter once, with its name."""

    def weight_matrices(self) -> "list[Tensor]":
        """Return the matrices that weight decay shrinks: not embeddings, the output, biases or norms."""

    def blocks(self) -> "Iterable[nn.Module]":
        """Return the layers, which are compiled one by one."""

    def state_dict(self, *, keep_vars: bool = ...) -> dict[str, Any]:
        """Return all tensors by their names in a checkpoint."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> object:
        """Copy all tensors of another model of the same architecture."""

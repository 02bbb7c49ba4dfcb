"""What search, engines and training need to know of a model: two protocols, which `Transformer` satisfies.

Nothing outside this room names a model's class, but for the code that reads and writes weights. Nothing here imports
torch at run time, so that modules without torch can name the types.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from clearhead.model.batch import Batch
    from clearhead.model.cache import BeamCache, Cache
    from clearhead.model.config import ModelConfig
    from clearhead.model.loss import Loss
    from clearhead.model.mask import Mask
    from clearhead.model.memory import Memory
    from clearhead.steps import Trace, Tracer


@runtime_checkable
class SequenceModel(Protocol):
    """A model that reads and writes sequences of ids: what search, engines and explanations need of it.

    Axes: B batch, S source, T target, D model, V vocabulary, C classes.
    """

    config: "ModelConfig"
    training: bool  # whether dropout is on

    @property
    def device(self) -> "torch.device":
        """Where the parameters are, and where ids must be."""

    @property
    def dtype(self) -> "torch.dtype":
        """The type of the parameters."""

    # What it can do

    @property
    def can_translate(self) -> bool:
        """Whether it reads a source and writes a target: `encode`, then `decode` with the memory."""

    @property
    def can_classify(self) -> bool:
        """Whether it gives the logits of classes, (B, C)."""

    @property
    def can_continue_text(self) -> bool:
        """Whether it writes a target without a source: `decode` without a memory."""

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source, in which an alignment can be read."""

    @property
    def can_record_steps(self) -> bool:
        """Whether a step of its decoder can be recorded as a CUDA graph and replayed."""

    # One pass

    def __call__(self, batch: "Batch") -> "Tensor":
        """Return logits: (B, T, V), or (B, C) of a classifier."""

    def encode(
        self, source: "Tensor", *, is_padded: bool = ..., sentences: "Tensor | None" = ..., trace: "Tracer" = ...
    ) -> "Memory":
        """Read sentences (B, S). `is_padded` False promises that there is no padding; `sentences` (B, S) numbers the
        sentences that share a row."""

    def decode(
        self,
        target: "Tensor",
        memory: "Memory | None" = ...,
        cache: "Cache | BeamCache | None" = ...,
        *,
        mask: "Mask" = ...,
        trace: "Tracer" = ...,
    ) -> "Tensor":
        """Return the logits (B, T, V) of what follows each token of `target` (B, T).

        With a cache, `target` is only what is new since the last call: (B, 1) for a Cache, (B, continuations) for a
        BeamCache, whose columns are hypotheses and not tokens.
        """

    def decode_states(
        self,
        target: "Tensor",
        memory: "Memory | None" = ...,
        cache: "Cache | BeamCache | None" = ...,
        *,
        mask: "Mask" = ...,
        trace: "Tracer" = ...,
    ) -> "Tensor":
        """Return the states (B, T, D) that `project` turns into the logits of `decode`."""

    def project(self, states: "Tensor", *, trace: "Tracer" = ...) -> "Tensor":
        """Return the logits (…, V) or (…, C) of states (…, D)."""

    def shifted(self, target: "Tensor", sentences: "Tensor | None" = ...) -> "Tensor":
        """Return what the decoder reads while it writes `target` (B, T): the start token, then all but the last."""

    def start_cache(self, memory: "Memory | None", size: int, device: "torch.device") -> "Cache":
        """Return an empty cache for `size` texts, one to a row."""

    def start_beams(self, memory: "Memory | None", size: int, device: "torch.device") -> "BeamCache":
        """Return an empty cache for `size` rows in which continuations of one text are written side by side."""

    def trace(self, batch: "Batch", only: str | Sequence[str] = ..., max_bytes: int = ...) -> "tuple[Tensor, Trace]":
        """Return the logits of a batch and every step that led to them; `only` selects places. For eval mode."""

    # Mode and place

    def train(self, mode: bool = ...) -> Self:
        """Turn dropout on (or off) and return the model itself."""

    def eval(self) -> Self:
        """Turn dropout off and return the model itself."""

    def to(self, device: "torch.device | str | None" = ..., dtype: "torch.dtype | None" = ...) -> Self:
        """Move the parameters and return the model itself."""


@runtime_checkable
class TrainableModel(SequenceModel, Protocol):
    """A SequenceModel with parameters: what training and checkpoints need besides."""

    # The loss

    def loss(self, batch: "Batch", label_smoothing: float = ...) -> "Loss":
        """Return the summed cross-entropy of a batch, without padding."""

    def states(self, batch: "Batch", *, trace: "Tracer" = ...) -> "Tensor":
        """Return what the logits of a batch are projected from: (B, T, D), or (B, 1, D) of a classifier."""

    def loss_from_states(self, states: "Tensor", batch: "Batch", label_smoothing: float = ...) -> "Loss":
        """Return the loss of a batch from its `states`: `loss` in two halves, so that each can be compiled apart."""

    def labels(self, batch: "Batch") -> "Tensor":
        """Return the right answers: target ids (B, T), or classes (B,)."""

    @property
    def ignore_index(self) -> int:
        """The label that counts for nothing in the loss: padding."""

    # Parameters

    def parameters(self) -> "Iterator[nn.Parameter]":
        """Yield every parameter once."""

    def named_parameters(self) -> "Iterator[tuple[str, nn.Parameter]]":
        """Yield every parameter once, with its name."""

    def weight_matrices(self) -> "list[Tensor]":
        """Return the matrices that weight decay shrinks: not embeddings, the output, biases or norms."""

    def blocks(self) -> "Iterable[nn.Module]":
        """Return the repeated parts, which are compiled one by one."""

    def state_dict(self, *, keep_vars: bool = ...) -> dict[str, Any]:
        """Return all tensors by the names that a checkpoint gives them."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> object:
        """Take over all tensors of another model of the same architecture."""

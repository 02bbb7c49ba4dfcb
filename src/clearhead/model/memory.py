"""The memory: the encoder's output for a batch of sentences, which the decoder attends to."""

from dataclasses import dataclass, replace

from torch import Tensor

from clearhead.model.mask import Mask


@dataclass(frozen=True, eq=False)
class Memory:
    """The encoder's output for a batch of sentences, with the mask of its real tokens."""

    states: Tensor  # (B, S, D)
    mask: Mask
    sentences: Tensor | None = None  # (B, S), for packed rows
    values: Tensor | None = None  # (B, S, D), where what attention mixes is not the states

    def reorder(self, index: Tensor) -> "Memory":
        """Return a memory with the entries of the batch reordered."""
        keys = None if self.mask.keys is None else self.mask.keys.index_select(0, index)
        values = None if self.values is None else self.values.index_select(0, index)
        return Memory(self.states.index_select(0, index), replace(self.mask, keys=keys), values=values)

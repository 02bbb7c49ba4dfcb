"""The memory: what the encoder made of a batch of sentences, for the decoder to attend to."""

from dataclasses import dataclass, replace

from torch import Tensor

from clearhead.model.mask import Mask


@dataclass(frozen=True, eq=False)
class Memory:
    """What the encoder made of a batch of sentences, and which of it are real tokens."""

    states: Tensor  # (B, S, D)
    mask: Mask
    sentences: Tensor | None = None  # (B, S), of packed rows

    def reorder(self, index: Tensor) -> "Memory":
        """Return the entries of the batch in another order."""
        keys = None if self.mask.keys is None else self.mask.keys.index_select(0, index)
        return Memory(self.states.index_select(0, index), replace(self.mask, keys=keys))

"""What a recurrent decoder remembers between one-token steps: the states of its layers, of one size for any length."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model.recurrent_cell import CellState


@dataclass
class RecurrentState:
    """The states of B texts, one per row: each tensor of a layer is (B, 1, D)."""

    layers: list[CellState]
    fed: Tensor | None = None  # (B, 1, D), the last attentional state, with input feeding
    keys: Tensor | None = None  # (B, S, D), what attention compares with
    length: int = 0  # tokens so far, including padding

    def change(self, change: Callable[[Tensor], Tensor]) -> None:
        """Apply `change` to the tensors of each text, which have the axes (B, K, D)."""
        self.layers = [layer.changed(change) for layer in self.layers]
        self.fed = None if self.fed is None else change(self.fed)

    def keep_old(self, old: "RecurrentState", is_real: Tensor) -> None:
        """Return to the old state in the rows whose token was padding; `is_real` is (B, 1, 1)."""
        self.layers = [
            CellState(
                torch.where(is_real, new.hidden, before.hidden),
                None
                if new.memory is None or before.memory is None
                else torch.where(is_real, new.memory, before.memory),
            )
            for new, before in zip(self.layers, old.layers, strict=True)
        ]
        self.fed = None if self.fed is None or old.fed is None else torch.where(is_real, self.fed, old.fed)

    def reorder(self, index: Tensor) -> None:
        """Reorder the rows, or drop some of them."""
        self.change(lambda x: x.index_select(0, index))
        self.keys = None if self.keys is None else self.keys.index_select(0, index)


@dataclass
class RecurrentBeams(RecurrentState):
    """The states of several continuations per row: each tensor of a layer is (B, continuations, D)."""

    def follow(self, parents: Tensor) -> None:
        """Continue with new hypotheses (B, K′), each with the state of its parent."""
        self.change(lambda x: x.gather(1, parents[..., None].expand(-1, -1, x.shape[-1])))

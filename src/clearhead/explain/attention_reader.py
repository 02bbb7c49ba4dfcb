"""Read the attention weights of every head of a batch, without keeping the rest of its trace.

The reader is a trace: the weights are those of the traced pass itself, so no second computation can differ from them.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from clearhead.model.heads import AttentionHead
from clearhead.steps import Step, Trace

Receive = Callable[[AttentionHead, Tensor, Tensor], None]


class AttentionReader(Trace):
    """A trace that records nothing, and hands the weights (B, Q, K) of each head to `receive`.

    The third argument is the mask (B or 1, Q, K) of the head: True where a query can see a key.
    """

    def __init__(self, receive: Receive) -> None:
        super().__init__()
        self._receive = receive
        self._masks: dict[str, Tensor] = {}  # of the last attention layer, by its place

    def at(self, *place: str | int) -> "AttentionReader":
        """Return a child at `place`."""
        child = AttentionReader.__new__(AttentionReader)
        child.layout, child.givens, child.records = self.layout, self.givens, self.records
        child._receive, child._masks = self._receive, self._masks
        child.where = ".".join(str(part) for part in ([self.where] if self.where else []) + list(place))
        return child

    def give(self, name: str, value: Any, **labels: Any) -> None:
        """Remember a mask, and ignore other values."""
        if name == "M":
            self._masks.clear()
            self._masks[self.where] = value

    def record(self, step: Step, value: Any, *, symbol: str = "", **inputs: Any) -> None:
        """Hand on attention weights, and ignore other steps."""
        where, is_head, number = self.where.rpartition(".head.")
        if step.name == "softmax" and is_head:
            self._receive(AttentionHead(where, int(number)), value, self._masks[where])

"""Keys and values kept between one-token steps, in buffers with room behind them: a step copies nothing old.

Reordering copies into the buffers that the last reordering left. With gradients on, nothing is written over.
"""

import torch
from torch import Tensor

_LEAST_ROOM = 32  # tokens


class KeyValues:
    """The keys and values of one layer: (B, H, K, E) each."""

    def __init__(self, k: Tensor, v: Tensor) -> None:
        self._length = k.shape[2]
        self._buffers, self._spare = [k, v], [k[:0], v[:0]]

    @property
    def k(self) -> Tensor:
        """The keys of all tokens so far."""
        return self._buffers[0][:, :, : self._length]

    @property
    def v(self) -> Tensor:
        """The values of all tokens so far."""
        return self._buffers[1][:, :, : self._length]

    def replace(self, k: Tensor, v: Tensor) -> None:
        """Keep these instead; what was kept before is not written over."""
        self._length = k.shape[2]
        self._buffers, self._spare = [k, v], [k[:0], v[:0]]

    def append(self, k: Tensor, v: Tensor) -> None:
        """Add the keys and values of new tokens."""
        # an empty cache is of the parameters' dtype, which autocast may have left: cat would widen every key to it
        old_k, old_v = self.k.to(k.dtype), self.v.to(v.dtype)
        start, end = self._length, self._length + k.shape[2]
        if torch.is_grad_enabled():
            self.replace(torch.cat((old_k, k), dim=2), torch.cat((old_v, v), dim=2))
            return
        if self._buffers[0].shape[2] < end or self._buffers[0].dtype != k.dtype:
            self.replace(_with_room(old_k, 2 * end), _with_room(old_v, 2 * end))
        self._length = end  # `replace` took the room for tokens
        for buffer, new in zip(self._buffers, (k, v), strict=True):
            buffer[:, :, start:end] = new

    def reorder(self, index: Tensor) -> None:
        """Put the entries of the batch in another order, as a beam search needs."""
        if torch.is_grad_enabled():
            self.replace(self.k.index_select(0, index), self.v.index_select(0, index))
            return
        if len(self._spare[0]) < len(index) or self._spare[0].shape[2:] != self._buffers[0].shape[2:]:
            self._spare = [old.new_empty(len(index), *old.shape[1:]) for old in self._buffers]
        used = slice(self._length)
        new = [spare[: len(index)] for spare in self._spare]
        for old, room in zip(self._buffers, new, strict=True):
            torch.index_select(old[:, :, used], 0, index, out=room[:, :, used])
        self._buffers, self._spare = new, self._buffers


def _with_room(x: Tensor, room: int) -> Tensor:
    """Return a copy of x with room for so many tokens; what is behind x is not set."""
    buffer = x.new_empty(*x.shape[:2], max(room, _LEAST_ROOM), x.shape[3])
    buffer[:, :, : x.shape[2]] = x
    return buffer

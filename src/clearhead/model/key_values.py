"""Keys and values cached between one-token steps, in buffers with spare capacity, so that a step copies no old values.

With gradients enabled, nothing is overwritten.
"""

import torch
from torch import Tensor

_LEAST_ROOM = 32  # tokens


class KeyValues:
    """The keys and values of one layer: (B, H, K, E) each."""

    def __init__(self, k: Tensor, v: Tensor) -> None:
        self.replace(k, v)

    @property
    def k(self) -> Tensor:
        """The keys of all tokens so far."""
        return self._buffers[0][:, :, : self._length]

    @property
    def v(self) -> Tensor:
        """The values of all tokens so far."""
        return self._buffers[1][:, :, : self._length]

    def replace(self, k: Tensor, v: Tensor) -> None:
        """Store these instead. The old tensors are not overwritten."""
        self._buffers, self._length = (k, v), k.shape[2]

    def append(self, k: Tensor, v: Tensor) -> None:
        """Add the keys and values of new tokens."""
        # An empty cache has the parameters' dtype, but autocast may give another: cat would widen every key.
        old_k, old_v = self.k.to(k.dtype), self.v.to(v.dtype)
        if torch.is_grad_enabled():
            self.replace(torch.cat((old_k, k), dim=2), torch.cat((old_v, v), dim=2))
            return
        start, end = self._length, self._length + k.shape[2]
        if self._buffers[0].shape[2] < end or self._buffers[0].dtype != k.dtype:
            self._buffers = (_with_room(old_k, 2 * end), _with_room(old_v, 2 * end))
        self._length = end
        for buffer, new in zip(self._buffers, (k, v), strict=True):
            buffer[:, :, start:end] = new

    def reorder(self, index: Tensor) -> None:
        """Reorder the entries of the batch, or drop some of them."""
        self.replace(self.k.index_select(0, index), self.v.index_select(0, index))


def _with_room(x: Tensor, room: int) -> Tensor:
    """Return a copy of x with capacity for `room` tokens. The part after x is uninitialised."""
    buffer = x.new_empty(*x.shape[:2], max(room, _LEAST_ROOM), x.shape[3])
    buffer[:, :, : x.shape[2]] = x
    return buffer

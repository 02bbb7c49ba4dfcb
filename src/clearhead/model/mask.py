"""Attention masks: which keys a query can see. One mask is built once and used by both fused and traced attention.

Padding can be on the right, on the left or anywhere (`keys`), and several sentences can share a row (`packed`).
A causal query sees itself and earlier tokens. A query that sees no key gets weights 0 and output 0.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model.config import ModelConfig


@dataclass(frozen=True, eq=False)
class Packed:
    """The number of each token's sentence in its row, from 1 (0: padding). A query sees only its own sentence."""

    queries: Tensor  # (B, Q)
    keys: Tensor  # (B, K)

    def allowed(self) -> Tensor:
        """Return (B, 1, Q, K): True where query and key are in the same sentence."""
        is_same = self.queries[:, None, :, None] == self.keys[:, None, None, :]
        return is_same & (self.keys != 0)[:, None, None, :]


@dataclass(frozen=True, eq=False)
class Mask:
    """The visible keys: `keys` (B, K) is True for real tokens (None: all are), `is_causal` hides later tokens.

    `first` is the position of the first query among the keys: 0 for a complete sentence, larger with a cache.
    `explicit` (Q, K) or (B, Q, K) hides more keys (True = visible), the same for all heads.
    `packed` hides the other sentences of a row.
    """

    keys: Tensor | None = None
    is_causal: bool = False
    first: int = 0
    explicit: Tensor | None = None
    packed: Packed | None = None

    def allowed(self, num_queries: int, num_keys: int, device: torch.device | None = None) -> Tensor:
        """Return (B or 1, 1, Q, K): True where the query can see the key."""
        device = self.keys.device if self.keys is not None else device
        visible = torch.ones(1, 1, num_queries, num_keys, dtype=torch.bool, device=device)
        if self.is_causal:
            visible = visible.tril(self.first)
        if self.keys is not None:
            visible = visible & self.keys[:, None, None, :]  # (B, 1, Q, K)
        if self.explicit is not None:
            # Insert the axis of heads after the batch axis, or the batch axis would be broadcast as heads.
            visible = visible & (self.explicit if self.explicit.dim() == 2 else self.explicit[:, None])
        if self.packed is not None:
            visible = visible & self.packed.allowed()
        return visible

    def fused(self, num_queries: int, num_keys: int, device: torch.device | None = None) -> "FusedMask":
        """Return the compact form for PyTorch's kernel. Its memory is linear in the length wherever possible."""
        is_plain_causal = self.is_causal and self.first == 0 and num_queries == num_keys
        if self.explicit is None and self.keys is None and self.packed is None:
            if not self.is_causal or (num_queries == 1 and self.first == num_keys - 1):
                return FusedMask(None, False, None)
            if is_plain_causal:
                return FusedMask(None, True, None)
        if self.explicit is None and self.packed is None and not self.is_causal:
            assert self.keys is not None
            has_any = self.keys.any(dim=1)[:, None, None, None]  # (B, 1, 1, 1)
            return FusedMask(self.keys[:, None, None, :] | ~has_any, False, has_any)
        visible = self.allowed(num_queries, num_keys, device)
        has_any = visible.any(dim=-1, keepdim=True)
        return FusedMask(visible | ~has_any, False, has_any)


@dataclass(frozen=True, eq=False)
class FusedMask:
    """The mask arguments of scaled_dot_product_attention; `has_any` is False for queries that must output 0."""

    mask: Tensor | None
    is_causal: bool
    has_any: Tensor | None

    @property
    def is_by_key(self) -> bool:
        """Whether it hides the same keys from every query of a sentence, is causal only, or hides nothing."""
        return self.mask is None or self.mask.shape[-2] == 1


def real_tokens(target: Tensor, config: ModelConfig, *, is_start: bool) -> Tensor:
    """Return (B, T): True for the tokens of a target that are not padding; `is_start` says that texts begin here.

    The start token counts as real, and with start: pad (MarianMT) every padding token does.
    """
    if config.start == "pad":
        return torch.ones_like(target, dtype=torch.bool)
    real = target != config.pad
    if is_start:
        real[:, 0] = True
    return real


def counted_tokens(keys: Tensor) -> Tensor:
    """Return (B, T): True for tokens that an average includes. In a row of padding only, it includes all tokens.

    The mean of no tokens would be 0/0, and with a variance of 0 every norm would scale padding up until it overflows.
    """
    return keys | ~keys.any(dim=1, keepdim=True)


EVERYTHING = Mask()
CAUSAL = Mask(is_causal=True)


@dataclass(frozen=True, eq=False)
class PreparedMask:
    """A mask for given numbers of queries and keys, prepared once for all layers, in the fused and the traced form."""

    mask: Mask
    num_queries: int
    num_keys: int
    fused: FusedMask
    device: torch.device

    def allowed(self) -> Tensor:
        """Return the form for traced attention, (B or 1, Q, K)."""
        return self.mask.allowed(self.num_queries, self.num_keys, self.device).squeeze(1)


def prepare(mask: Mask, num_queries: int, num_keys: int, device: torch.device) -> PreparedMask:
    """Prepare a mask for attention from `num_queries` queries to `num_keys` keys."""
    return PreparedMask(mask, num_queries, num_keys, mask.fused(num_queries, num_keys, device), device)

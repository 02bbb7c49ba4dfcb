"""Keys and values of the tokens that a decoder has read, so that each token is processed only once.

A Cache holds one text per row. A BeamCache holds several continuations of one text in a row: each continuation adds one
token per step and sees only its own earlier tokens. Nothing is copied when a search switches between continuations.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model.config import ModelConfig
from clearhead.model.layers import BlockCache
from clearhead.model.mask import Mask, real_tokens


@dataclass
class Cache:
    """The tokens so far, one text per row, with one BlockCache per layer. `is_real` (B, K) is False for padding."""

    blocks: list[BlockCache]
    is_real: Tensor
    lengths: Tensor  # (B,): the position of the next token of each entry

    @property
    def num_keys(self) -> int:
        """The number of tokens that can be attended to, including padding."""
        return self.is_real.shape[1]

    @property
    def longest(self) -> int:
        """The largest possible length of a text so far."""
        return self.num_keys

    def advance(self, target: Tensor, config: ModelConfig) -> tuple[Tensor, Mask]:
        """Register `target` (B, T) as the next tokens, and return their positions and mask."""
        length, first = target.shape[1], self.num_keys
        places = self.lengths[:, None] + torch.arange(length, device=target.device)[None]
        real = real_tokens(target, config, is_start=first == 0)
        self.is_real = torch.cat((self.is_real, real), dim=1)
        self.lengths = self.lengths + real.sum(dim=1)
        return places, Mask(keys=self.is_real, is_causal=length > 1, first=first)

    def reorder(self, index: Tensor) -> None:
        """Reorder the entries of the batch."""
        for block in self.blocks:
            block.reorder(index)
        self.is_real, self.lengths = self.is_real.index_select(0, index), self.lengths.index_select(0, index)


@dataclass
class BeamCache:
    """Several continuations per row: `past` (B, continuations, K) is True for the tokens that each has written."""

    blocks: list[BlockCache]
    past: Tensor
    length: int = 0

    @property
    def num_keys(self) -> int:
        """The number of cached tokens of all continuations, including abandoned ones."""
        return self.past.shape[2]

    @property
    def longest(self) -> int:
        """The length of each continuation so far."""
        return self.length

    def advance(self, target: Tensor, config: ModelConfig) -> tuple[Tensor, Mask]:
        """Register the next token of each continuation (B, continuations), and return their position and mask."""
        own = torch.eye(target.shape[1], dtype=torch.bool, device=target.device).expand(len(target), -1, -1)
        self.past = torch.cat((self.past, own), dim=2)
        places = torch.full((1, target.shape[1]), self.length, device=target.device)
        self.length += 1
        return places, Mask(explicit=self.past)

    def follow(self, parents: Tensor) -> None:
        """Continue with new hypotheses (B, K′), each with the past of its parent."""
        self.past = self.past.gather(1, parents[..., None].expand(-1, -1, self.num_keys))

    def reorder(self, index: Tensor) -> None:
        """Reorder the rows, or drop some of them."""
        for block in self.blocks:
            block.reorder(index)
        self.past = self.past.index_select(0, index)

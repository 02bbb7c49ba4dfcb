"""What a decoder remembers of the tokens it has read, so that it reads each of them once.

A Cache holds one text to a row. A BeamCache holds several continuations of one text in a row: each is a token of the
row at every step, and sees its own past among the tokens of all; nothing is copied when a search changes its mind.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model.config import ModelConfig
from clearhead.model.layers import BlockCache
from clearhead.model.mask import Mask


@dataclass
class Cache:
    """The tokens so far, one text to a row: one BlockCache a block; `is_real` (B, K) is True for real tokens."""

    blocks: list[BlockCache]
    is_real: Tensor
    lengths: Tensor  # (B,): the position of the next token of each entry

    @property
    def num_keys(self) -> int:
        """How many tokens can be attended to, padding included."""
        return self.is_real.shape[1]

    @property
    def longest(self) -> int:
        """How long a text may be by now."""
        return self.num_keys

    def advance(self, target: Tensor, config: ModelConfig) -> tuple[Tensor, Mask]:
        """Take in that `target` (B, T) is read next, and return its positions and what it may see."""
        length, first = target.shape[1], self.num_keys
        places = self.lengths[:, None] + torch.arange(length, device=target.device)[None]
        # the token that a sentence starts from is real; a decoder that starts from pad (MarianMT) reads pad so
        real = torch.ones_like(target, dtype=torch.bool) if config.start == "pad" else target != config.pad
        if first == 0:
            real = torch.cat((torch.ones_like(real[:, :1]), real[:, 1:]), dim=1)
        self.is_real = torch.cat((self.is_real, real), dim=1)
        self.lengths = self.lengths + real.sum(dim=1)
        return places, Mask(keys=self.is_real, is_causal=length > 1, first=first)

    def reorder(self, index: Tensor) -> None:
        """Put the entries of the batch in another order."""
        for block in self.blocks:
            block.reorder(index)
        self.is_real, self.lengths = self.is_real.index_select(0, index), self.lengths.index_select(0, index)


@dataclass
class BeamCache:
    """Continuations side by side: `past` (B, continuations, K) is True for the tokens that each has written."""

    blocks: list[BlockCache]
    past: Tensor
    length: int = 0

    @property
    def num_keys(self) -> int:
        """How many tokens can be attended to, of all continuations there ever were."""
        return self.past.shape[2]

    @property
    def longest(self) -> int:
        """How long each continuation is by now."""
        return self.length

    def advance(self, target: Tensor, config: ModelConfig) -> tuple[Tensor, Mask]:
        """Take in that `target` (B, continuations) is read next, a token of each, all at one position."""
        own = torch.eye(target.shape[1], dtype=torch.bool, device=target.device).expand(len(target), -1, -1)
        self.past = torch.cat((self.past, own), dim=2)
        places = torch.full((1, target.shape[1]), self.length, device=target.device)
        self.length += 1
        return places, Mask(explicit=self.past)

    def follow(self, parents: Tensor) -> None:
        """Go on with continuations (B, K′), each from the past of its parent."""
        self.past = self.past.gather(1, parents[..., None].expand(-1, -1, self.num_keys))

    def reorder(self, index: Tensor) -> None:
        """Put the rows in another order, or leave some out."""
        for block in self.blocks:
            block.reorder(index)
        self.past = self.past.index_select(0, index)

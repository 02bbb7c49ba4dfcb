"""What a convolutional decoder keeps between steps: the last inputs of every layer, as many as its filter looks back.

A ConvolutionCache holds one text per row. A ConvolutionBeams holds several continuations of one text in a row, one
beside the other; unlike keys and values, their inputs are copied when a search switches between continuations.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.model.config import ModelConfig
from clearhead.model.mask import real_tokens


@dataclass
class ConvolutionCache:
    """The last inputs (B, kernel - 1, D) of every layer, one text per row. Before a text begins, they are 0."""

    layers: list[Tensor]
    lengths: Tensor  # (B,): the position of the next token of each text
    longest: int = 0  # the largest possible length of a text so far

    def advance(self, target: Tensor, config: ModelConfig) -> Tensor:
        """Register `target` (B, T) as the next tokens, padded on the right, and return their positions."""
        places = self.lengths[:, None] + torch.arange(target.shape[1], device=target.device)[None]
        real = real_tokens(target, config, is_start=self.longest == 0)
        self._counts = real.sum(dim=1)
        self.lengths, self.longest = self.lengths + self._counts, self.longest + target.shape[1]
        return places

    def append(self, number: int, x: Tensor) -> Tensor:
        """Add the inputs x (B, T, D) of a layer; return them after the earlier ones: (B, kernel - 1 + T, D)."""
        earlier = self.layers[number]
        joined = torch.cat((earlier, x), dim=1)
        # The inputs after the last real token are those of padding.
        places = self._counts[:, None] + torch.arange(earlier.shape[1], device=x.device)[None]
        self.layers[number] = joined.gather(1, places[..., None].expand(-1, -1, x.shape[-1]))
        return joined

    def reorder(self, index: Tensor) -> None:
        """Reorder the entries of the batch."""
        self.layers = [inputs.index_select(0, index) for inputs in self.layers]
        self.lengths = self.lengths.index_select(0, index)


@dataclass
class ConvolutionBeams:
    """The last inputs (B, continuations, kernel - 1, D) of every layer, for several continuations per row."""

    layers: list[Tensor]
    longest: int = 0  # the length of each continuation so far

    def advance(self, target: Tensor, config: ModelConfig) -> Tensor:
        """Register the next token of each continuation (B, continuations), and return their position."""
        places = torch.full((1, target.shape[1]), self.longest, device=target.device)
        self.longest += 1
        return places

    def append(self, number: int, x: Tensor) -> Tensor:
        """Add the inputs x (B, continuations, D) of a layer; return the windows (B, continuations, kernel, D)."""
        joined = torch.cat((self.layers[number], x[:, :, None]), dim=2)
        self.layers[number] = joined[:, :, 1:]
        return joined

    def follow(self, parents: Tensor) -> None:
        """Continue with new hypotheses (B, K′), each with the inputs of its parent."""
        self.layers = [
            inputs.gather(1, parents[..., None, None].expand(-1, -1, *inputs.shape[2:])) for inputs in self.layers
        ]

    def reorder(self, index: Tensor) -> None:
        """Reorder the rows, or drop some of them."""
        self.layers = [inputs.index_select(0, index) for inputs in self.layers]


@dataclass(frozen=True, eq=False)
class LayerPast:
    """The earlier inputs of one layer in a cache of either kind."""

    cache: ConvolutionCache | ConvolutionBeams
    number: int

    @property
    def inputs(self) -> Tensor:
        """The earlier inputs: (B, kernel - 1, D), or (B, continuations, kernel - 1, D)."""
        return self.cache.layers[self.number]

    def append(self, x: Tensor) -> Tensor:
        """Add the inputs x (B, T, D) of new tokens; return them after the earlier ones."""
        return self.cache.append(self.number, x)

    def by_window(self, x: Tensor) -> Tensor:
        """Return x (B, T, D) with a token axis of its own for every continuation."""
        return x[:, :, None] if isinstance(self.cache, ConvolutionBeams) else x

    def by_token(self, y: Tensor) -> Tensor:
        """Return the results of windows as (B, T, D)."""
        return y[:, :, 0] if isinstance(self.cache, ConvolutionBeams) else y

"""The loss of a batch: a sum, and what it is a sum over."""

from typing import NamedTuple

from torch import Tensor


class Loss(NamedTuple):
    """The summed loss of a batch, and how many tokens (or sentences) it is over."""

    total: Tensor
    num_tokens: Tensor

    @property
    def mean(self) -> Tensor:
        """The loss of one token."""
        return self.total / self.num_tokens.clamp(min=1)

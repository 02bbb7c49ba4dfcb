"""The loss of a batch: a sum, and the number of tokens in it."""

from typing import NamedTuple

from torch import Tensor


class Loss(NamedTuple):
    """The summed loss of a batch, and the number of tokens (or sentences) in the sum."""

    total: Tensor
    num_tokens: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean loss per token."""
        return self.total / self.num_tokens.clamp(min=1)

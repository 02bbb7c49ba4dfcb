"""Averages of weights: exponential, or over several checkpoints. Both are often better than the last weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from clearhead.formats.checkpoint import load_checkpoint
from clearhead.formats.weights import own_tensors
from clearhead.model import SequenceModel, build_model


class RunningAverage:
    """a ← d a + (1 - d) w at update n, with d = min(decay, (1 + n) / (10 + n)), so the first weights fade quickly."""

    def __init__(self, model: SequenceModel, decay: float) -> None:
        self.decay = decay
        own = own_tensors(model)
        self._weights = [tensor.detach() for tensor in own.values()]
        self._names = list(own)
        self._average = [tensor.clone() for tensor in self._weights]
        self._share = torch.zeros((), device=self._weights[0].device)

    def set_step(self, step: int) -> None:
        """Set the share of the new weights for update `step`, counted from 1."""
        self._share.fill_(1 - min(self.decay, (1 + step) / (10 + step)))

    @torch.no_grad()
    def update(self) -> None:
        """Add the current weights to the average."""
        apart = torch._foreach_sub(self._weights, self._average)
        torch._foreach_mul_(apart, self._share)
        torch._foreach_add_(self._average, apart)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of the average by name, not copies."""
        return dict(zip(self._names, self._average, strict=True))


def copy_with(model: SequenceModel, tensors: Mapping[str, Tensor]) -> SequenceModel:
    """Return another model of the same config on the same device with copies of the given weights."""
    own = own_tensors(model)
    with torch.random.fork_rng(devices=[]):
        copy = build_model(model.config).to(next(iter(own.values())).device)
    with torch.no_grad():
        for name, tensor in own_tensors(copy).items():
            tensor.copy_(tensors[name])
    return copy


def average_in(model: SequenceModel, folders: Sequence[Path]) -> None:
    """Replace the weights of a model by the mean of its weights and those of the given checkpoints."""
    tensors = own_tensors(model)
    sums = {name: tensor.detach().to(torch.float64) for name, tensor in tensors.items()}
    for folder in folders:
        for name, tensor in own_tensors(load_checkpoint(folder, next(iter(tensors.values())).device)).items():
            sums[name] = sums[name] + tensor.detach().to(torch.float64)
    with torch.no_grad():
        for name, tensor in tensors.items():
            tensor.copy_(sums[name] / (1 + len(folders)))

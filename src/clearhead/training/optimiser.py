"""AdamW for all parameters, or Muon for the weight matrices of the layers; both can be captured in a CUDA graph.

Weight decay applies only to the weight matrices of the layers, never to biases, norms or embeddings.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from clearhead.model import SequenceModel
from clearhead.training.config import TrainingConfig

_MOMENTUM = 0.95
_A, _B, _C = 3.4445, -4.7750, 2.0315  # coefficients that Muon's author chose for few iterations
_ITERATIONS = 5
_EPSILON = 1e-7
_SIZE_OF_ADAMW = 0.2


class Optimiser:
    """AdamW, alone or with Muon for some of the parameters. The learning rate is a tensor on the device."""

    def __init__(self, model: SequenceModel, config: TrainingConfig) -> None:
        decayed = {id(matrix) for matrix in model.weight_matrices()}
        self.parameters = list(model.parameters())
        matrices = [parameter for parameter in self.parameters if id(parameter) in decayed]
        others = [parameter for parameter in self.parameters if id(parameter) not in decayed]
        self.device = self.parameters[0].device
        is_cuda = self.device.type == "cuda"
        self.rate = torch.zeros((), device=self.device)
        self._muon: _Muon | None = None
        groups = [{"params": others, "weight_decay": 0.0}]
        if config.optimiser == "muon":
            self._muon = _Muon(matrices, config.weight_decay)
        else:
            groups.append({"params": matrices, "weight_decay": config.weight_decay})
        self._adam = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=self.rate if is_cuda else 0.0,
            betas=config.betas,
            eps=config.epsilon,
            fused=True,
            capturable=is_cuda,
        )
        self._make_states()

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next update."""
        self.rate.fill_(rate)
        if self.device.type != "cuda":
            for group in self._adam.param_groups:
                group["lr"] = rate

    @torch.no_grad()
    def step(self) -> None:
        """Update the parameters from their gradients."""
        self._adam.step()
        if self._muon is not None:
            self._muon.step(self.rate)

    def zero(self) -> None:
        """Remove the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of the state by name, not copies, so that they can be written to."""
        names = {id(parameter): str(number) for number, parameter in enumerate(self.parameters)}
        adam = {
            f"adamw.{names[id(parameter)]}.{what}": value
            for parameter, state in self._adam.state.items()
            for what, value in state.items()
            if isinstance(value, Tensor)
        }
        momenta = self._muon.momenta() if self._muon is not None else []
        return adam | {f"muon.{names[id(matrix)]}.momentum_buffer": momentum for matrix, momentum in momenta}

    def _make_states(self) -> None:
        """Create all state tensors, filled with 0, before the first update: a CUDA graph needs fixed addresses."""
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        self.set_rate(0.0)
        self.step()
        for tensor in self.tensors().values():
            tensor.zero_()
        self.zero()


class _Muon:
    """Muon as in torch.optim, but with batched matrices of the same shape, and the learning rate as a tensor.

    The Nesterov momentum is approximately orthogonalised and scaled to the size of AdamW's steps.
    """

    def __init__(self, matrices: Sequence[nn.Parameter], weight_decay: float) -> None:
        self._weight_decay = weight_decay
        shapes = dict.fromkeys(matrix.shape for matrix in matrices)
        self._groups: list[list[Tensor]] = [
            [matrix for matrix in matrices if matrix.shape == shape] for shape in shapes
        ]
        self._momenta = [torch.zeros_like(torch.stack(group)) for group in self._groups]

    def momenta(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield each matrix with its momentum."""
        for group, momentum in zip(self._groups, self._momenta, strict=True):
            yield from zip(group, momentum.unbind(), strict=True)

    def step(self, rate: Tensor) -> None:
        """Update the matrices from their gradients."""
        for group, momentum in zip(self._groups, self._momenta, strict=True):
            gradient = torch.stack([matrix.grad for matrix in group if matrix.grad is not None])
            momentum.lerp_(gradient, 1 - _MOMENTUM)
            change = nearly_orthogonal(gradient.lerp(momentum, _MOMENTUM))
            change *= rate * (_SIZE_OF_ADAMW * max(change.shape[1:]) ** 0.5)
            if self._weight_decay:
                torch._foreach_mul_(group, 1 - rate * self._weight_decay)
            torch._foreach_sub_(group, list(change.unbind()))


def nearly_orthogonal(matrices: Tensor) -> Tensor:
    """Approximately orthogonalise matrices (N, A, B): Newton-Schulz iterations bring their singular values near 1."""
    x = matrices.bfloat16() if matrices.is_cuda else matrices  # fast on a GPU, and precise enough
    is_tall = x.shape[1] > x.shape[2]
    if is_tall:
        x = x.mT
    x = x / x.flatten(1).norm(dim=1).clamp(min=_EPSILON)[:, None, None]
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return (x.mT if is_tall else x).to(matrices.dtype)

"""AdamW for everything, or Muon for the matrices of the blocks; both can be captured in a CUDA graph.

Weight decay pulls matrices of the blocks only: never biases, norms or embeddings.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from clearhead.model import Transformer
from clearhead.training.config import TrainingConfig


class Optimiser:
    """One optimiser, or two with a share of the parameters each. The rate is a number on the device."""

    def __init__(self, model: Transformer, config: TrainingConfig) -> None:
        named = list(model.named_parameters())
        embeddings = {id(each.weight) for each in model.modules() if isinstance(each, nn.Embedding)}
        matrices = [p for _, p in named if p.ndim == 2 and id(p) not in embeddings and p is not model.output.weight]
        is_matrix = {id(p) for p in matrices}
        others = [p for _, p in named if id(p) not in is_matrix]
        self.parameters = [p for _, p in named]
        self.device = self.parameters[0].device
        is_cuda = self.device.type == "cuda"
        self.rate = torch.zeros((), device=self.device)
        self._muon: torch.optim.Optimizer | None = None
        groups = [{"params": others, "weight_decay": 0.0}]
        if config.optimiser == "muon":
            # of rate 1: what it would change is scaled by the rate afterwards, since its own rate is not a tensor
            self._muon = torch.optim.Muon(
                matrices, lr=1.0, weight_decay=config.weight_decay, adjust_lr_fn="match_rms_adamw"
            )
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
        """Set the rate of the next update."""
        self.rate.fill_(rate)
        if self.device.type != "cuda":
            for group in self._adam.param_groups:
                group["lr"] = rate

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters by their gradients."""
        self._adam.step()
        if self._muon is not None:
            matrices = self._muon.param_groups[0]["params"]
            before = [matrix.clone() for matrix in matrices]
            self._muon.step()
            changes = torch._foreach_sub(matrices, before)
            torch._foreach_mul_(changes, self.rate)
            for matrix, old, change in zip(matrices, before, changes, strict=True):
                torch.add(old, change, out=matrix)

    def zero(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """Return the state, by name; the tensors themselves, so that they can be written to."""
        names = {id(parameter): str(number) for number, parameter in enumerate(self.parameters)}
        return {
            f"{kind}.{names[id(parameter)]}.{what}": value
            for kind, optimiser in self._each()
            for parameter, state in optimiser.state.items()
            for what, value in state.items()
            if isinstance(value, Tensor)
        }

    def _each(self) -> Iterator[tuple[str, torch.optim.Optimizer]]:
        yield "adamw", self._adam
        if self._muon is not None:
            yield "muon", self._muon

    def _make_states(self) -> None:
        """Make every tensor of the state, all 0, as if no update was made yet: a graph writes to fixed places."""
        for parameter in self.parameters:
            parameter.grad = torch.zeros_like(parameter)
        self.set_rate(0.0)
        self.step()
        for tensor in self.tensors().values():
            tensor.zero_()
        self.zero()

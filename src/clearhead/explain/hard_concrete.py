"""Hard-Concrete gates (Louizos et al., 2018): random gates that can be exactly 0 or 1 and still have a gradient.

u ~ U(0, 1),  s = σ((log u - log(1 - u) + log α) / β),  z = min(1, max(0, s (ζ - γ) + γ))
with β = 0.33, γ = -0.1 and ζ = 1.1. A gate is not 0 with the probability P(z ≠ 0) = σ(log α - β log(-γ / ζ)), so the
expected number of open gates, the L0 penalty, is the sum of these. After training, gates are not random:
z = min(1, max(0, σ(log α) (ζ - γ) + γ)).
"""

import math

import torch
from torch import Tensor, nn

from clearhead.model import ModelConfig
from clearhead.model.gates import Gates
from clearhead.model.heads import attention_places

TEMPERATURE, LOWEST, HIGHEST = 0.33, -0.1, 1.1  # β, γ, ζ
OPEN = 2.0  # log α at the start: nearly all gates are open


def sample(log_alpha: Tensor, random: torch.Generator) -> Tensor:
    """Return random gates z; the gradient reaches log α wherever a gate is between 0 and 1."""
    u = torch.rand(log_alpha.shape, generator=random).clamp(1e-6, 1 - 1e-6).to(log_alpha)
    s = torch.sigmoid((u.log() - (1 - u).log() + log_alpha) / TEMPERATURE)
    return (s * (HIGHEST - LOWEST) + LOWEST).clamp(0, 1)


def probability_open(log_alpha: Tensor) -> Tensor:
    """Return P(z ≠ 0) of every gate."""
    return torch.sigmoid(log_alpha - TEMPERATURE * math.log(-LOWEST / HIGHEST))


def final_gates(log_alpha: Tensor) -> Tensor:
    """Return the gates after training, which are not random."""
    return (torch.sigmoid(log_alpha) * (HIGHEST - LOWEST) + LOWEST).clamp(0, 1)


class LearntGates(nn.Module):
    """A gate for every head of a model. Its parameters are log α, one tensor for each attention layer with heads."""

    def __init__(self, config: ModelConfig, device: torch.device) -> None:
        super().__init__()
        self.places = [where for where in attention_places(config) if config.num_heads_at(where)]
        self.log_alpha = nn.ParameterList(
            torch.full((config.num_heads_at(where),), OPEN, device=device) for where in self.places
        )

    @property
    def num_gates(self) -> int:
        """The number of gates."""
        return sum(log_alpha.numel() for log_alpha in self.log_alpha)

    def sample(self, random: torch.Generator) -> Gates:
        """Return random gates for one update."""
        values = [sample(log_alpha, random) for log_alpha in self.log_alpha]
        return Gates(dict(zip(self.places, values, strict=True)))

    def expected_open(self) -> Tensor:
        """Return the expected number of gates that are not 0: Σ P(z ≠ 0)."""
        return torch.stack([probability_open(log_alpha).sum() for log_alpha in self.log_alpha]).sum()

    @torch.no_grad()
    def final(self) -> Gates:
        """Return the gates after training."""
        values = [final_gates(log_alpha) for log_alpha in self.log_alpha]
        return Gates(dict(zip(self.places, values, strict=True)))

"""Gates: numbers that scale attention heads. They are an argument of the model and are never stored in it.

Two numbers belong to each head h: zₕ = gₕ · softmax(cₕ · qₕ kₕᵀ / √d_k) vₕ, before the heads are joined and multiplied
by W_O. A gate gₕ = 0 removes the head; cₕ = 0 makes its attention uniform over the visible keys; 1 changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from clearhead.errors import ConfigError, printable
from clearhead.model.config import ModelConfig
from clearhead.model.heads import AttentionHead, attention_places

GateKind = Literal["outputs", "scores"]


@dataclass(frozen=True, eq=False)
class Gates:
    """Gates by the place of their attention layer (`encoder.0.self_attention`); other layers are unchanged.

    A tensor (H,) holds the gates of all sentences, a tensor (B, H) those of every sentence of a batch.
    """

    outputs: Mapping[str, Tensor] = field(default_factory=dict)  # factors of the heads' outputs
    scores: Mapping[str, Tensor] = field(default_factory=dict)  # factors of the heads' scores
    where: str = ""

    @property
    def is_on(self) -> bool:
        """Whether any layer has gates."""
        return bool(self.outputs or self.scores)

    def at(self, *place: str | int) -> "Gates":
        """Return the gates as seen from `place`, as in `at("encoder", 0)`."""
        path = ".".join(str(part) for part in place)
        return Gates(self.outputs, self.scores, f"{self.where}.{path}" if self.where else path)

    def scale_queries(self, q: Tensor) -> Tensor:
        """Multiply the queries (B, H, Q, E) of this place, and with them the scores."""
        return _scaled(q, self.scores.get(self.where))

    def scale_outputs(self, z: Tensor) -> Tensor:
        """Multiply the outputs (B, H, Q, E) of the heads of this place."""
        return _scaled(z, self.outputs.get(self.where))

    def of_head(self, kind: GateKind, head: int, dtype: torch.dtype) -> Tensor | None:
        """Return the gate of one head of this place, (1, 1) or (B, 1, 1), or None if it has none."""
        gates = (self.outputs if kind == "outputs" else self.scores).get(self.where)
        return None if gates is None else gates[..., head, None, None].to(dtype)

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Gates":
        """Return gates with `change` applied to every tensor, for example to move them to a device."""
        outputs, scores = ({where: change(gate) for where, gate in side.items()} for side in self._sides)
        return Gates(outputs, scores)

    def is_like(self, other: "Gates") -> bool:
        """Return whether the other gates have the same places and shapes, so that `overwrite` can take them."""
        return self._shapes == other._shapes

    def overwrite(self, other: "Gates") -> None:
        """Copy the numbers of other gates into these tensors, which stay at their addresses."""
        for own, new in zip(self._sides, other._sides, strict=True):
            for where, gate in own.items():
                gate.copy_(new[where])

    @property
    def _sides(self) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
        return self.outputs, self.scores

    @property
    def _shapes(self) -> list[dict[str, torch.Size]]:
        return [{where: gate.shape for where, gate in side.items()} for side in self._sides]


NO_GATES = Gates()  # the default of a forward pass: no head is changed


def _scaled(x: Tensor, gates: Tensor | None) -> Tensor:
    """Multiply x (B, H, Q, E) by a number per head."""
    return x if gates is None else x * gates[..., None, None].to(x.dtype)


def open_gates(config: ModelConfig, device: torch.device) -> Gates:
    """Return a gate of 1 for the output of every head: a starting point that changes nothing."""
    return Gates({where: torch.ones(config.num_heads_at(where), device=device) for where in attention_places(config)})


def closed_gates(
    config: ModelConfig,
    device: torch.device,
    *,
    without: Iterable[AttentionHead] = (),
    uniform: Iterable[AttentionHead] = (),
) -> Gates:
    """Return gates that remove the heads of `without`, and make the attention of those of `uniform` uniform."""
    outputs, scores = (_closed(config, device, heads) for heads in (without, uniform))
    return Gates(outputs, scores)


def _closed(config: ModelConfig, device: torch.device, heads: Iterable[AttentionHead]) -> dict[str, Tensor]:
    gates: dict[str, Tensor] = {}
    for head in heads:
        if head.where not in gates:
            gates[head.where] = torch.ones(config.num_heads_at(head.where), device=device)
        gates[head.where][head.number] = 0.0
    return gates


def check_gates(gates: Gates, config: ModelConfig, num_rows: int | None = None) -> None:
    """Raise ConfigError if gates do not fit a model: an unknown place, or another number of heads or sentences.

    Gates of every sentence, (B, H), need `num_rows`, the number of sentences in a batch.
    """
    places = attention_places(config)
    for where, gate in [*gates.outputs.items(), *gates.scores.items()]:
        if where not in places:
            raise ConfigError(
                f"there are gates for '{printable(where)}', but this model has no such attention. "
                f"It has {', '.join(places) or 'none'}."
            )
        num_heads = config.num_heads_at(where)
        shapes: list[tuple[int, ...]] = [(num_heads,)]
        shapes += [] if num_rows is None else [(num_rows, num_heads)]
        if tuple(gate.shape) not in shapes:
            raise ConfigError(
                f"the gates of {where} have the shape {tuple(gate.shape)}. Give one number per head, "
                f"{' or '.join(str(shape) for shape in shapes)}."
            )

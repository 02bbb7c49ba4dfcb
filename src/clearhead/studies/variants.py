"""The ways of reading that studies compare: recurrent without and with attention, convolutional, Transformer.

Variants of one study get nearly the same number of parameters: `matched_config` chooses the width of each.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clearhead.formats.shapes import shapes_of
from clearhead.model.config import ModelConfig, read_config
from clearhead.plots import BLUE, GREEN, GREY, INK, VERMILION

LineStyle = str | tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class ReaderVariant:
    """A way of reading: what it is called, its settings of a ModelConfig, and how its line is drawn."""

    title: str
    settings: Mapping[str, Any]
    colour: str
    line: LineStyle = "-"


def _recurrent(attention: str) -> dict[str, str]:
    return {"architecture": "recurrent", "attention": attention}


VARIANTS: Mapping[str, ReaderVariant] = {
    "recurrent-no-attention": ReaderVariant("recurrent, no attention", _recurrent("none"), VERMILION),
    "recurrent-dot": ReaderVariant("recurrent, dot", _recurrent("dot"), BLUE, ":"),
    "recurrent-scaled": ReaderVariant("recurrent, scaled", _recurrent("scaled"), BLUE),
    "recurrent-multiplicative": ReaderVariant("recurrent, multiplicative", _recurrent("multiplicative"), BLUE, "--"),
    "recurrent-additive": ReaderVariant("recurrent, additive", _recurrent("additive"), BLUE, "-."),
    "convolutional": ReaderVariant("convolutional", {"architecture": "convolutional"}, GREEN),
    "transformer": ReaderVariant("Transformer", {"architecture": "transformer"}, INK),
    "transformer-packed": ReaderVariant("Transformer, packed rows", {"architecture": "transformer"}, GREY),
}
MAIN = ("recurrent-no-attention", "recurrent-scaled", "convolutional", "transformer")


def num_parameters(config: ModelConfig) -> int:
    """Return the number of parameters of a model, tied ones once."""
    return sum(math.prod(shape) for shape in shapes_of(config).values())


def transformer_sizes(width: int) -> dict[str, int]:
    """Return the sizes of a Transformer of this width: heads of width 16 or more, and a feed-forward of 2 · width."""
    return {"d_model": width, "d_ff": 2 * width, "num_heads": math.gcd(width, max(1, width // 16))}


def matched_config(variant: ReaderVariant, shared: Mapping[str, Any], width: int) -> ModelConfig:
    """Return the config of a variant, with about as many parameters as a Transformer of this width.

    `shared` are settings of all variants, such as the vocabulary and the number of layers.
    """
    settings = {**shared, **variant.settings}
    if settings.get("shape", "encoder-decoder") != "encoder-decoder":
        settings.pop("attention", None)
    transformer = read_config({**shared, **transformer_sizes(width)})
    if settings["architecture"] == "transformer":
        return transformer
    goal = num_parameters(transformer)
    candidates = [read_config({**settings, "d_model": 2 * half}) for half in range(max(1, width // 8), 2 * width)]
    return min(candidates, key=lambda config: abs(num_parameters(config) - goal))

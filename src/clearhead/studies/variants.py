"""The models that studies compare: small Transformers, and ways of reading with nearly the same number of parameters.

The ways of reading are recurrent without and with attention, convolutional, and the Transformer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from clearhead.formats.shapes import num_parameters as num_parameters  # the studies take it from here
from clearhead.model import SequenceModel, build_model
from clearhead.model.config import ModelConfig, read_config


@dataclass(frozen=True)
class ReaderVariant:
    """A way of reading: what it is called, and its settings of a ModelConfig."""

    title: str
    settings: Mapping[str, Any]


def _recurrent(attention: str) -> dict[str, str]:
    return {"architecture": "recurrent", "attention": attention}


VARIANTS: Mapping[str, ReaderVariant] = {
    "recurrent-no-attention": ReaderVariant("recurrent, no attention", _recurrent("none")),
    "recurrent-dot": ReaderVariant("recurrent, dot", _recurrent("dot")),
    "recurrent-scaled": ReaderVariant("recurrent, scaled", _recurrent("scaled")),
    "recurrent-multiplicative": ReaderVariant("recurrent, multiplicative", _recurrent("multiplicative")),
    "recurrent-additive": ReaderVariant("recurrent, additive", _recurrent("additive")),
    "convolutional": ReaderVariant("convolutional", {"architecture": "convolutional"}),
    "transformer": ReaderVariant("Transformer", {"architecture": "transformer"}),
    "transformer-packed": ReaderVariant("Transformer, packed rows", {"architecture": "transformer"}),
}
# A language model has no source that attention could read.
LANGUAGE_MODELS = {"recurrent-scaled": "recurrent", "convolutional": "convolutional", "transformer": "Transformer"}
MAIN = ("recurrent-no-attention", "recurrent-scaled", "convolutional", "transformer")


def shared_settings(vocabulary: int, blocks: int, length: int) -> dict[str, Any]:
    """Return the settings that all models of a study have: no dropout, and places for sentences of this length."""
    return {
        "source_vocabulary": vocabulary,
        "encoder_blocks": blocks,
        "decoder_blocks": blocks,
        "dropout": 0.0,
        "max_length": length + 1,
    }


def small_transformer(shared: Mapping[str, Any], width: int) -> ModelConfig:
    """Return the config of a Transformer with four heads, unless `shared` has another number."""
    return read_config({"d_model": width, "d_ff": 2 * width, "num_heads": 4, **shared})


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


def seeded_model(config: ModelConfig, seed: int) -> SequenceModel:
    """Return an untrained model, outside of training; its random weights depend on the seed only."""
    torch.manual_seed(seed)
    return build_model(config).eval()

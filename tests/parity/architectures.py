"""Small models of the architectures other than the Transformer, over which the common tests of a model run.

An architecture is added to MODELS with its settings; the tests are in test_architectures.py.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import torch

from clearhead.model import SequenceModel, build_model
from clearhead.model.architecture import unused_settings
from clearhead.model.config import read_config
from tests.parity.models import MASKS, SHAPES

MODELS: Mapping[str, dict[str, Any]] = {
    "convolutional": {"architecture": "convolutional", "kernel": 3},
    "convolutional, tied": {"architecture": "convolutional", "kernel": 5, "tied": "three", "target_vocabulary": 11},
    "convolutional, kernel 1": {"architecture": "convolutional", "kernel": 1, "has_output_bias": True},
    "convolutional, kernel wider than a text": {"architecture": "convolutional", "kernel": 17},
    "gru": {"architecture": "recurrent", "cell": "gru", "attention": "none"},
    "lstm": {"architecture": "recurrent", "attention": "none", "is_bidirectional": False, "has_residuals": False},
    "gru, dot": {"architecture": "recurrent", "cell": "gru", "attention": "dot", "has_residuals": False},
    "lstm, scaled": {"architecture": "recurrent", "attention": "scaled", "tied": "three", "target_vocabulary": 11},
    "gru, multiplicative": {"architecture": "recurrent", "cell": "gru", "attention": "multiplicative"},
    "lstm, additive": {"architecture": "recurrent", "attention": "additive", "is_bidirectional": False},
    "lstm, multiplicative, fed": {
        "architecture": "recurrent", "attention": "multiplicative", "has_input_feeding": True, "has_output_bias": True,
    },
    "gru, additive, fed": {
        "architecture": "recurrent", "cell": "gru", "attention": "additive", "has_input_feeding": True,
        "is_bidirectional": False,
    },
}  # fmt: skip
# Attention is the only difference between some models, and only an encoder-decoder has it.
EVERY = [(name, shape) for name, shape in product(MODELS, SHAPES) if shape == "encoder-decoder" or ", " not in name]
EVERY += [(name, shape) for name, shape in product(MODELS, SHAPES[1:]) if name.startswith("convolutional, ")]
WITH_DECODER = [(name, shape) for name, shape in EVERY if shape != "encoder"]
# A recurrent model reads padding on the left like any other token.
CASES = [
    (name, shape, mask)
    for (name, shape), mask in product(EVERY, MASKS)
    if mask != "left padding" or name.startswith("convolutional")
]


def make_architecture(
    name: str, shape: str = "encoder-decoder", dtype: torch.dtype = torch.float64, **changes: Any
) -> SequenceModel:
    """Return a small model with random parameters everywhere: a bias of 0 would hide a mistake."""
    unused = unused_settings(MODELS[name]["architecture"], shape)
    options: dict[str, Any] = {
        "shape": shape,
        "source_vocabulary": 11,
        "encoder_blocks": 3,
        "decoder_blocks": 4,
        "d_model": 14,
        "max_length": 19,
        "tied": "two",
        "target_vocabulary": 13,
        **{key: value for key, value in MODELS[name].items() if key not in unused},
        **changes,
    }
    if shape != "encoder-decoder":
        options["target_vocabulary"] = None
    if shape == "encoder":
        options["num_classes"] = 3
    torch.manual_seed(0)
    model = build_model(read_config(options)).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return model.to(dtype).eval()

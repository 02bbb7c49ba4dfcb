"""Small models of the architectures other than the Transformer, over which the common tests of a model run.

An architecture is added to MODELS with its settings; the tests are in test_architectures.py.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

import torch

from clearhead.model import BaseSequenceModel, build_model
from clearhead.model.config import read_config
from tests.parity.models import MASKS, SHAPES

MODELS: Mapping[str, dict[str, Any]] = {
    "convolutional": {"architecture": "convolutional", "kernel": 3},
    "convolutional, tied": {"architecture": "convolutional", "kernel": 5, "tied": "three", "target_vocabulary": 11},
    "convolutional, kernel 1": {"architecture": "convolutional", "kernel": 1, "has_output_bias": True},
    "convolutional, kernel wider than a text": {"architecture": "convolutional", "kernel": 17},
}
WITH_DECODER = [(name, shape) for name, shape in product(MODELS, SHAPES) if shape != "encoder"]
CASES = list(product(MODELS, SHAPES, MASKS))


def make_architecture(
    name: str, shape: str = "encoder-decoder", dtype: torch.dtype = torch.float64, **changes: Any
) -> BaseSequenceModel:
    """Return a small model with random parameters everywhere: a bias of 0 would hide a mistake."""
    options: dict[str, Any] = {
        "shape": shape,
        "source_vocabulary": 11,
        "encoder_blocks": 3,
        "decoder_blocks": 4,
        "d_model": 14,
        "max_length": 19,
        "tied": "two",
        "target_vocabulary": 13,
        **MODELS[name],
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

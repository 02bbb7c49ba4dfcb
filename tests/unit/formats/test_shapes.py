"""The tensors that a config requires: exactly those of the PyTorch model, found without torch."""

from typing import Any

import pytest
import torch

from clearhead.formats.shapes import beyond_float16, misfits, num_parameters, shapes_of
from clearhead.formats.weights import own_tensors
from clearhead.model import ModelConfig, Transformer

SIZES: dict[str, Any] = {
    "source_vocabulary": 13, "encoder_blocks": 2, "decoder_blocks": 3, "d_model": 6, "num_heads": 2, "d_ff": 7,
    "max_length": 11,
}  # fmt: skip
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"tied": "two", "target_vocabulary": 17},
    {"tied": "none", "target_vocabulary": 17, "d_decoder": 10},
    {"positions": "learned", "has_bias": False},
    {"norm_place": "post", "has_output_bias": True},
    {"encoder_norm": "rms", "decoder_norm": "rms", "is_gated": True},
    {"encoder_norm": "all", "positions": "rotary", "d_model": 8},
    {"shape": "decoder", "tied": "two"},
    {"shape": "decoder"},
    {"shape": "decoder", "tied": "none"},
    {"shape": "encoder", "num_classes": 5},
)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_names_and_shapes_are_those_of_the_model_in_their_order(changes: dict[str, Any]) -> None:
    config = ModelConfig(**{**SIZES, **changes})
    tensors = own_tensors(Transformer(config))
    assert list(shapes_of(config).items()) == [(name, tuple(tensor.shape)) for name, tensor in tensors.items()]
    assert num_parameters(config) == sum(tensor.numel() for tensor in tensors.values())


def test_arrays_and_tensors_are_compared_alike() -> None:
    shapes = {"x": (2, 3), "y": (5,)}
    tensors = {"x": torch.ones(2, 3), "y": torch.ones(5, dtype=torch.int8)}
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    sentence = "1 tensor is not float16, bfloat16, float32 or float64 (y is int8)"
    assert misfits(tensors, shapes) == misfits(arrays, shapes) == sentence


def test_the_error_about_float16_names_the_tensor() -> None:
    assert str(beyond_float16("x.weight")).startswith("x.weight has numbers beyond ±65,504")

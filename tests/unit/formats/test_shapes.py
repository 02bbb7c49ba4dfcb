"""The tensors that a config requires: exactly those of the PyTorch model; of a Transformer, found without torch."""

from typing import Any

import pytest
import torch

from clearhead.formats.shapes import Shapes, beyond_float16, misfits, num_parameters, shapes_of
from clearhead.formats.weights import own_tensors
from clearhead.model import ModelConfig, Transformer
from clearhead.model.config import read_config

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


# Other architectures, counted by hand


def recurrent_shapes(**changes: object) -> Shapes:
    sizes = {"source_vocabulary": 11, "encoder_blocks": 1, "decoder_blocks": 2, "d_model": 6}
    return shapes_of(read_config({"architecture": "recurrent", **sizes, **changes}))


def test_an_lstm_with_attention() -> None:
    encoder = {
        f"encoder.layers.0.{direction}_cell.{name}": shape
        for direction in ("forward", "reverse")
        for name, shape in {  # four gates, and half of the width for each direction
            "weight_ih_l0": (12, 6),
            "weight_hh_l0": (12, 3),
            "bias_ih_l0": (12,),
            "bias_hh_l0": (12,),
        }.items()
    }
    decoder = {
        f"decoder.layers.{number}.{name}": shape
        for number in range(2)
        for name, shape in {
            "weight_ih_l0": (24, 6),
            "weight_hh_l0": (24, 6),
            "bias_ih_l0": (24,),
            "bias_hh_l0": (24,),
        }.items()
    }
    assert recurrent_shapes() == {
        "encoder.embedding.weight": (11, 6),
        **encoder,
        **decoder,
        "decoder.bridge.weight": (24, 6),  # a state and a cell state for each of two layers
        "decoder.bridge.bias": (24,),
        "decoder.attention.output.weight": (6, 12),
    }


def test_a_gru_has_three_gates_and_one_state() -> None:
    shapes = recurrent_shapes(
        cell="gru", is_bidirectional=False, attention="additive", has_input_feeding=True, tied="none"
    )
    assert shapes["encoder.layers.0.forward_cell.weight_ih_l0"] == (18, 6)
    assert not any("reverse" in name for name in shapes)
    assert shapes["decoder.layers.0.weight_ih_l0"] == (18, 12)  # a token and the last attentional state
    assert shapes["decoder.layers.1.weight_ih_l0"] == (18, 6)
    assert shapes["decoder.bridge.weight"] == (12, 6)
    attention = {name: shape for name, shape in shapes.items() if name.startswith("decoder.attention")}
    assert attention == {
        "decoder.attention.query.weight": (6, 6),
        "decoder.attention.key.weight": (6, 6),
        "decoder.attention.score.weight": (1, 6),
        "decoder.attention.output.weight": (6, 12),
    }
    assert shapes["output.weight"] == (11, 6)


def test_a_language_model_has_no_bridge() -> None:
    shapes = recurrent_shapes(shape="decoder")
    assert shapes["decoder.embedding.weight"] == (11, 6)
    assert not any(name.startswith(("decoder.bridge", "decoder.attention", "encoder", "output")) for name in shapes)


def test_a_convolutional_translator() -> None:
    sizes = {
        "source_vocabulary": 11,
        "d_model": 6,
        "kernel": 5,
        "max_length": 19,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
    }
    assert shapes_of(read_config({"architecture": "convolutional", **sizes})) == {
        "encoder.position": (19, 6),
        "encoder.embedding.weight": (11, 6),
        "encoder_blocks.0.convolution.filter.weight": (12, 30),  # value and gate; five tokens
        "encoder_blocks.0.convolution.filter.bias": (12,),
        "decoder.position": (19, 6),
        "decoder_blocks.0.convolution.filter.weight": (12, 30),
        "decoder_blocks.0.convolution.filter.bias": (12,),
        "decoder_blocks.0.cross_attention.query.weight": (6, 6),
        "decoder_blocks.0.cross_attention.query.bias": (6,),
        "decoder_blocks.0.cross_attention.output.weight": (6, 6),
        "decoder_blocks.0.cross_attention.output.bias": (6,),
    }

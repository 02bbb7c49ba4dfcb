"""The tensors of a convolutional model, counted by hand, and those of the model itself."""

import pytest

from clearhead.formats.convolutional_shapes import convolutional_tensors
from clearhead.formats.weights import own_tensors
from clearhead.model import build_model
from clearhead.model.config import read_config

SIZES = {"architecture": "convolutional", "source_vocabulary": 11, "d_model": 6, "kernel": 5, "max_length": 19}


def test_a_translator() -> None:
    config = read_config({**SIZES, "encoder_blocks": 1, "decoder_blocks": 1})
    assert dict(convolutional_tensors(config)) == {
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


@pytest.mark.parametrize("tied", ["three", "two", "none"])
@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
def test_they_are_those_of_the_model(shape: str, tied: str) -> None:
    num_classes = 3 if shape == "encoder" else None
    sizes = {"encoder_blocks": 2, "decoder_blocks": 3, "num_classes": num_classes, "has_output_bias": tied == "two"}
    config = read_config({**SIZES, **sizes, "shape": shape, "tied": tied})
    model = build_model(config)
    tensors = {name: tuple(tensor.shape) for name, tensor in own_tensors(model).items()}
    assert dict(convolutional_tensors(config)) == tensors

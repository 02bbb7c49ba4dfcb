"""The names of nn.Transformer's tensors beside ours; that the numbers agree is in tests/parity."""

import warnings

import pytest
from torch import nn

from clearhead.errors import CheckpointError
from clearhead.formats.shapes import shapes_of
from clearhead.formats.weights import shapes_elsewhere
from clearhead.model import ModelConfig, Transformer
from tests.parity.torch_module import from_torch_transformer, to_torch_transformer, weight_mappings

CONFIG = ModelConfig(
    source_vocabulary=23, target_vocabulary=29, tied="two", d_model=14, num_heads=7, d_ff=11, encoder_blocks=2,
    decoder_blocks=3, max_length=17,
)  # fmt: skip
TABLES = {"encoder.embedding.weight", "decoder.embedding.weight"}


def test_every_tensor_of_a_block_has_its_place_in_torch() -> None:
    pairs = weight_mappings(CONFIG)
    ours = {name for pair in pairs for name in pair.ours}
    theirs = shapes_elsewhere(pairs, shapes_of(CONFIG))
    module = to_torch_transformer(Transformer(CONFIG))
    assert {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()} == dict(theirs)
    assert {name for name in shapes_of(CONFIG) if name not in ours} - TABLES <= {"output.bias", "output.weight"}


def test_the_query_comes_before_key_and_value_in_cross_attention() -> None:
    packed = "decoder.layers.2.multihead_attn.in_proj_weight"
    (pair,) = (pair for pair in weight_mappings(CONFIG) if pair.theirs == (packed,))
    assert pair.ours == (
        "decoder_blocks.2.cross_attention.query.weight",
        "decoder_blocks.2.cross_attention.packed.weight",
    )


def test_sizes_come_from_the_module_and_the_rest_from_the_config() -> None:
    module = to_torch_transformer(Transformer(CONFIG))
    other = CONFIG.model_copy(update={"d_ff": 13, "encoder_blocks": 1, "max_length": 31})
    config = from_torch_transformer(module, other).config
    assert (config.d_ff, config.encoder_blocks, config.max_length) == (11, 2, 31)


def test_an_unsupported_activation_is_reported() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nn.Transformer warns of its own nested tensors
        module = nn.Transformer(14, 7, 1, 1, 11, activation=nn.functional.elu, batch_first=True)
    with pytest.raises(CheckpointError, match=r"activation is elu\. Supported: relu, gelu, silu\."):
        from_torch_transformer(module, CONFIG)

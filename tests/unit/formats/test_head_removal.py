"""Which rows and columns belong to a head, worked out by hand."""

import numpy as np
import pytest

from clearhead.errors import ConfigError
from clearhead.formats.head_removal import config_without, tensors_with_all, tensors_without
from clearhead.formats.shapes import num_parameters, shapes_of
from clearhead.model.config import ModelConfig, read_config
from clearhead.model.heads import AttentionHead, every_head

CONFIG = ModelConfig(
    source_vocabulary=11, encoder_blocks=1, decoder_blocks=1, d_model=6, num_heads=3, d_ff=5, max_length=7
)
CROSS, OWN = "decoder.0.cross_attention", "encoder.0.self_attention"


def numbered() -> dict[str, np.ndarray]:
    """Return the tensors of CONFIG, in which the number at row r and column c is 100 r + c."""
    arrays = {}
    for name, shape in shapes_of(CONFIG).items():
        rows = 100.0 * np.arange(shape[0])
        arrays[name] = (rows[:, None] + np.arange(shape[1]) if len(shape) == 2 else rows).astype(np.float32)
    return arrays


def test_a_head_owns_rows_of_q_k_v_and_columns_of_the_output() -> None:
    smaller = config_without(CONFIG, [AttentionHead(OWN, 1), AttentionHead(CROSS, 0), AttentionHead(CROSS, 2)])
    tensors = tensors_without(CONFIG, smaller, numbered())
    assert tensors["encoder_blocks.0.self_attention.packed.bias"].tolist() == [
        *(0, 100, 400, 500),
        *(600, 700, 1000, 1100),
        *(1200, 1300, 1600, 1700),
    ]
    assert tensors["encoder_blocks.0.self_attention.output.weight"][1].tolist() == [100, 101, 104, 105]
    assert tensors["encoder_blocks.0.self_attention.output.bias"].shape == (6,)
    assert tensors["decoder_blocks.0.cross_attention.query.weight"][:, 0].tolist() == [200, 300]
    assert tensors["decoder_blocks.0.cross_attention.packed.weight"][:, 0].tolist() == [200, 300, 800, 900]
    assert {name: array.shape for name, array in tensors.items()} == shapes_of(smaller)
    # 3 heads of 4 matrices of 6 × 2 numbers, and of 3 biases of 2
    assert num_parameters(CONFIG) - num_parameters(smaller) == 3 * (4 * 12 + 6)


def test_a_layer_without_heads_has_only_the_bias_of_its_output() -> None:
    smaller = config_without(CONFIG, [head for head in every_head(CONFIG) if head.where == CROSS])
    names = [name for name in shapes_of(smaller) if "cross_attention" in name]
    assert names == ["decoder_blocks.0.cross_attention.output.bias"]
    config, full = tensors_with_all(smaller, tensors_without(CONFIG, smaller, numbered()), np.zeros)
    assert config == CONFIG
    assert not full["decoder_blocks.0.cross_attention.packed.weight"].any()
    assert full["decoder_blocks.0.cross_attention.output.bias"].tolist() == [0, 100, 200, 300, 400, 500]


@pytest.mark.parametrize(
    ("heads_kept", "message"),
    [
        (
            {"encoder.1.self_attention": [0]},
            "model: heads_kept: 'encoder.1.self_attention' is no attention layer of this model. Did you mean "
            "'encoder.0.self_attention'? It has encoder.0.self_attention to decoder.0.cross_attention.",
        ),
        (
            {OWN: [2, 0]},
            "model: heads_kept: encoder.0.self_attention keeps the heads [2, 0]. List different numbers from 0 to 2 in "
            "ascending order.",
        ),
        (
            {OWN: [0, 3]},
            "model: heads_kept: encoder.0.self_attention keeps the heads [0, 3]. List different numbers from 0 to 2 in "
            "ascending order.",
        ),
    ],
)
def test_heads_that_do_not_exist_are_rejected(heads_kept: dict[str, list[int]], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_config({**CONFIG.model_dump(), "heads_kept": heads_kept})
    assert error.value.mistakes == (message,)

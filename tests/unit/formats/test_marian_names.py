"""MarianMT's names for our tensors: each of ours has one place there, and a file can repeat or omit tables."""

import pytest
import torch

from clearhead.errors import CheckpointError
from clearhead.formats.marian_names import BIAS, OUTPUT, SHARED, SOURCE, TARGET, each_once, weight_mappings
from clearhead.formats.shapes import shapes_of
from clearhead.formats.weights import shapes_elsewhere
from clearhead.model import ModelConfig
from clearhead.model.positions import sinusoids


def config_of(tied: str) -> ModelConfig:
    target = None if tied == "three" else 29
    return ModelConfig(
        source_vocabulary=23, target_vocabulary=target, tied=tied, d_model=14, num_heads=7, d_ff=11, encoder_blocks=2,
        decoder_blocks=3, norm_place="post", has_output_bias=True, sinusoids="blocks", max_length=17,
    )  # fmt: skip


@pytest.mark.parametrize("tied", ["three", "two", "none"])
def test_every_tensor_of_ours_has_exactly_one_place_there(tied: str) -> None:
    config = config_of(tied)
    pairs = weight_mappings(config)
    ours = [name for pair in pairs for name in pair.ours]
    theirs = [name for pair in pairs for name in pair.theirs]
    assert sorted(ours) == sorted(shapes_of(config))
    assert len(set(theirs)) == len(theirs)


def test_packed_products_are_three_equal_shares_there() -> None:
    config = config_of("three")
    shapes = shapes_elsewhere(weight_mappings(config), shapes_of(config))
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        assert tuple(shapes[f"model.encoder.layers.1.self_attn.{name}.weight"]) == (14, 14)
        assert tuple(shapes[f"model.decoder.layers.2.encoder_attn.{name}.bias"]) == (14,)
    assert tuple(shapes["model.decoder.layers.0.fc1.weight"]) == (11, 14)
    assert tuple(shapes[SHARED]) == (23, 14)


@pytest.mark.parametrize("name", [SHARED, SOURCE, TARGET, OUTPUT])
def test_a_shared_table_is_read_under_any_of_its_names(name: str) -> None:
    table = torch.arange(23 * 14.0).reshape(23, 14)
    once = each_once({name: table}, config_of("three"))
    assert set(once) == {SHARED, BIAS}
    assert torch.equal(once[SHARED], table)
    assert once[BIAS].tolist() == [0.0] * 23, "a bias that is left out is zero"


def test_a_table_that_occurs_twice_must_be_the_same() -> None:
    table = torch.ones(23, 14)
    assert torch.equal(each_once({SOURCE: table, TARGET: table.clone()}, config_of("three"))[SHARED], table)
    with pytest.raises(CheckpointError, match="are one table, but their numbers differ"):
        each_once({SOURCE: table, TARGET: 2 * table}, config_of("three"))
    untied = each_once({SOURCE: table, TARGET: torch.ones(29, 14), SHARED: 7 * table}, config_of("none"))
    assert SHARED not in untied, "in the file of an untied model it is a left-over"


def test_the_bias_is_made_flat() -> None:
    assert each_once({SHARED: torch.ones(23, 14), BIAS: torch.ones(1, 23)}, config_of("three"))[BIAS].shape == (23,)


def test_positions_are_omitted_if_they_are_the_standard_ones() -> None:
    name = "model.decoder.embed_positions.weight"
    table = sinusoids(17, 14, "blocks")
    assert name not in each_once({name: table, SHARED: torch.ones(23, 14)}, config_of("three"))
    with pytest.raises(CheckpointError, match=r"embed_positions\.weight is not the usual table of sines"):
        each_once({name: table + 0.1}, config_of("three"))

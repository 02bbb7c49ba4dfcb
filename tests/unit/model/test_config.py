"""The settings of a model: all errors are reported together, with the closest match."""

from typing import Any

import pytest

from clearhead.errors import ConfigError
from clearhead.formats.shapes import num_parameters
from clearhead.model import PRESETS, ModelConfig, Transformer, preset
from clearhead.model.architecture import ALL_PRESETS
from clearhead.model.config import read_config

ONE_BLOCK = {"encoder_blocks": 1, "decoder_blocks": 1}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_a_model(name: str) -> None:
    config = preset(name, source_vocabulary=7, **ONE_BLOCK)
    assert config.d_model == PRESETS[name]["d_model"]
    assert Transformer(config).config is config


def test_a_preset_changes_only_what_it_says() -> None:
    changed = preset("base", source_vocabulary=7, num_heads=4)
    assert changed == ModelConfig(source_vocabulary=7, num_heads=4)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"d_modle": 64}, "model.d_modle is not a setting. Did you mean 'd_model'?"),
    ({"zzz": 1}, "model.zzz is not a setting."),
    (
        {"positions": "rotory"},
        "model.positions = 'rotory' is not a choice. Did you mean 'rotary'? Choices: sinusoidal, learned, rotary, none.",
    ),
    (
        {"encoder_norm": "lyer"},
        "model.encoder_norm = 'lyer' is not a choice. Did you mean 'layer'? Choices: layer, rms, all.",
    ),
    ({"norm_place": 3}, "model.norm_place = 3 is not a choice. Choices: pre, post."),
    (
        {"d_model": 0},
        "model.d_model = 0 is not a whole number from 1 to 65536 (d_model: width of encoder and decoder, in numbers per token).",
    ),
    (
        {"dropout": 1.0},
        "model.dropout = 1.0 is not a number of at least 0 and below 1 (dropout: dropout on embeddings and on the output of every sublayer).",
    ),
    (
        {"d_model": "wide"},
        "model.d_model = 'wide' is not a whole number from 1 to 65536 (d_model: width of encoder and decoder, in numbers per token).",
    ),
    (
        {"architecture": "recurrent", "num_heads": 4},
        "model: num_heads is a setting of architecture: transformer, but architecture = 'recurrent'. Remove num_heads, or set architecture: transformer.",
    ),
    (
        {"cell": "gru"},
        "model: cell is a setting of architecture: recurrent, but architecture = 'transformer'. Remove cell, or set architecture: recurrent.",
    ),
    (
        {"architecture": "recurent"},
        "model.architecture = 'recurent' is not a choice. Did you mean 'recurrent'? "
        "Choices: transformer, recurrent, convolutional.",
    ),
    (
        {"architecture": "recurrent", "positions": "rotary"},
        "model: positions = 'rotary' is not possible with architecture = 'recurrent', whose positions are 'none'. "
        "Remove positions.",
    ),
    (
        {"architecture": "recurrent", "encoder_blocks": 0},
        "model: encoder_blocks = 0, but a recurrent model needs at least one layer. Use 1 or more.",
    ),
    (
        {"architecture": "recurrent", "d_model": 7},
        "model: d_model = 7 is odd, but each direction of the encoder has half of it. "
        "Use an even d_model, or is_bidirectional: false.",
    ),
    (
        {"architecture": "recurrent", "shape": "decoder", "is_bidirectional": True},
        "model: is_bidirectional is for encoders, but shape = 'decoder' has none. Remove is_bidirectional.",
    ),
    (
        {"architecture": "recurrent", "shape": "decoder", "attention": "dot"},
        "model: attention = 'dot' is from a decoder to an encoder, but shape = 'decoder' has only one of them. "
        "Remove attention.",
    ),
    (
        {"architecture": "recurrent", "attention": "none", "has_input_feeding": True},
        "model: has_input_feeding needs attention, but attention = 'none' has none. Remove has_input_feeding, or choose an attention in an encoder-decoder.",
    ),
    (
        {"architecture": "convolutional", "kernel": 4},
        "model: kernel = 4 is even, so it has no token in its middle. Use an odd kernel, such as 3.",
    ),
    (
        {"num_heads": 6, "d_model": 64},
        "model: num_heads = 6 does not divide d_model = 64. Use 1, 2, 4, 8, 16, 32, 64 heads.",
    ),
    (
        {"num_heads": 4, "d_model": 8, "d_decoder": 6, "tied": "two"},
        "model: num_heads = 4 does not divide d_decoder = 6. Use 1, 2, 3, 6 heads.",
    ),
    (
        {"positions": "rotary", "d_model": 12, "num_heads": 4},
        "model: rotary positions need heads of even width, but d_model = 12 and num_heads = 4 give a width of 3. Change one of them.",
    ),
    (
        {"decoder_norm": "all"},
        "model: decoder_norm = 'all' would let a token depend on later tokens, which its norm averages over. Use layer or rms in a decoder.",
    ),
    ({"shape": "encoder"}, "model: shape encoder needs num_classes, the number of classes."),
    ({"num_classes": 3}, "model: num_classes is only for shape encoder. Remove num_classes."),
    (
        {"target_vocabulary": 13},
        "model: tied = 'three' shares one matrix, but source_vocabulary = 11 and target_vocabulary = 13. Use one vocabulary, or tied: two.",
    ),
    (
        {"d_decoder": 256},
        "model: tied = 'three' shares one matrix, but d_model = 512 and d_decoder = 256. Use one width, or tied: two.",
    ),
    ({"bos": 11}, "model: bos = 11 is not in a vocabulary of 11 tokens."),
    ({"target_vocabulary": 5, "tied": "two", "pad": 7}, "model: pad = 7 is not in a vocabulary of 5 tokens."),
    ({"pad": 2}, "model: pad and eos are both 2, so the end of a sentence could not be learned. Use different ids."),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES, ids=[str(changes) for changes, _ in MISTAKES])
def test_a_mistake_is_reported_in_one_sentence(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        read_config({"source_vocabulary": 11, **changes})
    assert str(error.value) == message


def test_a_missing_vocabulary_is_reported_with_its_description() -> None:
    with pytest.raises(ConfigError) as error:
        read_config({"d_model": 64})
    assert (
        str(error.value)
        == "model.source_vocabulary is missing: size of the source vocabulary (shape decoder: of its vocabulary)."
    )


def test_all_mistakes_in_fields_are_reported_together() -> None:
    with pytest.raises(ConfigError) as error:
        read_config({"d_modle": 64, "positions": "rotory", "d_ff": 0})
    for word in ("source_vocabulary is missing", "d_modle", "'rotary'", "d_ff = 0"):
        assert word in str(error.value)


def test_all_mistakes_between_fields_are_reported_together() -> None:
    with pytest.raises(ConfigError) as error:
        read_config({"source_vocabulary": 2, "num_heads": 7, "decoder_norm": "all", "num_classes": 3})
    for word in (
        "num_heads = 7 does not divide",
        "depend on later tokens",
        "num_classes is only for",
        "eos = 2 is not in",
    ):
        assert word in str(error.value)


def test_an_unknown_preset_is_reported_with_the_closest_name() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^'tny' is not a preset. Did you mean 'tiny'\? Presets: tiny, small, base, big, deep-shallow\.$",
    ):
        preset("tny", source_vocabulary=7)


def test_a_config_cannot_be_changed_after_a_model_is_built() -> None:
    with pytest.raises(ValueError, match="frozen"):
        preset("tiny", source_vocabulary=7).d_model = 3  # type: ignore[misc]


@pytest.mark.parametrize(("tied", "tables"), [("three", 1), ("two", 2), ("none", 3)])
def test_tied_tables_are_one_parameter(tied: str, tables: int) -> None:
    model = Transformer(preset("tiny", source_vocabulary=7, tied=tied, **ONE_BLOCK))
    assert sum(parameter.shape == (7, 128) for parameter in model.parameters()) == tables


def test_a_transformers_file_does_not_name_its_architecture() -> None:
    data = ModelConfig(source_vocabulary=7).model_dump()
    assert {"architecture", "cell", "kernel", "heads_kept", "scale_scores"} & set(data) == set()
    unscaled = ModelConfig(source_vocabulary=7, scale_scores=False)
    assert unscaled.model_dump()["scale_scores"] is False
    assert read_config(unscaled.model_dump(mode="json")) == unscaled


@pytest.mark.parametrize("shape", ["encoder-decoder", "encoder", "decoder"])
@pytest.mark.parametrize("architecture", ["transformer", "recurrent", "convolutional"])
def test_a_config_is_read_as_it_was_written(architecture: str, shape: str) -> None:
    num_classes = 3 if shape == "encoder" else None
    config = read_config(
        {"architecture": architecture, "shape": shape, "source_vocabulary": 7, "num_classes": num_classes}
    )
    assert read_config(config.model_dump(mode="json")) == config
    assert config.can_pack_rows == (architecture == "transformer" and shape != "encoder")


def test_the_positions_follow_from_the_architecture() -> None:
    kinds = {
        architecture: read_config({"architecture": architecture, "source_vocabulary": 7})
        for architecture in ("transformer", "recurrent", "convolutional")
    }
    assert [config.positions for config in kinds.values()] == ["sinusoidal", "none", "learned"]
    assert [config.position_limit for config in kinds.values()] == [1024, None, 1024]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("architecture", ALL_PRESETS)
def test_presets_of_one_name_have_nearly_the_same_number_of_parameters(architecture: str, name: str) -> None:
    sizes = [
        num_parameters(preset(name, source_vocabulary=8000, architecture=a)) for a in ("transformer", architecture)
    ]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)
    assert list(ALL_PRESETS[architecture]) == list(PRESETS)

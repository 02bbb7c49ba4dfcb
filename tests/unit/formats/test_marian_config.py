"""MarianMT's config.json as a config of ours: every field has its place, and all unsupported fields are reported together."""

from typing import Any

import pytest

from clearhead.errors import CheckpointError
from clearhead.formats.marian_config import config_from_marian, read_settings, refuse

OPUS: dict[str, Any] = {
    "model_type": "marian", "vocab_size": 59, "d_model": 14, "encoder_layers": 2, "decoder_layers": 3,
    "encoder_ffn_dim": 11, "decoder_ffn_dim": 11, "encoder_attention_heads": 7, "decoder_attention_heads": 7,
    "activation_function": "swish", "max_position_embeddings": 37, "scale_embedding": True, "pad_token_id": 58,
    "eos_token_id": 0, "decoder_start_token_id": 58, "dropout": 0.3, "attention_dropout": 0.05,
    "activation_dropout": 0.07,
}  # fmt: skip


def converted(**changes: Any) -> Any:
    return config_from_marian(read_settings({**OPUS, **changes}))


def test_every_field_has_its_place() -> None:
    config = converted()
    assert (config.source_vocabulary, config.target_size, config.max_length) == (59, 59, 37)
    assert (config.encoder_blocks, config.decoder_blocks, config.d_model, config.d_ff) == (2, 3, 14, 11)
    assert (config.num_heads, config.activation, config.norm_place, config.epsilon) == (7, "silu", "post", 1e-5)
    assert (config.pad, config.eos, config.start, config.tied) == (58, 0, "pad", "three")
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.3, 0.05, 0.07)
    assert config.scale_embedding
    assert config.has_output_bias


@pytest.mark.parametrize(
    ("changes", "tied", "target"),
    [
        ({}, "three", 59),
        ({"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 61}, "two", 61),
        ({"share_encoder_decoder_embeddings": False}, "two", 59),
        ({"tie_word_embeddings": False}, "none", 59),
    ],
)
def test_tables_are_tied_as_the_file_says(changes: dict[str, Any], tied: str, target: int) -> None:
    config = converted(**changes)
    assert (config.tied, config.target_size) == (tied, target)


@pytest.mark.parametrize(
    ("changes", "start"),
    [
        ({}, "pad"),
        ({"decoder_start_token_id": 0}, "eos"),
        ({"decoder_start_token_id": 5, "bos_token_id": 5}, "bos"),
        ({"decoder_start_token_id": 58, "bos_token_id": 58}, "pad"),
    ],
)
def test_a_sentence_starts_from_the_token_that_the_file_names(changes: dict[str, Any], start: str) -> None:
    config = converted(**changes)
    assert config.start == start
    assert config.start_id == changes.get("decoder_start_token_id", 58)


def test_all_reasons_for_an_error_are_reported_together() -> None:
    with pytest.raises(CheckpointError) as problem:
        converted(activation_function="tanh", decoder_ffn_dim=13, eos_token_id=[0, 1], normalize_before=True)
    assert str(problem.value) == (
        "this MarianMT model is not supported: eos_token_id = [0, 1], but only one end token is supported; "
        "activation_function = 'tanh' (supported: relu, gelu, silu, swish); "
        "encoder and decoder have different feed-forward widths; normalize_before is true, but MarianMT is post-norm."
    )


def test_a_config_of_another_model_or_with_other_types_is_reported() -> None:
    with pytest.raises(CheckpointError, match=r"config\.json is of a 'bart' model\. Only MarianMT"):
        read_settings({"model_type": "bart"})
    with pytest.raises(CheckpointError) as problem:
        read_settings({**OPUS, "d_model": "wide", "pad_token_id": None})
    assert str(problem.value) == (
        "config.json is not a MarianMT config: d_model = 'wide' is not a whole number. pad_token_id = null is not a "
        "whole number."
    )
    with pytest.raises(CheckpointError, match=r"config\.json does not describe a valid model: .*num_heads"):
        converted(encoder_attention_heads=5, decoder_attention_heads=5)


def test_only_the_reasons_that_apply_are_reported() -> None:
    refuse("it", {"never": False})
    with pytest.raises(CheckpointError, match=r"^it: one; three\.$"):
        refuse("it", {"one": True, "two": False, "three": True})

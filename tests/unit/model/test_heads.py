"""The names of attention heads, and the message about one that does not exist."""

import re

import pytest

from clearhead.errors import ConfigError
from clearhead.model import ModelConfig
from clearhead.model.heads import AttentionHead, attention_places, every_head, find_heads


def config_of(shape: str = "encoder-decoder") -> ModelConfig:
    classes = 3 if shape == "encoder" else None
    return ModelConfig(
        shape=shape, num_classes=classes, source_vocabulary=11, encoder_blocks=1, decoder_blocks=2, d_model=12,
        num_heads=3, d_ff=7,
    )  # fmt: skip


def test_the_heads_of_a_translator_are_those_of_three_kinds_of_attention() -> None:
    assert attention_places(config_of()) == [
        "encoder.0.self_attention",
        "decoder.0.self_attention",
        "decoder.1.self_attention",
        "decoder.0.cross_attention",
        "decoder.1.cross_attention",
    ]
    assert len(every_head(config_of())) == 15
    assert str(every_head(config_of())[-1]) == "decoder.1.cross_attention.head.2"


def test_half_a_model_has_only_self_attention() -> None:
    assert attention_places(config_of("encoder")) == ["encoder.0.self_attention"]
    assert attention_places(config_of("decoder")) == ["decoder.0.self_attention", "decoder.1.self_attention"]


def test_a_head_knows_its_kind_and_layer() -> None:
    head = AttentionHead("decoder.1.cross_attention", 2)
    assert (head.kind, head.layer) == ("decoder.cross_attention", 1)


def test_heads_are_chosen_by_name_or_pattern_each_once() -> None:
    heads = find_heads(["decoder.*.cross_attention.head.2", "decoder.1.cross_attention.head.2"], config_of())
    assert [str(head) for head in heads] == ["decoder.0.cross_attention.head.2", "decoder.1.cross_attention.head.2"]


def test_a_head_that_does_not_exist_gets_a_list_of_those_that_do() -> None:
    message = (
        "there is no head 'encoder.0.self_attention.head.5' in this model. "
        "Did you mean 'encoder.0.self_attention.head.2'? Its heads are encoder.0.self_attention.head.0-2; "
        "decoder.0-1.self_attention.head.0-2; decoder.0-1.cross_attention.head.0-2, counted from 0."
    )
    with pytest.raises(ConfigError, match=re.escape(message)):
        find_heads(["encoder.0.self_attention.head.5"], config_of())

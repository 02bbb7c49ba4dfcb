"""Formats and precisions, and which models a format cannot represent."""

import pytest

from clearhead.errors import ConfigError
from clearhead.export.targets import PRECISIONS, TITLES, check_model, check_target
from clearhead.model.config import ModelConfig

SIZES = {"source_vocabulary": 31, "d_model": 12, "encoder_blocks": 1, "decoder_blocks": 2}


def config_of(**changes: object) -> ModelConfig:
    heads = {} if "architecture" in changes else {"num_heads": 2, "d_ff": 17}
    return ModelConfig.model_validate({**SIZES, **heads, **changes})


def test_every_format_has_a_title_and_float32_first() -> None:
    assert set(TITLES) == set(PRECISIONS)
    assert {precisions[0] for precisions in PRECISIONS.values()} == {"float32"}
    assert check_target("onnx", None) == ("onnx", "float32")
    assert check_target("hub-folder", "int8") == ("hub-folder", "int8")


@pytest.mark.parametrize(
    ("name", "precision", "message"),
    [
        ("onx", None, "'onx' is not a format for export. Did you mean 'onnx'? Formats: ctranslate2, onnx, marian, hub-folder."),
        ("onnx", "int9", "precision = 'int9' is not available for onnx. Did you mean 'int8'? Precisions: float32, int8."),
        ("marian", "int8", "precision = 'int8' is not available for marian. Precisions: float32, float16."),
        ("tvm", None, "'tvm' is not a format for export. Formats: ctranslate2, onnx, marian, hub-folder."),
    ],
)  # fmt: skip
def test_an_unknown_format_or_precision_is_refused_with_the_choices(
    name: str, precision: str | None, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_target(name, precision)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "target", "message"),
    [
        ({}, "marian", "MarianMT is post-norm, and this model is pre-norm.*configs/multi30k-marian.yaml"),
        ({"architecture": "recurrent"}, "onnx", "ONNX only supports Transformers, and this model is recurrent. Export it as a hub-folder"),
        ({"architecture": "convolutional"}, "ctranslate2", "CTranslate2 only supports Transformers, and this model is convolutional"),
        ({"positions": "rotary"}, "onnx", "ONNX does not support this model: it does not support rotary positions."),
        ({"positions": "rotary"}, "ctranslate2", "CTranslate2 does not support this model: it does not support rotary positions."),
        ({"shape": "decoder"}, "hub-folder", "only translation models can be exported.*has the shape decoder"),
    ],
)  # fmt: skip
def test_a_model_that_a_format_cannot_hold_is_refused(changes: dict[str, object], target: str, message: str) -> None:
    pytest.importorskip("onnx", reason="it is an extra: pip install '.[onnx]'")
    with pytest.raises(ConfigError, match=message):
        check_model(config_of(**changes), target)  # type: ignore[arg-type]


def test_models_that_a_format_can_hold_are_accepted() -> None:
    pytest.importorskip("onnx", reason="it is an extra: pip install '.[onnx]'")
    for target in ("onnx", "ctranslate2", "hub-folder"):
        check_model(config_of(), target)  # type: ignore[arg-type]
    check_model(config_of(norm_place="post"), "marian")
    check_model(config_of(architecture="recurrent"), "hub-folder")

"""A checkpoint's config.json: ours is read, and one of another program, a newer one and a broken one have different errors."""

from pathlib import Path
from typing import Any

import pytest

from clearhead import __version__
from clearhead.errors import CheckpointError
from clearhead.formats.config_file import FORMAT, MARK, VERSION, read_model_config
from clearhead.model.config import ModelConfig

CONFIG = ModelConfig(source_vocabulary=23, d_model=14, num_heads=7, d_ff=11, encoder_blocks=2, decoder_blocks=3)
PATH = Path("runs/own/best/config.json")


def written(**changes: Any) -> dict[str, Any]:
    return {MARK: FORMAT, VERSION: __version__, **CONFIG.model_dump(), **changes}


def test_a_config_comes_back_as_it_was_written() -> None:
    assert read_model_config(PATH, written()) == CONFIG


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({}, f"{PATH} is not the config of a clearhead model. Its clearhead_model is missing."),
        (
            {"model_type": "marian"},
            f"{PATH} is not the config of a clearhead model. Read it with clearhead.formats.from_marian.",
        ),
        (written(**{MARK: "one"}), f"{PATH}: clearhead_model = 'one' is not a format. This clearhead reads {FORMAT}."),
        (written(**{MARK: True}), f"{PATH}: clearhead_model = true is not a format. This clearhead reads {FORMAT}."),
        (written(**{MARK: 0}), f"{PATH}: clearhead_model = 0 is not a format. This clearhead reads {FORMAT}."),
        (
            written(**{MARK: 97, VERSION: "9.7"}),
            f"{PATH} is in format 97, written by clearhead 9.7; this is {__version__}, which reads format {FORMAT}. "
            "Install clearhead 9.7 or later.",
        ),
    ],
)
def test_a_config_that_is_not_ours_is_reported(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CheckpointError) as problem:
        read_model_config(PATH, data)
    assert str(problem.value) == sentence


def test_every_wrong_setting_is_reported_with_the_version_that_wrote_it() -> None:
    with pytest.raises(CheckpointError) as problem:
        read_model_config(PATH, written(num_heads=5, activation="rleu", **{VERSION: "0.0.1"}))
    sentence = str(problem.value)
    assert sentence.startswith(f"{PATH}: ")
    assert "num_heads" in sentence or "activation" in sentence
    assert sentence.endswith(f"It was written by clearhead 0.0.1; this is {__version__}.")

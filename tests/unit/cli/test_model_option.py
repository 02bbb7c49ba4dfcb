"""The model is an option; a text that is a model's folder is recognised."""

from pathlib import Path

import pytest

from clearhead.cli.model_option import chosen_model
from clearhead.errors import ConfigError
from tests.small_run import make_run


def test_the_named_model_is_used_for_any_texts(tmp_path: Path) -> None:
    assert chosen_model(tmp_path / "a", [str(tmp_path)]) == tmp_path / "a"


def test_a_folder_in_place_of_a_text_is_reported(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for text in (str(run), str(run / "best")):
        with pytest.raises(
            ConfigError, match=f"'{text}' is the folder of a model, but a text or a file .* Use --model {text}."
        ):
            chosen_model(None, [text, "a dog"])


@pytest.mark.parametrize(
    "texts", [[], ["a dog"], ["\0"], ["a" * 5000], ["."]], ids=["none", "text", "nul", "long", "dot"]
)
def test_without_a_model_the_option_is_named(texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="no model was given. Name a run folder, .* with --model"):
        chosen_model(None, texts)

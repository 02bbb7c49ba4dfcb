"""The model is an option; a text that is a model's folder is recognised."""

from pathlib import Path

import pytest

from clearhead.cli.model_option import chosen_model, translation_model
from clearhead.errors import ConfigError
from clearhead.formats.model_folder import ModelFolder
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


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        (None, "hi", "--model en-es translates from 'en' into 'es', but --to is 'hi'. Remove one of the two options."),
        (
            "es",
            None,
            "--model en-es translates from 'en' into 'es', but --from is 'es'. Remove one of the two options.",
        ),
    ],
)
def test_a_direction_and_another_language_contradict_each_other(
    source: str | None, target: str | None, sentence: str
) -> None:
    with pytest.raises(ConfigError) as wrong:
        translation_model(Path("en-es"), [], source, target)
    assert str(wrong.value) == sentence


@pytest.mark.parametrize(
    ("model", "source", "target", "language"),
    [("en-es", "English", "ES", "es"), ("en-hi", None, None, "hi"), ("tatoeba", None, "Bengali", "bn")],
)
def test_a_direction_and_the_same_languages_agree(
    model: str, source: str | None, target: str | None, language: str
) -> None:
    path = translation_model(Path(model), [], source, target).path
    assert isinstance(path, ModelFolder)
    assert path.language == language

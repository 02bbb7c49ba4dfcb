"""Built-in models: found by name or direction, and what there is said for everything else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError, ConfigError
from clearhead.formats import built_in
from clearhead.formats.built_in import (
    built_in_for,
    built_in_models,
    find_built_in,
    language_code,
    read_description,
    unknown_model_hint,
)
from clearhead.formats.model_folder import find_model
from tests.built_in import TO_MANY, install_models, write_description


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield install_models(tmp_path_factory.mktemp("built-in"), patch)


def test_the_models_of_the_package_can_be_read() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(built_in, "MODELS", Path(built_in.__file__).parents[1] / "models")
        assert (built_in.MODELS / "README.md").is_file()
        for model in built_in_models():
            assert model.description.directions
            assert find_model(model.name).folder == model.folder


@pytest.mark.parametrize(
    ("source", "target", "model", "direction"),
    [
        (None, None, "en-es-hi-bn", "en-es"),
        (None, "bn", "en-es-hi-bn", "en-bn"),
        ("es", None, "es-en", "es-en"),
        (None, "en", "es-en", "es-en"),
        ("en", "hi", "en-es-hi-bn", "en-hi"),
    ],
)
def test_languages_choose_a_model(source: str | None, target: str | None, model: str, direction: str) -> None:
    choice = built_in_for(source, target)
    assert (choice.model.name, choice.direction.name) == (model, direction)


@pytest.mark.parametrize(
    ("source", "target", "name", "sentence"),
    [
        (None, "fr", None, "no built-in model translates into 'fr'. There is: en → es, hi, bn; es → en."),
        (None, "ess", None, "into 'ess'. Did you mean 'es'?"),
        (None, "German", None, "no built-in model translates into 'German'. There is:"),
        ("de", None, None, "no built-in model translates from 'de'. There is:"),
        ("es", "hi", None, "no built-in model translates from 'es' into 'hi'. There is:"),
        (None, "bn", "es-en", "the built-in model es-en does not translate into 'bn'. There is: es → en."),
    ],
)
def test_what_there_is_is_said_for_other_languages(
    source: str | None, target: str | None, name: str | None, sentence: str
) -> None:
    with pytest.raises(ConfigError) as wrong:
        built_in_for(source, target, name)
    assert sentence in str(wrong.value)
    assert str(wrong.value).endswith("Use one of these, or a model of your own.")


def test_a_name_is_that_of_a_model_or_of_a_direction(installed: Path) -> None:
    assert find_model("en-es-hi-bn").language == "es"
    assert find_model("en-hi").folder == installed / "en-es-hi-bn"
    assert find_model("en-hi").language == "hi"
    assert find_built_in("en-fr") is None


def test_a_folder_beats_a_built_in_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "es-en").mkdir()
    with pytest.raises(CheckpointError, match="es-en contains no model"):
        find_model("es-en")


def test_an_unknown_name_gets_the_closest_one_and_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CheckpointError) as wrong:
        find_model("es_en")
    assert "es_en does not exist." in str(wrong.value)
    assert str(wrong.value).endswith("Did you mean 'es-en'? Built-in models: en-es-hi-bn, es-en.")
    assert unknown_model_hint("runs/es-en") == "", "a path is not a name"


def test_an_installation_without_models_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built_in, "MODELS", tmp_path / "none")
    assert built_in_models() == []
    assert unknown_model_hint("en-es") == ""
    with pytest.raises(ConfigError, match="no built-in model is installed. Name a run folder"):
        built_in_for()


def test_a_damaged_description_is_named(tmp_path: Path) -> None:
    path = write_description(tmp_path / "model.json", TO_MANY)
    assert [direction.name for direction in read_description(path).directions] == ["en-es", "en-hi", "en-bn"]
    path.write_text('{"directions": [], "license": "mine"}')
    with pytest.raises(CheckpointError, match=r"model\.json: .*directions.*license is not a setting"):
        read_description(path)


@pytest.mark.parametrize("word", ["es", "ES", "Spanish", "spanish"])
def test_a_language_is_named_in_any_case_or_in_english(word: str) -> None:
    assert built_in_for(None, word).direction.name == "en-es"
    assert built_in_for(word, "EN").direction.name == "es-en"
    assert language_code(word, ("de", "es")) == "es"
    assert language_code(word, ("de", "ES")) == ("ES" if word.lower() == "es" else word)

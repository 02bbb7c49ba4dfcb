"""Which models are served under which names, and which of them translates a request."""

import json
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError, ConfigError
from clearhead.serve.api_errors import ApiError
from clearhead.serve.catalogue import Catalogue, Route, is_usable, language_name, make_catalogue
from tests.small_run import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "mine")


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("tagged") / "mine", ("de", "fr"))


def described(route: Route) -> tuple[str, str, str, str | None]:
    return route.model.name, route.source, route.target, route.language


def test_without_names_the_built_in_models_are_served() -> None:
    catalogue = make_catalogue([])
    assert described(catalogue.route("en", "hi")) == ("tatoeba", "en", "hi", "hi")
    assert described(catalogue.route(None, None)) == ("tatoeba", "en", "es", "es")
    assert described(catalogue.route(None, "English")) == ("tatoeba", "es", "en", "en")
    assert catalogue.codes == ("en", "es", "hi", "bn")
    assert catalogue.route("en", "bn").language == "bn"


def test_the_name_of_a_direction_serves_only_this_direction() -> None:
    catalogue = make_catalogue(["en-hi"])
    assert catalogue.codes == ("en", "hi")
    with pytest.raises(ApiError, match="no model translates into 'es'. There is: en → hi."):
        catalogue.route(None, "es")


def test_a_run_needs_its_languages(run: Path, tagged: Path) -> None:
    with pytest.raises(
        ConfigError, match="mine does not state the languages that it translates. Add them, for example"
    ):
        make_catalogue([str(run)])
    assert described(make_catalogue([f"{run}=en-de"]).route(None, None)) == ("mine", "en", "de", None)
    assert described(make_catalogue([str(tagged)]).route(None, "fr")) == ("mine", "und", "fr", "fr")
    assert language_name("und") == "Unknown"


def test_the_settings_of_an_opus_tokeniser_state_its_languages(run: Path) -> None:
    settings = run / "best" / "tokenizer_config.json"
    settings.write_text(json.dumps({"source_lang": "en", "target_lang": "de"}))
    try:
        assert described(make_catalogue([str(run)]).route("en", "de")) == ("mine", "en", "de", None)
    finally:
        settings.unlink()


def test_models_of_the_same_name_are_numbered_and_the_first_one_that_fits_is_used(run: Path, tagged: Path) -> None:
    catalogue = make_catalogue([f"{run}=en-de", str(tagged), f"{run}=en-de"])
    assert [model.name for model in catalogue.models] == ["mine", "mine-2"]
    assert catalogue.route(None, "de").model.name == "mine"
    assert catalogue.route(None, "de", "mine-2").model.name == "mine-2"
    assert catalogue.find("mine-2").path == tagged


def test_a_direction_chooses_one_of_a_built_in_model() -> None:
    (model,) = make_catalogue(["tatoeba=en-hi"]).models
    assert [(way.source, way.target) for way in model.directions] == [("en", "hi")]
    with pytest.raises(ConfigError, match="tatoeba=en-de: the model does not have this direction. It has: en-es, en-h"):
        make_catalogue(["tatoeba=en-de"])


def test_a_folder_that_does_not_exist_is_one_sentence() -> None:
    with pytest.raises(CheckpointError, match="runs/none does not exist"):
        make_catalogue(["runs/none"])


def test_a_removed_folder_is_not_usable(tmp_path: Path) -> None:
    run = make_run(tmp_path / "mine")
    (model,) = make_catalogue([f"{run}=en-de"]).models
    assert is_usable(model)
    run.rename(tmp_path / "other")
    assert not is_usable(model)


def test_an_empty_catalogue_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.serve.catalogue.built_in_models", list)
    with pytest.raises(ConfigError, match="no built-in model is installed, and no model was given."):
        make_catalogue([])
    assert Catalogue([]).codes == ()

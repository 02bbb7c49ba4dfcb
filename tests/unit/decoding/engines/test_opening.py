"""The choice of an engine: NumPy for a few sentences, else CTranslate2 on a CPU, and torch if the others lack something."""

from pathlib import Path

import pytest

from clearhead.decoding.engines import ctranslate2_engine, opening
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.opening import EngineChoice, is_soonest, open_engine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError
from clearhead.formats.model_folder import ModelFolder, find_model
from tests.small_run import make_run

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
FIRST = Path(__file__).parents[3] / "golden" / "first_release"
DRAWN = EngineNeeds(SearchSettings(temperature=1.0))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    return find_model(make_run(tmp_path_factory.mktemp("run")))


@pytest.mark.parametrize(
    ("name", "needs", "expected"),
    [
        ("auto", EngineNeeds(), "ctranslate2"),
        ("auto", DRAWN, "torch"),
        ("auto", EngineNeeds(uses=("alignment",)), "torch"),
        ("torch", EngineNeeds(), "torch"),
        ("ctranslate2", EngineNeeds(), "ctranslate2"),
        ("numpy", EngineNeeds(), "numpy"),
        ("auto", EngineNeeds(num_characters=7), "numpy"),
        ("auto", EngineNeeds(num_characters=10**6), "ctranslate2"),
        ("auto", EngineNeeds(uses=("alignment",), num_characters=7), "numpy"),
        ("auto", EngineNeeds(uses=("explain",), num_characters=7), "torch"),
        ("ctranslate2", EngineNeeds(num_characters=7), "ctranslate2"),
    ],
)
def test_the_chosen_engine_supports_what_is_needed(
    model: ModelFolder, name: str, needs: EngineNeeds, expected: str
) -> None:
    opened = open_engine(model, EngineChoice(name, "cpu"), needs)  # type: ignore[arg-type]
    assert opened.engine.name == expected
    assert opened.engine.lacks(needs) is None
    assert opened.notes == ()


def test_a_requested_engine_that_lacks_support_is_replaced_with_a_note(model: ModelFolder) -> None:
    opened = open_engine(model, EngineChoice("ctranslate2", "cpu"), DRAWN)
    assert opened.engine.name == "torch"
    assert opened.notes == (
        "Using the engine torch, because ctranslate2 cannot do this: it draws different random numbers.",
    )
    opened = open_engine(model, EngineChoice("numpy", "cpu"), DRAWN)
    assert opened.notes == ("Using the engine torch, because numpy cannot do this: it does not sample.",)


def test_a_larger_model_leaves_fewer_characters_to_numpy(model: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_soonest(model, EngineNeeds(num_characters=600))
    assert not is_soonest(model, EngineNeeds(num_characters=1000))
    assert not is_soonest(model, EngineNeeds()), "a text of unknown length can be long"
    monkeypatch.setattr(opening, "num_parameters", lambda config: 40_000_000)
    assert is_soonest(model, EngineNeeds(num_characters=150))
    assert not is_soonest(model, EngineNeeds(num_characters=600))


def test_numpy_is_not_chosen_for_a_model_that_it_cannot_run(tmp_path: Path) -> None:
    recurrent = find_model(make_run(tmp_path, architecture="recurrent", attention="dot"))
    assert not is_soonest(recurrent, EngineNeeds(num_characters=7))
    assert open_engine(recurrent, EngineChoice("auto", "cpu"), EngineNeeds(num_characters=7)).engine.name == "torch"


def test_a_wide_beam_leaves_fewer_characters_to_numpy(model: ModelFolder) -> None:
    beam = SearchSettings(beam=4)
    assert is_soonest(model, EngineNeeds(beam, num_characters=150))
    assert not is_soonest(model, EngineNeeds(beam, num_characters=300))


def test_without_other_packages_numpy_translates_everything_that_it_supports(
    model: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "is_installed", lambda package: False)
    monkeypatch.setattr(ctranslate2_engine, "_installation_lacks", lambda device: "ctranslate2 is not installed")
    for name in ("auto", "numpy"):
        opened = open_engine(model, EngineChoice(name), EngineNeeds())  # type: ignore[arg-type]
        assert (opened.engine.name, opened.notes) == ("numpy", ())
    for name in ("auto", "numpy"):
        with pytest.raises(ConfigError) as wrong:
            open_engine(model, EngineChoice(name), DRAWN)  # type: ignore[arg-type]
        assert str(wrong.value) == (
            "the engine numpy cannot do this: it does not sample. This translation needs torch, which is not "
            "installed. Run pip install '.[translate]' in a clone of clearhead."
        )


@pytest.mark.parametrize(("name", "extra"), [("torch", "translate"), ("ctranslate2", "fast")])
def test_a_requested_engine_that_is_not_installed_is_an_error(
    model: ModelFolder, monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    monkeypatch.setattr(opening, "is_installed", lambda package: False)
    for needs in (EngineNeeds(), DRAWN):
        with pytest.raises(ConfigError) as wrong:
            open_engine(model, EngineChoice(name), needs)  # type: ignore[arg-type]
        assert str(wrong.value) == (
            f"the engine {name} needs {name}, which is not installed. Run pip install '.[{extra}]' in a clone of "
            "clearhead."
        )


def test_an_export_is_only_run_by_its_own_engine() -> None:
    export = find_model(FIRST / "ctranslate2")
    for needs in (EngineNeeds(), EngineNeeds(num_characters=7)):
        assert open_engine(export, EngineChoice("auto", "cpu"), needs).engine.name == "ctranslate2"
    with pytest.raises(
        ConfigError, match="which the engine torch cannot run. Use the engine ctranslate2, or the model"
    ):
        open_engine(export, EngineChoice("torch", "cpu"), EngineNeeds())
    with pytest.raises(
        ConfigError, match="in float32, and cannot be run in int8. Use float32, or export the model again"
    ):
        open_engine(export, EngineChoice("auto", "cpu", "int8"), EngineNeeds())
    with pytest.raises(ConfigError, match="which cannot do this: it .*. Use the model that it was exported from."):
        open_engine(export, EngineChoice("auto", "cpu"), DRAWN)


def test_the_extra_of_an_engine_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "is_installed", lambda package: package != "ctranslate2")
    for model, engine in ((find_model(FIRST / "ctranslate2"), "auto"), (find_model(FIRST / "run"), "ctranslate2")):
        with pytest.raises(ConfigError, match=r"the engine ctranslate2 needs ctranslate2, which is not inst.*\[fast\]"):
            open_engine(model, EngineChoice(engine, "cpu"), EngineNeeds())  # type: ignore[arg-type]

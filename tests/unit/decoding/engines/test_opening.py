"""The choice of an engine: CTranslate2 on a CPU if it supports what is needed, else torch with a note."""

import pytest

from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.opening import EngineChoice, open_engine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats.model_folder import ModelFolder, find_model
from tests.small_run import make_run

pytest.importorskip("ctranslate2", reason="the engine is an extra: pip install '.[translate]'")
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

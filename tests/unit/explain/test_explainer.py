"""Translations with the search that found them, as data and as text."""

import pytest

from clearhead.decoding.phrase_constraints import PhraseConstraints
from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.explain.explainer import SearchExplainer
from clearhead.explain.explanation_text import search_text
from tests.small_run import make_run

BEAM = SearchSettings(beam=3, max_length=11)
GERMAN = TranslationOptions(language="de")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return Translator.load(make_run(tmp_path_factory.mktemp("run"), ("de", "bn")), engine="torch")


def translated(
    translator: Translator, *lines: str, options: TranslationOptions = GERMAN, search: SearchSettings = BEAM
) -> list[Translation]:
    return translator.translate(lines, search, options)


def test_an_explained_search_gives_the_translation_that_is_shown(translator: Translator) -> None:
    plain = translated(translator, "the red cat", "")
    explainer = SearchExplainer(translator, BEAM)
    explained = explainer.explain(plain[0])
    assert explained.text == plain[0].text
    data = explained.parts[0].explanation
    assert data is not None
    assert data["source_pieces"][0] == ">>de<<"
    assert data["steps"][0]["options"][0]["attention"] is not None
    drawn = search_text(data)
    assert drawn.startswith("source: >>de<< ▁the")
    assert drawn.count("\nstep ") == len(data["steps"])
    assert "kept as 1" in drawn
    assert "better candidates were kept)" in drawn
    assert "\nstopped after" in drawn
    assert explainer.explain(plain[1]).parts[0].explanation is None
    every = SearchExplainer(translator, BEAM, all_heads=True).explain(plain[0]).parts[0].explanation
    assert every is not None
    weights = every["steps"][0]["options"][0]["attention"]
    assert (len(weights), len(weights[0]), len(weights[0][0])) == (2, 2, len(data["source"]))


def test_draws_are_not_explained(translator: Translator) -> None:
    drawn = SearchSettings(temperature=1.0, max_length=5)
    with pytest.raises(ConfigError, match="an explanation shows a search, but a temperature samples at random"):
        SearchExplainer(translator, drawn)


def test_an_explanation_follows_the_constraints_of_the_translation(translator: Translator) -> None:
    plain = translated(translator, "the red cat sees a small book.")[0].text
    for word in plain.split():
        options = TranslationOptions(PhraseConstraints(forbidden=(word,)), language="de")
        translation = translated(translator, "the red cat sees a small book.", options=options)[0]
        assert SearchExplainer(translator, BEAM).explain(translation).text == translation.text

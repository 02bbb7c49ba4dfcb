"""What-if questions over a test set: the scores of both models, and paired tests of their differences."""

import pytest

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.scores import bleu, chrf
from clearhead.evaluation.significance import Resampling
from clearhead.explain import Intervention, LoadedModel
from clearhead.explain.head_importance import losses_without
from clearhead.explain.token_pairs import encode_pairs
from clearhead.explain.what_if_corpus import CorpusChange, what_if_on_corpus
from clearhead.model.heads import find_heads
from tests.parity.test_model_gates import without_rows
from tests.unit.decoding.toys import random_model
from tests.unit.explain.test_head_report import vocabularies

SOURCES = ["abc", "hello", "some words", "q"]
HEAD = "decoder.1.cross_attention.head.0"
MODEL = random_model(36)
FEW = Resampling(num_trials=200)
BEAM = SearchSettings(beam=2)


def translator_of(model: object = MODEL) -> Translator:
    return Translator(vocabularies(), TorchEngine(model))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, str]]:
    return [(source, translation.text) for source, translation in _translations(MODEL)]


def _translations(model: object) -> list[tuple[str, object]]:
    return list(zip(SOURCES, translator_of(model).translate(SOURCES, BEAM), strict=True))


@pytest.fixture(scope="module")
def change(texts: list[tuple[str, str]]) -> CorpusChange:
    return what_if_on_corpus(translator_of(), texts, Intervention(without=HEAD), search=BEAM, resampling=FEW)


def test_scores_are_those_of_the_model_without_the_rows_of_the_head(
    change: CorpusChange, texts: list[tuple[str, str]]
) -> None:
    references = [target for _, target in texts]
    other = without_rows(MODEL, find_heads([HEAD], MODEL.config)[0])
    outputs = [translation.text for translation in translator_of(other).translate(SOURCES, BEAM)]
    scores = {score.name: score for score in change.scores}
    assert (scores["BLEU"].before, scores["BLEU"].after) == pytest.approx((100, bleu(outputs, references).value))
    assert scores["chrF"].after == pytest.approx(chrf(outputs, references).value)
    assert change.num_changed == sum(one != other for one, other in zip(outputs, references, strict=True)) > 0
    assert all(0 < score.p_value <= 1 for score in change.scores)
    assert "ar:200|seed:12345" in scores["BLEU"].signature


def test_the_loss_is_that_of_heads(change: CorpusChange, texts: list[tuple[str, str]]) -> None:
    losses = losses_without(MODEL, encode_pairs(MODEL, vocabularies(), texts))
    loss = change.scores[-1]
    assert loss.name == "loss"
    assert loss.before == pytest.approx(losses[None].mean)
    assert loss.after == pytest.approx(losses[find_heads([HEAD], MODEL.config)[0]].mean)
    assert loss.difference == loss.after - loss.before


def test_the_table_has_a_row_for_every_score(change: CorpusChange) -> None:
    table = change.table()
    assert table.title == f"without {HEAD}: 4 sentences"
    assert [row[0] for row in table.rows] == ["BLEU", "chrF", "loss"]
    assert table.rows[0][1] == "100.00"
    assert table.notes[0] == f"{change.num_changed} of 4 translations changed"
    assert [score["name"] for score in change.to_dict()["scores"]] == ["BLEU", "chrF", "loss"]


def test_a_language_model_has_a_loss_only(language_model: LoadedModel) -> None:
    pairs = [("", "the red cat"), ("", "where is the book?")]
    change = what_if_on_corpus(language_model, pairs, Intervention(uniform="decoder.0.*"), resampling=FEW)
    assert [score.name for score in change.scores] == ["loss"]
    assert change.num_changed is None
    assert change.scores[0].difference != 0


def test_language_tags_are_part_of_the_source(german: Translator) -> None:
    change, tagged = (
        what_if_on_corpus(german, [(f"{tag}the red cat", "die Katze")], Intervention(without="*"), language=language)
        for tag, language in (("", "de"), (">>de<< ", None))
    )
    assert change.scores == tagged.scores


def test_what_belongs_to_one_sentence_is_refused(classifier: LoadedModel) -> None:
    with pytest.raises(ConfigError, match="its references translate the words"):
        what_if_on_corpus(translator_of(), [("a", "b")], Intervention(swap={"a": "b"}))
    with pytest.raises(ConfigError, match="a classifier has no translations to score"):
        what_if_on_corpus(classifier, [("a", "b")], Intervention(without="*"))
    with pytest.raises(DataError, match="there are no sentences"):
        what_if_on_corpus(translator_of(), [], Intervention(without="*"))

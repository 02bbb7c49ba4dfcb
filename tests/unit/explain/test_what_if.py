"""Translations of a changed model beside those of the unchanged one: the same as of a model with other weights."""

import re

import pytest

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.errors import ConfigError
from clearhead.evaluation.scores import bleu
from clearhead.evaluation.significance import Resampling
from clearhead.explain.what_if import compare_changed, gates_of_heads, translate_changed
from clearhead.model.gates import open_gates
from clearhead.model.heads import find_heads
from tests.parity.test_model_gates import without_rows
from tests.unit.decoding.toys import random_model
from tests.unit.explain.test_head_report import vocabularies

TEXTS = ["abc", "", "hello", "some words", "q"]
HEAD = "decoder.1.cross_attention.head.0"
MODEL = random_model(36)


def translator_of(model: object = MODEL) -> Translator:
    return Translator(vocabularies(), TorchEngine(model))  # type: ignore[arg-type]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_removed_head_gives_the_translations_of_the_model_without_its_rows(beam: int) -> None:
    search = SearchSettings(beam=beam)
    changes = translate_changed(translator_of(), TEXTS, gates_of_heads(MODEL, without=[HEAD]), search)
    other = translator_of(without_rows(MODEL, find_heads([HEAD], MODEL.config)[0]))
    assert [change.before.text for change in changes] == [t.text for t in translator_of().translate(TEXTS, search)]
    assert [change.after.text for change in changes] == [t.text for t in other.translate(TEXTS, search)]
    assert not all(change.is_same for change in changes)


def test_the_change_by_token_is_that_of_the_old_translation() -> None:
    gates = gates_of_heads(MODEL, uniform=["encoder.*.head.1"], without=[HEAD])
    for change in translate_changed(translator_of(), TEXTS, gates):
        assert [token.before for token in change.tokens] == pytest.approx(change.before.token_log_probs)
        assert [token.piece for token in change.tokens] == [
            piece for h in change.before.hypotheses for piece in vocabularies().target.pieces(h.tokens)
        ]
        if change.is_same:
            assert [token.after for token in change.tokens] == pytest.approx(change.after.token_log_probs)
        for token in change.tokens:
            assert token.difference == token.after - token.before != 0
        assert len(change.to_dict()["tokens"]) == len(change.tokens)


def test_gates_of_one_change_nothing() -> None:
    for change in translate_changed(translator_of(), TEXTS, open_gates(MODEL.config, MODEL.device)):
        assert change.is_same
        assert all(token.difference == 0 for token in change.tokens)


def test_the_change_of_bleu_is_tested() -> None:
    changes = translate_changed(translator_of(), TEXTS, gates_of_heads(MODEL, without=["*.cross_attention.*"]))
    references = [change.before.text for change in changes]
    comparison = compare_changed(changes, references, Resampling(num_trials=100))
    expected = bleu([change.after.text for change in changes], references).value - 100
    assert comparison.difference == pytest.approx(expected)
    assert comparison.difference < 0 < comparison.p_value < 1
    unchanged = translate_changed(translator_of(), TEXTS, open_gates(MODEL.config, MODEL.device))
    assert compare_changed(unchanged, references, Resampling(num_trials=100)).p_value == 1


def test_a_change_names_at_least_one_head_that_exists() -> None:
    with pytest.raises(ConfigError, match=r"no heads were named\. Name a head to remove, or one to make uniform\."):
        gates_of_heads(MODEL)
    message = "there is no head 'encoder.2.self_attention.head.5' in this model."
    with pytest.raises(ConfigError, match=re.escape(message)):
        gates_of_heads(MODEL, without=["encoder.2.self_attention.head.5"])

"""Other words at one position of a given translation."""

import math
from pathlib import Path

import pytest

from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alternatives import TranslatedSentence, word_alternatives
from clearhead.errors import DataError
from tests.small_run import make_run

SENTENCE = TranslatedSentence("where is the old house?", "wo ist das alte Haus?")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    run: Path = make_run(tmp_path_factory.mktemp("run"))
    return Translator.load(run, engine="torch", needs=EngineNeeds())


def test_the_words_before_the_position_are_kept(translator: Translator) -> None:
    choices = word_alternatives(translator, SENTENCE, 3, 5)
    assert len(choices) == 5
    assert all(choice.text.startswith("wo ist") for choice in choices)
    assert [choice.log_prob for choice in choices] == sorted((choice.log_prob for choice in choices), reverse=True)
    assert sum(math.exp(choice.log_prob) for choice in choices) <= 1


def test_the_position_after_the_last_word_continues_the_translation(translator: Translator) -> None:
    choices = word_alternatives(translator, SENTENCE, 6, 3)
    assert all(choice.text.startswith("wo ist das alte Haus?") for choice in choices)


def test_a_position_that_does_not_exist_is_one_sentence(translator: Translator) -> None:
    with pytest.raises(DataError, match="word = 7, but the translation has 5 words."):
        word_alternatives(translator, SENTENCE, 7, 3)
    long = TranslatedSentence("house " * 50, "Haus")
    with pytest.raises(DataError, match="but the model reads at most 36. Give one sentence."):
        word_alternatives(translator, long, 1, 3)

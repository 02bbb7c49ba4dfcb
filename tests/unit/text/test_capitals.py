"""Sentences in capital letters are read in lower case, if the vocabulary hardly has capital letters."""

import pytest

from clearhead.text.capitals import without_capitals
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Tokeniser
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import PAIRS


@pytest.fixture(scope="module")
def tokeniser() -> Tokeniser:
    return train_vocabularies(PAIRS, TextConfig(vocabulary=331, byte_fallback=True)).source


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("THE CAT SEES THE DOG.", "The cat sees the dog."),
        ("THE CAT", "The cat"),
        ("NATO", "NATO"),
        ("A B C", "A B C"),
        ("The CAT SEES THE DOG.", "The CAT SEES THE DOG."),
        ("37 + 4", "37 + 4"),
        ("", ""),
    ],
)
def test_only_sentences_in_capital_letters_change(tokeniser: Tokeniser, text: str, result: str) -> None:
    assert without_capitals(text, tokeniser) == result


def test_a_vocabulary_of_capital_letters_reads_them() -> None:
    loud = [(source.upper(), target) for source, target in PAIRS]
    tokeniser = train_vocabularies(loud, TextConfig(vocabulary=331, byte_fallback=True)).source
    assert without_capitals("THE CAT SEES THE DOG.", tokeniser) == "THE CAT SEES THE DOG."

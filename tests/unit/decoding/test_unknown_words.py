"""Words that a vocabulary does not have, in vocabularies of words and of pieces, and the note about several lines."""

import pytest

from clearhead.decoding.unknown_words import UnknownWordCounter, unknown_words
from clearhead.text.config import TextConfig
from clearhead.text.train import train_vocabularies
from tests.small_halves import LINES, small_vocabularies


def test_every_unknown_word_is_named_once_and_without_its_spaces() -> None:
    tokeniser = small_vocabularies().source
    text = "the  zebra and a zebra, cat"
    assert unknown_words(tokeniser, text, tokeniser.encode([text])[0]) == ("zebra", "zebra,")
    assert unknown_words(tokeniser, LINES[0], tokeniser.encode(LINES[:1])[0]) == ()


def test_a_word_with_an_unknown_letter_is_unknown_in_a_vocabulary_of_pieces() -> None:
    tokeniser = train_vocabularies([(line, line) for line in LINES], TextConfig(vocabulary=53)).source
    text = "the c\u4e16t sees"
    assert unknown_words(tokeniser, text, tokeniser.encode([text])[0]) == ("c\u4e16t",)


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        ([("the cat", ())], None),
        ([("a b c d e f g", tuple("bcdefg"))],
         "the vocabulary of the model does not have 'b', 'c', 'd', 'e', 'f' and 1 more words, which it reads as unknown."),
        ([("b b", ("b",))], "the vocabulary of the model has no word of this text ('b'), so that nothing follows."),
        ([("a", ()), ("a " + "x" * 50, ("x" * 50,))],
         f"1 of 2 lines have words that the vocabulary of the model does not have, for example line 2: '{'x' * 40}…'."),
        ([("b", ("b",)), ("c", ("c",)), ("a", ())],
         "2 of 3 lines have words that the vocabulary of the model does not have, for example line 1: 'b'. In 2 of "
         "them no word is known, for example in line 1, so that nothing follows."),
    ],
)  # fmt: skip
def test_the_note_is_about_all_lines(lines: list[tuple[str, tuple[str, ...]]], note: str | None) -> None:
    counter = UnknownWordCounter("so that nothing follows")
    for number, (text, words) in enumerate(lines, 1):
        counter.count(number, text, words)
    assert counter.note() == note

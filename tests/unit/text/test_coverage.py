"""The share of a text that a vocabulary cannot represent."""

from clearhead.text.config import TextConfig
from clearhead.text.coverage import Coverage, CoverageCounter
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import PAIRS


def _coverage(text: TextConfig, sentences: list[str]) -> Coverage:
    tokeniser = train_vocabularies(PAIRS, text).source
    counter = CoverageCounter([tokeniser])
    for sentence in sentences:
        counter.count([sentence], [[*tokeniser.encode([sentence])[0], tokeniser.eos]], 0)
    return counter.coverage


def test_characters_without_a_piece_are_unknown_or_spelled_as_bytes() -> None:
    texts = ["the cat", "the 7 cats", "7 × 7 e\u0301", "the cat"]
    assert _coverage(TextConfig(vocabulary=151), texts) == Coverage(25, 5, 0)
    spelled = _coverage(TextConfig(vocabulary=331, byte_fallback=True), texts)
    assert spelled == Coverage(25, 0, 5)
    assert str(spelled) == "0 % of the characters are unknown to the vocabulary, 20 % are spelled as bytes"


def test_a_vocabulary_of_words_has_unknown_words() -> None:
    coverage = _coverage(TextConfig(kind="word", vocabulary=151), ["the dog sees the mouse"])
    assert coverage == Coverage(5, 1, 0, "words")
    assert str(coverage) == "20 % of the words are unknown to the vocabulary"


def test_many_different_characters_without_a_piece_are_counted() -> None:
    greek = "".join(map(chr, range(0x391, 0x3A2)))  # 17 letters
    texts = ["the cat", f"the {greek} cat", f"{greek[:3]} the cat", "the cat \U0001f600"]
    assert _coverage(TextConfig(vocabulary=151), texts) == Coverage(45, 21, 0)

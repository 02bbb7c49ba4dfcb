"""Sentences in capital letters, which a model that was trained on ordinary text reads letter by letter."""

from clearhead.text.tokeniser import Tokeniser

_MIN_WORDS, _MIN_LETTERS = 2, 8  # fewer of both may be an abbreviation
_MORE_PIECES = 1.5  # times those of the same sentence in lower case


def without_capitals(text: str, tokeniser: Tokeniser) -> str:
    """Return a sentence in capital letters in lower case, except its first letter.

    Any other text is unchanged, and also one that the vocabulary has, with hardly more pieces than in lower case.
    """
    if not text.isupper():
        return text
    words = [word for word in text.split() if sum(map(str.isupper, word)) > 1]
    if len(words) < _MIN_WORDS and sum(map(str.isupper, text)) < _MIN_LETTERS:
        return text
    lower = text.capitalize()
    pieces, lower_pieces = tokeniser.encode([text, lower])
    is_unusual = len(pieces) > _MORE_PIECES * len(lower_pieces)
    return lower if is_unusual or pieces.count(tokeniser.unk) > lower_pieces.count(tokeniser.unk) else text

"""Models translate a part of a sentence as a whole one: take back the capital and the signs that they add."""

from clearhead.documents.target_tokens import Run
from clearhead.text.aligned import AlignedTranslation

_OPENINGS = {"¿": "?", "¡": "!"}
_ENDS = tuple(".?!…।॥。？！")
CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages whose nouns have a capital anywhere in a sentence


def as_part(run: Run, translation: AlignedTranslation, target_language: str | None = None) -> AlignedTranslation:
    """Return a translation without signs at its edges that its source lacks, if the source has a protected part.

    A fragment that starts with a small letter starts with one in the translation too. The words and their links stay.
    """
    if run.text is None or not (run.is_fragment or run.stand_ins):
        return translation
    words = translation.text.split()
    if not words:
        return translation
    words[0] = _without_opening(run.text, words[0])
    if not run.text.endswith(_ENDS):
        words[-1] = _without_end(words[-1])
    if run.is_fragment and run.text[:1].islower() and target_language not in CAPITAL_NOUNS and words[0].istitle():
        words[0] = words[0][0].lower() + words[0][1:]
    return AlignedTranslation(" ".join(words), translation.links)


def _without_opening(source: str, word: str) -> str:
    while len(word) > 1 and word[0] in _OPENINGS and _OPENINGS[word[0]] not in source and word[0] not in source:
        word = word[1:]
    return word


def _without_end(word: str) -> str:
    while len(word) > 1 and word.endswith(_ENDS):
        word = word[:-1]
    return word

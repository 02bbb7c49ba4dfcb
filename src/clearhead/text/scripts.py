"""The scripts of characters, such as LATIN or BENGALI, and those that each target language is written in.

A model that translates into several languages has the pieces of all of them in one vocabulary. The scripts that occur
in the training text of a language decide which of these pieces its translations can contain.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

_LEAST_SHARE = 0.001  # of the sentences of a language: a script in fewer of them is an error or a quotation
# the beginnings of names of letters and marks that all scripts share
_COMMON = ("COMBINING", "MODIFIER", "MICRO", "VARIATION")


@lru_cache(maxsize=4096)
def script_of(character: str) -> str | None:
    """Return the script of a letter or a mark, as its Unicode name begins; None for characters of all scripts."""
    if _first_word(character) in _COMMON:
        return None
    plain = unicodedata.normalize("NFKC", character)[:1]  # º is an o, and a full-width letter is a letter
    return _first_word(plain) if unicodedata.category(plain)[0] in "LM" else None


def _first_word(character: str) -> str | None:
    return unicodedata.name(character, "").partition(" ")[0] or None


# scripts that are written without spaces between words
UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})


def continues_word(text: str) -> bool:
    """Return whether a text that follows a letter without a space belongs to the same word."""
    is_letter = bool(text) and unicodedata.category(text[0])[0] in "LMN"
    return is_letter and script_of(text[0]) not in UNSPACED


def scripts_of(text: str) -> set[str]:
    """Return the scripts of a text, without the characters that all scripts share."""
    scripts = set(map(script_of, set(text)))
    return {script for script in scripts if script is not None}


class ScriptCounter:
    """Counts the sentences of each language in which a script occurs."""

    def __init__(self) -> None:
        self._num_sentences: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {}

    def add(self, language: str, texts: Iterable[str]) -> None:
        """Count the sentences of a language."""
        counts = self._counts.setdefault(language, Counter())
        for text in texts:
            self._num_sentences[language] += 1
            counts.update(scripts_of(text))

    @property
    def usual(self) -> dict[str, list[str]]:
        """The scripts that occur in at least 0.1 % of the sentences of each language, the most frequent first."""
        return {
            language: [
                script
                for script, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
                if count >= _LEAST_SHARE * self._num_sentences[language]
            ]
            for language, counts in self._counts.items()
        }

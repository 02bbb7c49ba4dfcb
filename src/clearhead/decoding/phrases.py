"""Phrases that a translation must begin with, must hold or must not hold, and glossaries that say so line by line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clearhead.decoding.engines.engine import Use
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints, Phrase
from clearhead.errors import DataError, printable
from clearhead.files.reading import read_file
from clearhead.text.tokeniser import Tokeniser


@dataclass(frozen=True)
class PhraseConstraints:
    """What is asked of every translation, as text; `glossary` says which phrase a word of the source asks for."""

    prefix: str = ""
    forbidden: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)

    @property
    def uses(self) -> tuple[Use, ...]:
        """What an engine must be able to do."""
        named: dict[Use, object] = {
            "prefix": self.prefix,
            "forbidden": self.forbidden,
            "required": self.required or self.glossary,
        }
        return tuple(use for use, asked in named.items() if asked)


class ConstraintEncoder:
    """Phrases in the ids of a target vocabulary, and what they ask of each sentence."""

    def __init__(self, phrases: PhraseConstraints, target: Tokeniser) -> None:
        self.phrases, self._target = phrases, target
        self._prefix = self._ids(phrases.prefix, "--prefix") if phrases.prefix else ()
        self.forbidden = tuple(self._ids(each, "--forbid") for each in phrases.forbidden)
        self._required = tuple(self._ids(each, "--require") for each in phrases.required)
        self._glossary = [
            (_pattern(term), self._ids(wanted, "--glossary")) for term, wanted in _longest_first(phrases.glossary)
        ]

    def _ids(self, text: str, option: str) -> Phrase:
        ids = tuple(self._target.encode([text])[0])
        if not ids or self._target.unk in ids:
            raise DataError(
                f"{option}: the vocabulary of this model cannot spell '{printable(text)}'. "
                "Choose other words, or leave it out."
            )
        return ids

    def constraints(self, source: str, *, is_first: bool = True) -> Constraints:
        """Return what is asked of the translation of a text; only the first part of a line begins with the prefix."""
        if not (self._prefix or self.forbidden or self._required or self._glossary):
            return NO_CONSTRAINTS
        asked = list(self._required if is_first else ())
        rest = source
        for pattern, ids in self._glossary:
            rest, count = pattern.subn("\n", rest)  # so that no shorter term is found inside it
            if count and ids not in asked:
                asked.append(ids)
        return Constraints(self._prefix if is_first else (), self.forbidden, tuple(asked))

    def slips(self, tokens: Sequence[int], text: str) -> list[Phrase]:
        """Return other spellings of forbidden phrases that a translation holds, in pieces not thought of before."""
        found = []
        for phrase in self.phrases.forbidden:
            pattern = _pattern(phrase, is_exact=True)
            if pattern.search(text):
                spans = (
                    tuple(tokens[first : first + size])
                    for size in range(1, len(tokens) + 1)
                    for first in range(len(tokens) - size + 1)
                )
                found += [next(span for span in spans if pattern.search(self._target.decode([span])[0]))]
        return found


def _pattern(term: str, *, is_exact: bool = False) -> re.Pattern[str]:
    """Return what finds a term as whole words; a term in small letters is found in capitals too."""
    flags = re.IGNORECASE if not is_exact and term == term.lower() else re.NOFLAG
    words = r"\s+".join(map(re.escape, term.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", flags)


def _longest_first(glossary: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted(glossary.items(), key=lambda each: -len(each[0]))


def read_glossary(path: str | Path) -> dict[str, str]:
    """Read a glossary: on each line a term of the source, a tab, and what it must become; # begins a remark."""
    shown = printable(str(path))
    try:
        text = read_file(Path(path)).decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise DataError(f"{shown} is not UTF-8 (at byte {wrong.start + 1}). Convert it to UTF-8.") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise DataError(
                f"{shown}:{number}: '{printable(line[:60])}' is not a term, a tab and its translation. "
                "Write each entry as term, tab, translation."
            )
        term, wanted = cells
        if found.get(term, wanted) != wanted:
            raise DataError(
                f"{shown}:{number}: '{printable(term)}' has two translations, '{printable(found[term])}' and "
                f"'{printable(wanted)}'. Keep one of them."
            )
        found[term] = wanted
    return found

"""Phrases that a translation must begin with, must hold or must not hold, and glossaries that say so line by line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clearhead.decoding.engines.engine import Use
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints, Phrase
from clearhead.errors import ConfigError, DataError, printable
from clearhead.files.reading import read_file
from clearhead.text.tokeniser import Tokeniser


@dataclass(frozen=True)
class PhraseConstraints:
    """What every translation must obey, as text; `glossary` maps a term of the source to the phrase it requires."""

    prefix: str = ""
    forbidden: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("forbidden", "required"):
            if isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} takes several phrases, and was given one. Put it into a tuple.")

    @property
    def uses(self) -> tuple[Use, ...]:
        """What an engine must be able to do."""
        phrases_by_use: dict[Use, object] = {
            "prefix": self.prefix,
            "forbidden": self.forbidden,
            "required": self.required or self.glossary,
        }
        return tuple(use for use, phrases in phrases_by_use.items() if phrases)


class ConstraintEncoder:
    """Phrases in the ids of a target vocabulary, and the constraints that they put on each sentence."""

    def __init__(self, phrases: PhraseConstraints, target: Tokeniser) -> None:
        self.phrases, self._target = phrases, target
        self._prefix = self._ids(phrases.prefix, "prefix", "prefix") if phrases.prefix else ()
        self.forbidden = tuple(self._ids(phrase, "forbidden phrase", "forbidden") for phrase in phrases.forbidden)
        self._required = tuple(self._ids(phrase, "required phrase", "required") for phrase in phrases.required)
        self._glossary = [
            (_pattern(term), self._ids(translation, "glossary", "glossary"))
            for term, translation in _longest_first(phrases.glossary)
        ]

    def _ids(self, text: str, kind: str, option: str) -> Phrase:
        ids = tuple(self._target.encode([text])[0])
        if not ids or self._target.unk in ids:
            raise DataError(
                f"{kind}: the vocabulary of this model cannot spell '{printable(text)}'. "
                "Choose other words, or leave it out.",
                options=(option,),
            )
        return ids

    def constraints(self, source: str, *, is_first: bool = True) -> Constraints:
        """Return the constraints on the translation of a text; only the first part of a line gets the prefix."""
        if not (self._prefix or self.forbidden or self._required or self._glossary):
            return NO_CONSTRAINTS
        required = list(self._required if is_first else ())
        rest = source
        for pattern, ids in self._glossary:
            rest, count = pattern.subn("\n", rest)  # so that no shorter term matches inside it
            if count and ids not in required:
                required.append(ids)
        return Constraints(self._prefix if is_first else (), self.forbidden, tuple(required))

    def other_spellings(self, tokens: Sequence[int], text: str) -> list[Phrase]:
        """Return spellings of forbidden phrases in a translation that are cut into other pieces than expected."""
        spellings = []
        for phrase in self.phrases.forbidden:
            pattern = _pattern(phrase, is_exact=True)
            if pattern.search(text):
                spans = (
                    tuple(tokens[first : first + size])
                    for size in range(1, len(tokens) + 1)
                    for first in range(len(tokens) - size + 1)
                )
                spellings += [next(span for span in spans if pattern.search(self._target.decode([span])[0]))]
        return spellings


def _pattern(term: str, *, is_exact: bool = False) -> re.Pattern[str]:
    """Return a pattern for a term as whole words; a term in lower case matches upper case too."""
    flags = re.IGNORECASE if not is_exact and term == term.lower() else re.NOFLAG
    words = r"\s+".join(map(re.escape, term.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", flags)


def _longest_first(glossary: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted(glossary.items(), key=lambda entry: -len(entry[0]))


def read_glossary(path: str | Path) -> dict[str, str]:
    """Read a glossary: on each line a term of the source, a tab, and its translation; # begins a comment."""
    shown = printable(str(path))
    try:
        text = read_file(Path(path)).decode("utf-8-sig")
    except UnicodeDecodeError as wrong:
        raise DataError(f"{shown} is not UTF-8 (at byte {wrong.start + 1}). Convert it to UTF-8.") from None
    glossary: dict[str, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise DataError(
                f"{shown}:{number}: '{printable(line[:60])}' is not a term, a tab and its translation. "
                "Write each entry as term, tab, translation."
            )
        term, translation = cells
        if glossary.get(term, translation) != translation:
            raise DataError(
                f"{shown}:{number}: '{printable(term)}' has two translations, '{printable(glossary[term])}' and "
                f"'{printable(translation)}'. Keep one of them."
            )
        glossary[term] = translation
    return glossary

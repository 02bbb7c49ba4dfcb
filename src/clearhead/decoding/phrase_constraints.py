"""Constraints as text: a prefix, forbidden phrases, required phrases, and glossaries of term translations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clearhead.decoding.engines.engine import Use
from clearhead.decoding.search.constraints import NO_CONSTRAINTS, Constraints, Phrase
from clearhead.errors import ConfigError, DataError, printable
from clearhead.files.reading import read_file
from clearhead.text.tokeniser import Tokeniser


@dataclass(frozen=True)
class PhraseConstraints:
    """Constraints on every translation; `glossary` maps a source term to the phrase required in the translation."""

    prefix: str = ""
    forbidden: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    glossary: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("forbidden", "required"):
            if isinstance(getattr(self, name), str):
                raise ConfigError(f"{name} must be a tuple of phrases, not a single string. Put the phrase in a tuple.")
        required = {"prefix": [self.prefix], "required": self.required, "glossary": self.glossary.values()}
        for option, phrases in required.items():
            for phrase in phrases:
                self._refuse_forbidden(phrase, option)

    def _refuse_forbidden(self, phrase: str, option: str) -> None:
        """Raise ConfigError if a required phrase contains a forbidden one, so that no translation satisfies both."""
        for forbidden in self.forbidden:
            if forbidden.strip() and _pattern(forbidden, is_exact=True).search(phrase):
                fact = "is" if forbidden == phrase else f"contains '{printable(forbidden)}', which is"
                raise ConfigError(
                    f"'{printable(phrase)}' must be in translations, but {fact} forbidden. Remove one of them.",
                    options=("forbidden", option),
                )

    @property
    def uses(self) -> tuple[Use, ...]:
        """The features that an engine must support."""
        phrases_by_use: dict[Use, object] = {
            "prefix": self.prefix,
            "forbidden": self.forbidden,
            "required": self.required or self.glossary,
        }
        return tuple(use for use, phrases in phrases_by_use.items() if phrases)


class ConstraintEncoder:
    """Encodes phrases with a target vocabulary, and returns the constraints on each sentence."""

    def __init__(self, phrases: PhraseConstraints, target: Tokeniser) -> None:
        self._target = target
        self._prefix = self._ids(phrases.prefix, "prefix", "prefix") if phrases.prefix else ()
        self._forbidden = tuple(self._ids(phrase, "forbidden phrase", "forbidden") for phrase in phrases.forbidden)
        self._forbidden_patterns = [_pattern(phrase, is_exact=True) for phrase in phrases.forbidden]
        self._required = tuple(self._ids(phrase, "required phrase", "required") for phrase in phrases.required)
        self._glossary = [
            (_pattern(term), self._ids(translation, "glossary", "glossary"))
            for term, translation in _longest_first(phrases.glossary)
        ]

    def _ids(self, text: str, kind: str, option: str) -> Phrase:
        ids = tuple(self._target.encode([text])[0])
        if not ids or self._target.unk in ids:
            raise DataError(
                f"{kind}: the vocabulary of this model cannot spell '{printable(text)}'. Use other words or remove it.",
                options=(option,),
            )
        return ids

    def constraints(self, source: str, *, is_first: bool = True) -> Constraints:
        """Return the constraints on the translation of `source`; only the first part of a line gets the prefix."""
        if not (self._prefix or self._forbidden or self._required or self._glossary):
            return NO_CONSTRAINTS
        required = list(self._required if is_first else ())
        rest = source
        for pattern, ids in self._glossary:
            rest, count = pattern.subn("\n", rest)  # removed, so that no shorter term matches inside it
            if count and ids not in required:
                required.append(ids)
        return Constraints(
            self._prefix if is_first else (),
            self._forbidden,
            tuple(required),
            continuing=self._target.continuing_pieces if required else (),
        )

    def has_forbidden(self, text: str) -> bool:
        """Return whether a translation has a forbidden phrase: in other tokens than those that the search avoids."""
        return any(pattern.search(text) for pattern in self._forbidden_patterns)


def _pattern(term: str, *, is_exact: bool = False) -> re.Pattern[str]:
    """Return a pattern that matches a term as complete words; a lower-case term also matches upper case."""
    flags = re.IGNORECASE if not is_exact and term == term.lower() else re.NOFLAG
    words = r"\s+".join(map(re.escape, term.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", flags)


def _longest_first(glossary: Mapping[str, str]) -> list[tuple[str, str]]:
    return sorted(glossary.items(), key=lambda entry: -len(entry[0]))


def read_glossary(path: str | Path) -> dict[str, str]:
    """Read a glossary: on each line a source term, a tab and its translation; lines that start with # are comments."""
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
                f"{shown}:{number}: '{printable(line[:60])}' is not a glossary entry. "
                "Write a term, a tab and its translation."
            )
        term, translation = cells
        if glossary.get(term, translation) != translation:
            raise DataError(
                f"{shown}:{number}: '{printable(term)}' has two translations, '{printable(glossary[term])}' and "
                f"'{printable(translation)}'. Keep one of them."
            )
        glossary[term] = translation
    return glossary

"""The exceptions that clearhead raises for people to read.

    ClearheadError            anything a user can put right; the command line prints it and exits with 2
    ├── CheckpointError       a model's files that are missing, damaged, or do not fit together
    ├── ConfigError           a setting that is unknown, or does not fit the others
    ├── DataError             sentences or ids that a model cannot read
    ├── ProblemError          a problem file or value that cannot be worked
    ├── RunError              a run folder that is taken, in use, or not what was asked for
    └── TraceError            a trace that is broken, or cannot be had

An inner function states the fact; the public edge adds the file or the field it came from. No message names a flag:
an error carries the names of the parameters that the reader can change, and the command line adds their flags.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Self

Options = Sequence[str] | Mapping[str, str]

_MAX_TOLD = 20  # more mistakes than this are counted, not listed
_JOINERS = "\u200c\u200d"  # they shape Indic scripts and emoji, and are harmless


@dataclass(frozen=True)
class Mistake:
    """One thing wrong: a sentence about it, and the dotted paths it concerns, first the one where it is reported."""

    paths: tuple[str, ...]
    sentence: str

    @property
    def path(self) -> str:
        """Where it is reported; empty where it concerns no single setting."""
        return self.paths[0] if self.paths else ""

    def concerns(self, path: str) -> bool:
        """Whether it depends on what stands at a path."""
        return any(own == path or own.startswith(f"{path}.") for own in self.paths)


class ClearheadError(Exception):
    """Say what is wrong, where, what was given, what is allowed and what to do.

    `options` names the parameters that the reader can change: several to choose from, or, as a mapping, those to
    change together with their values (an empty value switches a parameter on). The command line adds their flags.
    """

    def __init__(self, message: str, *, options: Options = ()) -> None:
        self.options: Options = dict(options) if isinstance(options, Mapping) else tuple(options)
        super().__init__(message)


class _MistakesError(ClearheadError):
    """An error that reports everything wrong at once: `details` has each mistake with its paths, where it has any.

    `mistakes` holds the sentence of each.
    """

    def __init__(self, mistakes: str | Sequence[str | Mistake], *, options: Options = ()) -> None:
        entries = (mistakes,) if isinstance(mistakes, str) else tuple(mistakes)
        self.details = tuple(Mistake((), entry) if isinstance(entry, str) else entry for entry in entries)
        self.mistakes = tuple(mistake.sentence for mistake in self.details)
        more = len(self.mistakes) - _MAX_TOLD
        tail = [f"… and {more} more mistakes."] if more > 0 else []
        super().__init__("\n".join([*self.mistakes[:_MAX_TOLD], *tail]), options=options)

    def located(self, place: str) -> Self:
        """Return the same error with `place: ` before every sentence."""
        located = [replace(mistake, sentence=f"{place}: {mistake.sentence}") for mistake in self.details]
        return type(self)(located, options=self.options)


class ProblemError(_MistakesError):
    """A problem that cannot be worked."""


class ConfigError(_MistakesError):
    """Settings that are unknown, or that do not fit each other."""


class CheckpointError(ClearheadError):
    """A model's files that are missing, damaged or of another kind, or a model that a format cannot hold."""


class DataError(ClearheadError):
    """Sentences, ids or labels that do not fit each other or the model."""


class RunError(ClearheadError):
    """A run folder that is taken, in use by another process, or not what was asked for."""


class TraceError(ClearheadError):
    """A trace whose chain is broken, or that was asked for something it does not hold."""


def printable(text: str) -> str:
    """Make control characters visible, so that a name cannot move the cursor, colour the screen or turn text around."""
    return "".join(
        letter.encode("unicode_escape").decode("ascii")
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and letter not in _JOINERS
        else letter
        for letter in text
    )


def closest_match(word: str, choices: Iterable[str]) -> str | None:
    """Return the nearest of `choices` in spelling, or None where none is near."""
    spellings = {choice.lower(): choice for choice in choices}
    matches = get_close_matches(word.lower(), spellings, n=1, cutoff=0.6)
    return spellings[matches[0]] if matches else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest of `choices`, or an empty string."""
    match = closest_match(word, choices)
    return "" if match is None else f" Did you mean '{match}'?"

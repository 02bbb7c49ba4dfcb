"""The exceptions of clearhead, with messages written for users.

    ClearheadError            anything a user can correct; the command line prints it and exits with 2
    ├── CheckpointError       files of a model that are missing or damaged, or do not belong together
    ├── ConfigError           a setting that is unknown, or contradicts the others
    ├── DataError             sentences or ids that a model cannot read
    ├── ProblemError          a problem file or value that cannot be used
    ├── QuizError             a practice sheet that does not exist or cannot be drawn
    ├── RunError              a run folder that exists already, is in use, or is not the requested one
    └── TraceError            a trace that is broken or unavailable

An inner function states the fact; the public function adds the file or the field. No message names a command-line flag:
an error carries the names of the parameters that the user can change, and the command line adds their flags.
"""

import errno
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import islice
from typing import Self

Options = Sequence[str] | Mapping[str, str]

_MAX_LISTED = 20  # further mistakes are only counted
# In the messages of torch, CUDA, C++, oneDNN, and the loader of shared libraries.
_MEMORY_CLUES = (
    "allocate memory",
    "out of memory",
    "bad_alloc",
    "could not create a primitive",
    "failed to map segment",
)
_MAX_COMPARED = 200  # characters of a word, and of a choice, whose spellings are compared
_MAX_CHOICES = 10_000  # further choices are not compared
_JOINERS = "\u200c\u200d"  # needed by Indic scripts and emoji, and harmless


@dataclass(frozen=True)
class Mistake:
    """One mistake: a sentence, and the dotted paths of the settings it concerns; it is reported at the first path."""

    paths: tuple[str, ...]
    sentence: str

    @property
    def path(self) -> str:
        """The path where it is reported; empty if it concerns no single setting."""
        return self.paths[0] if self.paths else ""

    def concerns(self, path: str) -> bool:
        """Return whether it concerns the setting at a path, or one below it."""
        return any(own == path or own.startswith(f"{path}.") for own in self.paths)


class ClearheadError(Exception):
    """An error whose message says what is wrong, where, what was given, what is allowed and what to do.

    `options` names the parameters that the user can change. A sequence lists alternatives; a mapping gives parameters
    to set together, with their values (an empty value switches a parameter on). The command line adds their flags.
    """

    def __init__(self, message: str, *, options: Options = ()) -> None:
        self.options: Options = dict(options) if isinstance(options, Mapping) else tuple(options)
        super().__init__(message)


class _MistakesError(ClearheadError):
    """An error that reports all mistakes together.

    `details` holds each mistake with its paths, if it has any; `mistakes` holds only the sentences.
    """

    def __init__(self, mistakes: str | Sequence[str | Mistake], *, options: Options = ()) -> None:
        entries = (mistakes,) if isinstance(mistakes, str) else tuple(mistakes)
        self.details = tuple(Mistake((), entry) if isinstance(entry, str) else entry for entry in entries)
        self.mistakes = tuple(mistake.sentence for mistake in self.details)
        more = len(self.mistakes) - _MAX_LISTED
        tail = [f"… and {more} more mistakes."] if more > 0 else []
        super().__init__("\n".join([*self.mistakes[:_MAX_LISTED], *tail]), options=options)

    def located(self, place: str) -> Self:
        """Return the same error with `place: ` in front of every sentence."""
        located = [replace(mistake, sentence=f"{place}: {mistake.sentence}") for mistake in self.details]
        return type(self)(located, options=self.options)


class ProblemError(_MistakesError):
    """A problem that cannot be used."""


class ConfigError(_MistakesError):
    """Settings that are unknown, or that contradict each other."""


class CheckpointError(ClearheadError):
    """Files of a model that are missing, damaged or of another kind, or a model that a format cannot represent."""


class DataError(ClearheadError):
    """Sentences, ids or labels that do not match each other or the model."""


class QuizError(ClearheadError):
    """A practice sheet, or the number of one, that does not exist, or settings that no sheet can meet."""


class RunError(ClearheadError):
    """A run folder that exists already, is in use by another process, or is not the requested one."""


class TraceError(ClearheadError):
    """A trace whose chain is broken, or that does not contain what was requested."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python, torch or CTranslate2 says that memory ran out, on a CPU or a GPU.

    On a CPU torch and CTranslate2 raise a RuntimeError that only its text tells from others.
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError | ImportError) and any(clue in str(error) for clue in _MEMORY_CLUES)


def printable(text: str) -> str:
    """Escape control characters, so that a name cannot move the cursor, colour the screen or reverse the text."""
    return "".join(
        letter.encode("unicode_escape").decode("ascii")
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and letter not in _JOINERS
        else letter
        for letter in text
    )


def not_installed(user: str, package: str, extra: str) -> str:
    """Return the message for a missing package, with the command that installs it as part of an extra of clearhead."""
    return f"{user} needs {package}, which is not installed. Run pip install '.[{extra}]' in a clone of clearhead."


def closest_match(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice with the most similar spelling, or None if none is similar."""
    if len(word) > _MAX_COMPARED:
        return None
    some = islice((choice for choice in choices if len(choice) <= _MAX_COMPARED), _MAX_CHOICES)
    spellings = {choice.lower(): choice for choice in some}
    matches = get_close_matches(word.lower(), spellings, n=1, cutoff=0.6)
    return spellings[matches[0]] if matches else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" with the closest match in `choices`, or an empty string."""
    match = closest_match(word, choices)
    return "" if match is None else f" Did you mean '{match}'?"

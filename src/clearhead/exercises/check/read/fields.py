"""What a working says about itself beside its numbers: the exercise, the sheet, the student, the decimal separator."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.check.working import Note, NumberedSheet
from clearhead.errors import Options, ProblemError, did_you_mean
from clearhead.exercises.check.read.number import visible
from clearhead.exercises.check.read.problem_source import is_problem_file, load_named_problem
from clearhead.exercises.check.read.sheet_number import ProblemSources
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import gallery

KEYS = ("problem", "sheet", "written", "rounded", "student", "title", "decimal")
_MAX_HINTS = 100  # unknown keys for which a similar one is searched


class Fields:
    """The keys of a working other than its lines; all errors are collected in `mistakes`."""

    def __init__(self, data: Mapping[str, Any], mistakes: list[str]) -> None:
        stated = data.get("exercise")  # `Exercise: ID`, as our own forms print it; other words there are a title
        named = {"problem": stated} if stated in gallery() and not {"problem", "sheet"} & set(data) else {}
        self.data = {key: value for key, value in data.items() if key != "exercise"} | named
        self.notes: list[Note] = []
        self.problem_file = ""  # the file that the problem of the working was read from
        self.options: Options = ()  # the parameters with which a sheet can be found
        self.sheet: NumberedSheet | None = None  # the practice sheet that the problem belongs to
        self._mistakes = mistakes

    def problem(self, sources: ProblemSources, *, is_needed: bool) -> Mapping[str, Any]:
        """Return the problem of the working: the given one, or the one that the working names or contains."""
        others = {key: value for key, value in self.data.items() if key not in KEYS}
        expected, own = sources.problem, None
        if "sheet" in self.data:
            self._refuse(others, "beside sheet and written")
            return self._problem_of_sheet(sources)
        if "problem" in self.data:
            own = self._named_problem(expected, sources.folder)
            self._refuse(others, "beside problem and written")
        elif "kind" in others or "parts" in others:
            own = {**({"title": self.data["title"]} if "title" in self.data else {}), **others}
        elif others:
            missing = "of a working, and the key 'kind' of a problem is missing"
            self._refuse(others, "of a working" if expected else missing)
            own = expected or {}
        if own is None and expected is None and is_needed:
            self._mistakes.append(
                "problem is missing. Add 'sheet:' with the number of a practice sheet, 'problem:' with a gallery id or "
                "a file, or the keys of the problem itself beside 'written'."
            )
        if expected is not None and own is not None and own != expected:
            named = shorten(self.data["problem"]) if "problem" in self.data else "the one it contains"
            sentence = f"The working names a different problem ({visible(named)}). It was marked against the given one."
            self.notes.append(Note("warning", sentence))
        return expected if expected is not None else own or {}

    def _problem_of_sheet(self, sources: ProblemSources) -> Mapping[str, Any]:
        """Return the problem of the sheet whose number the working has."""
        if "problem" in self.data:
            self._mistakes.append("sheet and problem are both there, and each of them names a problem. Remove one.")
            return {}
        try:
            self.sheet = self._numbered(self.data["sheet"], sources)
        except ProblemError as wrong:
            self._mistakes += wrong.mistakes
            self.options = wrong.options
            return {}
        return (sources.problem or {}) if self.sheet is None else self.sheet.problem

    def _numbered(self, number: Any, sources: ProblemSources) -> NumberedSheet | None:
        """Return the sheet with a number; None, with a note if the two differ, where another problem was given."""
        if sources.problem is None or sources.is_default:
            return sources.sheet(number)
        try:
            is_same = sources.sheet(number).problem == sources.problem
        except ProblemError:
            is_same = False
        if not is_same:
            sentence = f"The working names sheet {visible(shorten(number))}. It was marked against the given problem."
            self.notes.append(Note("warning", sentence))
        return None

    def _named_problem(self, expected: Mapping[str, Any] | None, folder: Path | None) -> Mapping[str, Any]:
        """Return the problem under `problem`; where another one was given, a name that cannot be used is only noted."""
        name = self.data["problem"]
        try:
            own = load_named_problem(name, folder)
        except ProblemError as wrong:
            if expected is None:
                self._mistakes += wrong.mistakes
                return {}
            self.notes.append(Note("warning", f"{visible(wrong.mistakes[0])} It was marked against the given problem."))
            return expected
        if expected is None and folder is not None and is_problem_file(name):
            self.problem_file = shorten(name)
        return own

    def _refuse(self, keys: Mapping[str, Any], where: str) -> None:
        for number, key in enumerate(keys):
            name = visible(str(key))
            near = did_you_mean(name, KEYS) if number < _MAX_HINTS else ""
            self._mistakes.append(f"'{name}' is not a key {where}.{near} Keys: {', '.join(KEYS)}.")

    def text(self, key: str) -> str:
        """Return a title or the name of a student."""
        value = self.data.get(key)
        if value is None or isinstance(value, str | int | float):
            return "" if value is None else visible(str(value)).strip()
        self._mistakes.append(f"{key} = {shorten(value)} is not text. Write it on one line.")
        return ""

    def rounded(self) -> tuple[str, ...]:
        """Return the names of the given matrices with rounded numbers."""
        value = self.data.get("rounded")
        names = re.split(r"[\s,;]+", value.strip()) if isinstance(value, str) else value
        if names is None:
            return ()
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            self._mistakes.append(f"rounded = {shorten(value)} is not a list of names. Write it as [W_Q, W_K].")
            return ()
        return tuple(visible(name) for name in names if name)

    def has_decimal_comma(self) -> bool:
        """Return whether the comma is the decimal separator."""
        value = self.data.get("decimal", "point")
        word = value.strip().casefold() if isinstance(value, str) else ""
        if word not in ("comma", "point"):
            near = did_you_mean(word, ("comma", "point"))
            self._mistakes.append(f"decimal = {shorten(value)} must be comma or point.{near}")
        return word == "comma"

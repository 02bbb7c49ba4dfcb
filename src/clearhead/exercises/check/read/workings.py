"""Load workings: a file is read into a page, its exercise is found, and the page is placed on its sheet."""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from clearhead.check.working import Note, Working
from clearhead.errors import ClearheadError, ProblemError, did_you_mean
from clearhead.exercises.check.read.data import page_of_data
from clearhead.exercises.check.read.fields import Fields
from clearhead.exercises.check.read.givens import PageExercise, exercises_of, problem_of
from clearhead.exercises.check.read.lines import lines_of
from clearhead.exercises.check.read.number import visible
from clearhead.exercises.check.read.page import Page
from clearhead.exercises.check.read.problem_source import load_given_problem, load_named_problem
from clearhead.exercises.check.read.reading import SUFFIXES, read_page
from clearhead.exercises.check.read.sheet_number import ProblemSources, SheetLookup
from clearhead.files.reading import UnreadableFileError, read_bounded
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import MAX_BYTES, parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet

_IS_WORKSHEET = re.compile(rb'\s*\{\s*"(?:clearhead|format)"\s*:').match
Source = str | Path | Mapping[str, Any]


def load_workings(
    source: Source, problem: Source | None = None, sheets: SheetLookup | None = None, *, is_default: bool = False
) -> list[Working | Worksheet]:
    """Return the workings in a file, in a built-in example, or in plain data; `-` reads standard input.

    A given `problem` takes precedence over the one that the working names; a note reports any difference. `sheets`
    finds the problem of a practice sheet by the number that a working has under `sheet`; if `problem` only
    `is_default`, the sheet takes precedence over it.
    """
    problem_data = None if problem is None else load_given_problem(problem)
    sources = ProblemSources(problem_data, Path(), sheets, is_default)
    if isinstance(source, Mapping):
        return [*_workings_of(page_of_data(source), sources)]
    name = str(source)
    try:
        content, folder = _content(name)
        is_shipped = name in shipped_workings() and not Path(name).exists()
        shown = f"{name}.yaml" if is_shipped else name
        return _read_content(content, shown, replace(sources, folder=folder))
    except OSError as wrong:
        raise ProblemError(f"{shorten(name)} cannot be read: {wrong.strerror}.") from None
    except ProblemError as wrong:
        raise wrong.located(shown_name(name)) from None


def read_workings(
    content: bytes, suffix: str, problem: Source | None = None, sheets: SheetLookup | None = None
) -> list[Working | Worksheet]:
    """Return the workings in the content of a file with this suffix; no file is opened.

    A working can name a gallery exercise as its problem, but no file. `problem` is plain data or a gallery id.
    """
    if problem is not None and not isinstance(problem, Mapping):
        problem = load_named_problem(problem, None)
    return _read_content(content, f"working{suffix}", ProblemSources(problem, None, sheets))


def shown_name(source: str | Path) -> str:
    """Return the name of a working for messages."""
    return "standard input" if str(source) == "-" else visible(str(source))


def shipped_workings() -> dict[str, Traversable]:
    """Return the built-in workings by id."""
    folder = files("clearhead.check") / "workings"
    paths = [path for path in folder.iterdir() if path.name.endswith(".yaml")] if folder.is_dir() else []
    return {path.name.removesuffix(".yaml"): path for path in sorted(paths, key=lambda path: path.name)}


def _content(name: str) -> tuple[bytes, Path]:
    """Return the content of a working, and the folder of the files that it names."""
    if not name or "\0" in name:
        raise ProblemError(
            "is not the name of a working. Give a file, the name of a built-in example, or - for standard input."
        )
    if name == "-":
        if sys.stdin is None:
            raise ProblemError("is closed. Give a file instead of -.")
        return sys.stdin.buffer.read(MAX_BYTES + 1), Path()
    path = Path(name)
    if name in shipped_workings() and not path.exists():
        return shipped_workings()[name].read_bytes(), Path()
    if path.is_dir():
        raise ProblemError("is a folder. Name one file in it; clearhead.check.classroom.mark_class marks a class.")
    if not path.exists():
        raise ProblemError(f"there is no such file and no built-in example with that name.{_nearest(path)}")
    try:
        return read_bounded(path, MAX_BYTES), path.parent
    except UnreadableFileError as wrong:
        too_long = f"has {(wrong.size or 0) / 2**20:.0f} MiB; the limit is {MAX_BYTES // 2**20} MiB"
        raise ProblemError(f"{too_long}. Give the lines of one working only." if wrong.size else f"{wrong}.") from None


def _nearest(path: Path) -> str:
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    names = {neighbour.name for neighbour in beside if neighbour.suffix in SUFFIXES} | set(shipped_workings())
    return did_you_mean(path.name, names) or did_you_mean(path.stem, names)


def _read_content(content: bytes, name: str, sources: ProblemSources) -> list[Working | Worksheet]:
    if _IS_WORKSHEET(content):
        return [_worksheet(content, sources.problem)]
    page = read_page(content, name)
    return [_worksheet(content, sources.problem)] if "clearhead" in page.fields else [*_workings_of(page, sources)]


def _worksheet(content: bytes, problem: Mapping[str, Any] | None) -> Worksheet:
    try:
        worksheet = Worksheet.from_json(content)
        if problem is not None:
            _check_same_problem(worksheet, problem)
        return worksheet
    except ClearheadError as wrong:
        raise ProblemError(str(wrong)) from None
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError) as wrong:
        raise ProblemError(
            f"is not a readable worksheet ({type(wrong).__name__}). Solve the problem again and save it as JSON."
        ) from None


def _check_same_problem(worksheet: Worksheet, problem: Mapping[str, Any]) -> None:
    """Raise an error for a worksheet of another problem; marked against its own data, it would earn full marks."""
    import numpy as np

    expected = solve(parse_problem(problem), Rounding())
    own, theirs = expected.trace.givens, worksheet.trace.givens
    other = [name for name in own if name not in theirs or not np.array_equal(own[name].value, theirs[name].value)]
    steps = [
        [(record.step.name, record.where, record.symbol) for record in sheet.trace] for sheet in (expected, worksheet)
    ]
    if other or steps[0] != steps[1]:
        differs = f"its {', '.join(other[:5])} differ" if other else "its lines differ"
        raise ProblemError(
            f"is a worksheet for a different problem than the given one: {differs}. Solve the given problem."
        )


def _workings_of(page: Page, sources: ProblemSources) -> list[Working]:
    """Return the workings of a page: one for the exercise that is known, or one for each that it states itself."""
    mistakes: list[str] = []
    fields = Fields(page.fields, mistakes)
    problem = fields.problem(sources, is_needed=page.is_working_file)
    rounded, has_comma = fields.rounded(), fields.has_decimal_comma()
    title, student = fields.text("title"), fields.text("student")
    mistakes += page.mistakes
    if mistakes:
        raise ProblemError(mistakes, options=fields.options)
    if problem or page.is_working_file:
        lines = lines_of(page, worksheet_of_problem(problem))
        return [
            Working(
                problem=problem,
                lines=lines.lines,
                title=title or visible(str(problem.get("title") or "")),
                student=student,
                rounded=rounded,
                has_decimal_comma=has_comma,
                notes=(*fields.notes, *lines.notes),
                problem_file=fields.problem_file,
                sheet=fields.sheet,
            )
        ]
    return _stated_workings(page, student, has_comma=has_comma)


def _stated_workings(page: Page, student: str, *, has_comma: bool) -> list[Working]:
    """Return a working for each exercise whose givens are on the page."""
    workings: list[Working] = []
    problems: list[Mapping[str, Any]] = []
    for number, exercise in enumerate(exercises_of(page.blocks)):
        problem = problem_of(exercise, problems)
        problems += [problem] if problem else []
        own = replace(page, blocks=tuple(exercise.blocks), unread=page.unread if number == 0 else (), remarks=())
        lines = lines_of(own, worksheet_of_problem(problem))
        notes = (*(Note("read", remark) for remark in page.remarks), *lines.notes)
        if not problem:
            notes = (*notes, _unknown_problem(exercise))
        titled = {**problem, "title": exercise.title} if problem and exercise.title else problem
        workings.append(Working(titled, lines.lines, exercise.title, student, (), has_comma, notes, is_inferred=True))
    return workings


def _unknown_problem(exercise: PageExercise) -> Note:
    stated = f"only {', '.join(exercise.givens)} found" if exercise.givens else "no given matrices were found"
    sentence = f"the problem could not be determined from this page: {stated}. Give the problem separately"
    return Note("warning", sentence)


def worksheet_of_problem(problem: Mapping[str, Any]) -> Worksheet | None:
    """Return the solved problem in its default convention; None if it cannot be solved as it stands."""
    if not problem:
        return None
    try:
        return solve(parse_problem(problem), Rounding())
    except (ProblemError, ArithmeticError):
        return None

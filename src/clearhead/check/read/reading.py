"""Read workings from YAML, JSON, tables, spreadsheets and documents, within limits; all errors are reported together.

Numbers keep their text from the file until they are marked, because 0.50 is more precise than 0.5.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from clearhead.check.limits import MAX_VALUES, MAX_WORKING_BYTES
from clearhead.check.read.number import visible
from clearhead.check.read.problem_source import is_problem_file, load_given_problem, load_named_problem
from clearhead.check.read.sheet_number import ProblemSources, SheetLookup, sheet_on_page, without_sentences
from clearhead.check.read.student_name import student_on_page
from clearhead.check.read.written import WrittenReader
from clearhead.check.working import Note, NumberedSheet, Working
from clearhead.errors import ClearheadError, Options, ProblemError, did_you_mean
from clearhead.files.reading import UnreadableFileError, read_bounded, utf8_text
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import MAX_BYTES, read_data
from clearhead.worksheet.worksheet import Worksheet

KEYS = ("problem", "sheet", "written", "rounded", "student", "title", "decimal")
DATA, TABLES, BOOKS = (".yaml", ".yml", ".json"), (".csv", ".tsv"), (".xlsx", ".xlsm")
DOCUMENTS = (".md", ".markdown", ".tex", ".txt", ".html", ".htm")
_MAX_HINTS = 100  # unknown keys for which a similar one is searched
_SHEET = re.compile(rb'\s*\{\s*"clearhead"\s*:').match
_HAS_WRITTEN = re.compile(rb"^[\"']?written[\"']?\s*:", re.MULTILINE).search
_IS_TABLE = re.compile(
    rb"(?:\xef\xbb\xbf)?[\s,;]*\"?(?:problem|sheet|student|title|decimal|rounded)\"?[ ]*[,;\t]", re.IGNORECASE
).match
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
        return [_read_working(source, sources)]
    name = str(source)
    shown = shown_name(name)
    try:
        content, folder = _content(name)
        return _read_content(content, name, replace(sources, folder=folder))
    except OSError as wrong:
        raise ProblemError(f"{shorten(name)} cannot be read: {wrong.strerror}.") from None
    except ProblemError as wrong:
        raise wrong.located(shown) from None


def read_workings(
    content: bytes, suffix: str, problem: Source | None = None, sheets: SheetLookup | None = None
) -> list[Working | Worksheet]:
    """Return the workings in the content of a file with this suffix; no file is opened.

    A working can name a gallery exercise as its problem, but no file. `problem` is plain data or a gallery id.
    """
    if problem is not None and not isinstance(problem, Mapping):
        problem = load_named_problem(problem, None)
    return _read_content(_bounded(content), f"working{suffix}", ProblemSources(problem, None, sheets))


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
        return _bounded(sys.stdin.buffer.read(MAX_BYTES + 1)), Path()
    path = Path(name)
    if name in shipped_workings() and not path.exists():
        return shipped_workings()[name].read_bytes(), Path()
    if path.is_dir():
        raise ProblemError("is a folder. Name one file in it; clearhead.check.classroom.mark_class marks a class.")
    if not path.exists():
        raise ProblemError(f"there is no such file and no built-in example with that name.{_nearest(path)}")
    return _bounded(_read_file(path)), path.parent


def _read_file(path: Path) -> bytes:
    try:
        return read_bounded(path, MAX_BYTES)
    except UnreadableFileError as wrong:
        raise ProblemError(_too_long(wrong.size) if wrong.size else f"{wrong}.") from None


def _nearest(path: Path) -> str:
    endings = (*DATA, *TABLES, *BOOKS, *DOCUMENTS)
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    names = {neighbour.name for neighbour in beside if neighbour.suffix in endings} | set(shipped_workings())
    return did_you_mean(path.name, names) or did_you_mean(path.stem, names)


def _bounded(content: bytes) -> bytes:
    if len(content) > MAX_BYTES:
        raise ProblemError(_too_long(len(content)))
    if not content.strip():
        raise ProblemError("is empty. Write a problem and, under 'written:', the lines of the working.")
    return content


def _too_long(size: int, limit: int = MAX_BYTES) -> str:
    return f"has {size / 2**20:.0f} MiB; the limit is {limit // 2**20} MiB. Give the lines of one working only."


def _read_content(content: bytes, name: str, sources: ProblemSources) -> list[Working | Worksheet]:
    suffix, notes = Path(name).suffix.lower(), []
    if name in shipped_workings() and not Path(name).exists():
        suffix = ".yaml"
    if suffix not in (*DATA, *TABLES, *BOOKS, *DOCUMENTS):
        suffix = _guessed_suffix(content)
        kinds = {
            ".yaml": "a working file",
            ".csv": "a table",
            ".xlsx": "a spreadsheet",
            ".md": "a document",
        }
        kind = kinds[suffix]
        notes = [Note("read", f"The file name does not show the format, so the file was read as {kind}.")]
    workings_read: list[Working | Worksheet]
    if suffix in DATA:
        if _SHEET(content):
            return [_sheet(content, sources.problem)]
        data = read_data(_few_values(content), "written")
        workings_read = [_sheet(content, sources.problem) if "clearhead" in data else _read_working(data, sources)]
    elif len(content) > MAX_WORKING_BYTES:
        raise ProblemError(_too_long(len(content), MAX_WORKING_BYTES))
    elif suffix in (*TABLES, *BOOKS):
        workings_read = [_read_table(content, name, suffix, sources)]
    else:
        workings_read = [*_read_page(_decoded(content), name, sources)]
    return [
        replace(working, notes=(*notes, *working.notes)) if isinstance(working, Working) else working
        for working in workings_read
    ]


def _read_page(text: str, name: str, sources: ProblemSources) -> list[Working]:
    """Return the workings of a document; with the number of a sheet, one working for the problem of that sheet."""
    from clearhead.check.read.document import read_document

    page, notes = sheet_on_page(text), list[Note]()
    if not page.number:
        workings = read_document(text, sources.problem, name=visible(name))
        return [replace(working, is_inferred=sources.problem is None) for working in workings]
    sheet = _numbered(page.number, sources, notes)
    problem = sources.problem if sheet is None else sheet.problem
    if sheet is not None and sheet.read_page is not None and (lines := sheet.read_page(text)):
        return [Working(sheet.problem, lines, student=student_on_page(text), sheet=sheet)]
    content = page.text if sheet is None else without_sentences(page.text, sheet.sentences)
    workings = read_document(content, problem, name=visible(name))
    return [replace(working, sheet=sheet, notes=(*notes, *working.notes)) for working in workings]


def _numbered(number: Any, sources: ProblemSources, notes: list[Note]) -> NumberedSheet | None:
    """Return the problem of a sheet; None, with a note if the two differ, where another problem was given."""
    if sources.problem is None or sources.is_default:
        return sources.sheet(number)
    try:
        is_same = sources.sheet(number).problem == sources.problem
    except ProblemError:
        is_same = False
    if not is_same:
        sentence = f"The working names sheet {visible(shorten(number))}. It was marked against the given problem."
        notes.append(Note("warning", sentence))
    return None


def _few_values(content: bytes) -> bytes:
    """Return the content unless it has too many values, which are counted before they are read."""
    if len(content) > MAX_WORKING_BYTES:
        raise ProblemError(_too_long(len(content), MAX_WORKING_BYTES))
    num_values = content.count(b",") + content.count(b"\n")
    if num_values > MAX_VALUES:
        raise ProblemError(f"contains more than {MAX_VALUES:,} values. Give the lines of one working only.")
    return content


def _guessed_suffix(content: bytes) -> str:
    if content[:4] == b"PK\x03\x04":
        return ".xlsx"
    if _IS_TABLE(content):
        return ".csv"
    return ".yaml" if content.lstrip()[:1] == b"{" or _HAS_WRITTEN(content) else ".md"


def _decoded(content: bytes) -> str:
    try:
        return utf8_text(content)
    except ValueError as wrong:
        raise ProblemError(str(wrong)) from None


def _sheet(content: bytes, problem: Mapping[str, Any] | None) -> Worksheet:
    try:
        sheet = Worksheet.from_json(content)
        if problem is not None:
            _check_same_problem(sheet, problem)
        return sheet
    except ClearheadError as wrong:
        raise ProblemError(str(wrong)) from None
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, RecursionError) as wrong:
        raise ProblemError(
            f"is not a readable worksheet ({type(wrong).__name__}). Solve the problem again and save it as JSON."
        ) from None


def _check_same_problem(sheet: Worksheet, problem: Mapping[str, Any]) -> None:
    """Raise an error for a worksheet of another problem; marked against its own data, it would earn full marks."""
    import numpy as np

    from clearhead.worksheet.reading import parse_problem
    from clearhead.worksheet.rounding import Rounding
    from clearhead.worksheet.solver import solve

    expected = solve(parse_problem(problem), Rounding())
    mine, theirs = expected.trace.givens, sheet.trace.givens
    other = [name for name in mine if name not in theirs or not np.array_equal(mine[name].value, theirs[name].value)]
    steps = [
        [(record.step.name, record.where, record.symbol) for record in worksheet.trace]
        for worksheet in (expected, sheet)
    ]
    if other or steps[0] != steps[1]:
        differs = f"its {', '.join(other[:5])} differ" if other else "its lines differ"
        raise ProblemError(
            f"is a worksheet for a different problem than the given one: {differs}. Solve the given problem."
        )


def _read_working(data: Mapping[str, Any], sources: ProblemSources) -> Working:
    mistakes = [f"{shorten(key)} is not a key. Keys are words." for key in data if not isinstance(key, str)]
    fields = _Fields({key: value for key, value in data.items() if isinstance(key, str)}, mistakes)
    problem = fields.problem(sources)
    reader = WrittenReader()
    if "written" not in data:
        near = did_you_mean("written", [key for key in fields.data if key not in KEYS][:_MAX_HINTS])
        mistakes.append(
            f"written is missing. Add 'written:' with the lines of the working, such as 'Q: [[0.50, 1.2], …]'.{near}"
        )
    elif not isinstance(data["written"], Mapping) or not data["written"]:
        mistakes.append(
            f"written = {shorten(data['written'])} contains no lines. Write names and numbers like 'Q: [[0.50, 1.2]]'."
        )
    else:
        reader.read(data["written"])
        mistakes += reader.mistakes
    working = Working(
        problem=problem,
        lines=tuple(reader.lines),
        title=fields.text("title") or visible(str(problem.get("title") or "")),
        student=fields.text("student"),
        rounded=fields.rounded(),
        has_decimal_comma=fields.has_decimal_comma(),
        notes=(*fields.notes, *reader.notes),
        problem_file=fields.problem_file,
        sheet=fields.sheet,
    )
    if mistakes:
        raise ProblemError(mistakes, options=fields.options)
    return working


def _read_table(content: bytes, name: str, suffix: str, sources: ProblemSources) -> Working:
    if suffix in BOOKS:
        from clearhead.check.read.spreadsheet import read_xlsx

        table = read_xlsx(content, name)
    else:
        from clearhead.check.read.table import read_csv

        table = read_csv(content, name)
    mistakes: list[str] = []
    fields = _Fields(dict(table.entries), mistakes)
    problem = fields.problem(sources)
    if not table.lines:
        mistakes.append("contains no lines. Write a name, such as Q, with its numbers to the right of it or below it.")
    fields.has_decimal_comma()  # only to collect its errors; the table has the answer
    rounded = fields.rounded()
    if mistakes:
        raise ProblemError(mistakes, options=fields.options)
    return Working(
        problem=problem,
        lines=table.lines,
        title=fields.text("title") or visible(str(problem.get("title") or "")),
        student=fields.text("student"),
        rounded=rounded,
        has_decimal_comma=table.has_decimal_comma,
        notes=(*fields.notes, *table.notes),
        problem_file=fields.problem_file,
        sheet=fields.sheet,
    )


class _Fields:
    """The keys of a working other than its lines; all errors go into one list."""

    def __init__(self, data: Mapping[str, Any], mistakes: list[str]) -> None:
        self.data = data
        self.notes: list[Note] = []
        self.problem_file = ""  # the file that the problem of the working was read from
        self.options: Options = ()  # the parameters with which a sheet can be found
        self.sheet: NumberedSheet | None = None  # the practice sheet that the problem belongs to
        self._mistakes = mistakes

    def problem(self, sources: ProblemSources) -> Mapping[str, Any]:
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
            self._refuse(
                others, "of a working" if expected else "of a working, and the key 'kind' of a problem is missing"
            )
            own = expected or {}
        if own is None and expected is None:
            self._mistakes.append(
                "problem is missing. Add 'sheet:' with the number of a practice sheet, 'problem:' with a gallery id or "
                "a file, or the keys of the problem itself beside 'written'."
            )
        if expected is not None and own is not None and own != expected:
            named = shorten(self.data["problem"]) if "problem" in self.data else "the one it contains"
            self.notes.append(
                Note(
                    "warning",
                    f"The working names a different problem ({visible(named)}). It was marked against the given one.",
                )
            )
        return expected if expected is not None else own or {}

    def _problem_of_sheet(self, sources: ProblemSources) -> Mapping[str, Any]:
        """Return the problem of the sheet whose number the working has."""
        if "problem" in self.data:
            self._mistakes.append("sheet and problem are both there, and each of them names a problem. Remove one.")
            return {}
        try:
            self.sheet = _numbered(self.data["sheet"], sources, self.notes)
        except ProblemError as wrong:
            self._mistakes += wrong.mistakes
            self.options = wrong.options
            return {}
        return (sources.problem or {}) if self.sheet is None else self.sheet.problem

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
            name = visible(key)
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

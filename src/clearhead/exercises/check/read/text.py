"""Read a page of text, Markdown or LaTeX: its statements `name = side = … = side`, tables and rows, in order.

The way of a number: `fold` makes the marks plain and each matrix environment a grid, `layout` the drawn matrices and
tables, `brackets` the lists; then every line is a heading, a row of numbers, statements, or words.
"""

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from clearhead.check.limits import MAX_DOCUMENT, MAX_DOCUMENT_ITEMS, MAX_DOCUMENT_LINE
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.brackets import take_lists
from clearhead.exercises.check.read.fold import fold
from clearhead.exercises.check.read.grid import LABEL, Grid, Grids, is_hole, is_number, row_cells
from clearhead.exercises.check.read.layout import TextLine, numbered, take_drawn
from clearhead.exercises.check.read.page import Page, PageBlock, Unread
from clearhead.exercises.check.read.prose import has_numbers, is_setting, is_title, looks_like_calculation
from clearhead.exercises.check.read.statements import RELATION, has_number, is_bare, statements, without_tail
from clearhead.worksheet.problem import shorten

_MAX_TITLE = 300  # characters of a heading that is marked as one
_MAX_WORDS = 80  # characters of a heading, of a name and of the words above a block
_FIELD = re.compile(
    r"(?i)(?:^|(?<=[\s,·]))(problem|exercise|student|name|title|decimal|rounded) ?: *"
    r"(\S[^,\t\n]{0,200}?)(?=,\s|\s{2,}|\s·|\s\(|\s(?:sheet|name|student|date)\b|\s*$)"
)
# Letters, digits and at least three hyphens; "sheet 3" and a date are not the number of a practice sheet, and a number
# with a mistyped letter is, so that it is reported.
_SHEET = re.compile(
    r"(?i)(?<!\w)(?:practice )?(?:sheet(?: (?:number|no\.?))?|hoja)[\s:=#*`]{1,9}(?=\S{0,99}[a-z])(?=\S{0,99}\d)"
    r"([^\W_]{1,40}(?:[-‐‑–−][^\W_]{1,40}){3,16})(?![^\W_])[*`]{0,3}"
)
_MARKS = re.compile(r"^(?:\s|[∴⇒→>✓✗⊗•◦▪①-⑳]|[-*–] |=?\s*[⇒→](?=\s))+")
_NUMBERING = re.compile(r"^(?:\(?(?:[0-9]{1,2}|[a-h])[.)]+|[ivx]{1,4}\))\s+(?=[^\W\d])")
_STEP = re.compile(r"(?i)(?:step|part|task|question|exercise|problem)\s*[0-9]{1,2}[a-z]?\b")
_DIMENSIONS = re.compile(r"(?:\(?[0-9]+\s?[×xX]\s?[0-9]+\)?(?:[\s,·=]+|$))+").fullmatch
_TITLE = re.compile(r"(\S.*?)\s*\([0-9]+ × [0-9]+(?:, [a-z]+)?\)").fullmatch
_RULE = re.compile(r"[-=~_*]{3,}").fullmatch
_VALUE = "(?=[\\s(]*(?:[-−–+≈~]?\\s?\\.?[0-9]|[-−]?∞|[½√]|[\U000f0000-\U000fffff]))"
_COLON = re.compile(rf"(?<![0-9]):{_VALUE}|:(?=\s){_VALUE}|(?:→|->){_VALUE}")
_LABELLED = re.compile(r"([^\W\d_][\w'’ ⁠-]{0,30}?)\s+([-−+]?[0-9.].*)").fullmatch
_VALUE_AFTER_INDEX = re.compile(r"(.*[\])])\s+(\S+)").fullmatch
_FILLER = re.compile(
    r"(?i)^(?:(?:so|hence|then|thus|therefore|now|and|finally|we (?:get|have)|the|let|where|with|for)\b[,:]?\s*)+(?=\S)"
)
_WITH_DECIMALS = re.compile(r"[0-9][.,][0-9]").search
_VERB = re.compile(r"\s(?:is|are|was|were)$")
_ENDS_OPEN = re.compile("(?:[×·*+]|[\\d)\U000f0000-\U000fffff]\\s[Xx])\\s*$").search


@dataclass
class _Draft:
    """A statement that is still being read; its sides are text with characters for grids."""

    name: str
    line: int
    sides: list[str] = field(default_factory=list)
    headings: tuple[str, ...] = ()
    above: str = ""
    is_open: bool = False  # the value is expected on the lines below
    num_words: int = 0  # lines of words since then


def read_text(text: str, grids: Grids | None = None, unit: str = "line") -> Page:
    """Return what is on a page of text; `grids` are those for which it already has characters."""
    _check_length(text)
    remarks: list[str] = []
    grids, is_fresh = grids or Grids(), grids is None
    lines = take_drawn(numbered(fold(text, grids, remarks, is_fresh=is_fresh)), grids)
    parts = take_lists("\n".join(line.text for line in lines), grids).split("\n")
    reader = _Reader(grids, unit)
    place, texts = 0, list[TextLine]()
    for part in parts:
        texts.append(TextLine(lines[place].number, part.replace("\v", "").replace(LABEL, "").replace("\t", "  ")))
        place += 1 + part.count("\v")
    for before, line, after in zip_longest([TextLine(0, ""), *texts[:-1]], texts, texts[1:], fillvalue=TextLine(0, "")):
        reader.read(line, is_alone=not before.text.strip() and not after.text.strip(), below=after.text.strip())
    return reader.page(tuple(remarks))


def _check_length(text: str) -> None:
    if len(text) > MAX_DOCUMENT:
        raise ProblemError(
            f"this document has {len(text):,} characters; the limit is {MAX_DOCUMENT:,}. "
            "Give only the pages with the exercises."
        )
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MAX_DOCUMENT_LINE:
            raise ProblemError(
                f"line {number} has {len(line):,} characters; the limit is {MAX_DOCUMENT_LINE:,}. "
                "Write a matrix on several lines."
            )


class _Reader:
    """Read the lines of a page, from top to bottom."""

    def __init__(self, grids: Grids, unit: str) -> None:
        self._grids = grids
        self._unit = unit
        self._drafts: list[_Draft] = []
        self._unread: list[Unread] = []
        self._fields: dict[str, Any] = {}
        self._headings: list[tuple[int, str]] = []
        self._words = ""  # the last words without numbers
        self._is_labelled = False  # whether the line is `label: numbers`, without an equals sign
        self._rows: list[tuple[str, ...]] = []  # plain rows of numbers on the lines just read
        self._row_line = 0

    def page(self, remarks: tuple[str, ...]) -> Page:
        """Return the blocks with numbers, in order."""
        self._end_rows()
        drafts = [draft for draft in self._drafts if any(map(has_number, draft.sides))]
        return Page(tuple(map(self._block, drafts)), tuple(self._unread), self._fields, remarks)

    def _block(self, draft: _Draft) -> PageBlock:
        grid = next(reversed([*self._grids.inside(draft.sides[-1])]), Grid(()))  # the last grid has the labels
        sides = tuple(self._grids.side(without_tail(side)) for side in draft.sides)
        name, above, *headings = map(self._grids.written, (draft.name, draft.above, *draft.headings))
        place = f"{self._unit} {draft.line}"
        return PageBlock(name, sides, grid.rows, grid.columns, tuple(headings), above, place, draft.line)

    def read(self, line: TextLine, *, is_alone: bool, below: str) -> None:
        """Read one line; `below` is the next one."""
        text = self._take_fields(line.text)
        is_indented = line.text[:1].isspace()
        text = _MARKS.sub("", text).strip()
        if not text or _DIMENSIONS(text) or _RULE(text):
            return
        if self._take_heading(text, is_alone=is_alone and not is_indented, below=below):
            return
        self._is_labelled = RELATION.search(text) is None
        text = _COLON.sub(" = ", _NUMBERING.sub("", text.lstrip("#").strip()))
        if not text:
            return
        is_continued = RELATION.match(text) is not None or (text[0] in "+×·" and bool(self._drafts))
        cells = () if is_continued else row_cells(text)
        if cells:
            if self._rows and (line.number != self._row_line + 1):
                self._end_rows()
            self._rows.append(cells)
            self._row_line = line.number
            return
        self._end_rows()
        title = _TITLE(text) if len(text) < 2 * _MAX_WORDS else None
        if title:
            self._start(title[1], line.number).is_open = True
        elif is_continued:
            self._continue(text, line.number)
        else:
            for statement in statements(text):
                self._read_statement(statement, line.number)

    def _take_fields(self, text: str) -> str:
        """Take the keys of the page, such as `Name: Ada`, out of a line."""
        for number in _SHEET.findall(text):
            if self._fields.setdefault("sheet", number) != number:
                own, other = shorten(self._fields["sheet"]), shorten(number)
                raise ProblemError(f"names two sheets, {own} and {other}. Hand in one file for each sheet.")
        text = _SHEET.sub("", text)
        for key, value in _FIELD.findall(text):
            if any(map(str.isalnum, value)) and "=" not in value:
                self._fields.setdefault({"name": "student"}.get(key.lower(), key.lower()), value.strip(" *_."))
        return _FIELD.sub("", text)

    def _take_heading(self, text: str, *, is_alone: bool, below: str) -> bool:
        title = text.lstrip("#").strip(" #*:·")
        level = len(text) - len(text.lstrip("#"))
        is_step = _STEP.match(title) is not None
        is_plain = not (any(map(is_hole, text)) or _WITH_DECIMALS(title) or row_cells(title))
        is_marked = level > 0 or (is_step and is_alone)
        if len(title) > (_MAX_TITLE if is_marked else _MAX_WORDS) or not (is_plain or is_marked):
            return False
        if is_step and is_alone and not level:
            level = 7
        is_statement = "=" in text or _COLON.search(text) is not None
        if is_statement and not (is_step or text.startswith("#")):
            return False
        if not level and below[:2] in ("==", "--", "~~") and _RULE(below):
            level = 1 if below[0] == "=" else 2
        elif not level and is_alone and text[-1] not in ".,:" and (" · " in text or not has_numbers(text)):
            level = 7
        elif not level and (is_step or _NUMBERING.match(text)):
            level = 8
        if not level:
            return False
        self._end_rows()
        self._headings = [heading for heading in self._headings if heading[0] < level] + [(level, title)]
        if level != 7 and self._drafts:  # a word that stands alone is not always a heading
            self._drafts[-1].is_open = False
        self._words = title if level == 7 else ""
        return True

    def _start(self, name: str, number: int, prefix: str = "") -> _Draft:
        """Add a statement and return it."""
        if len(self._drafts) >= MAX_DOCUMENT_ITEMS:
            raise ProblemError(f"contains more than {MAX_DOCUMENT_ITEMS:,} statements. Give one working only.")
        headings = tuple(title for _, title in self._headings) + ((prefix,) if prefix else ())
        draft = _Draft(name, number, headings=headings, above=self._words)
        self._drafts.append(draft)
        return draft

    def _end_rows(self) -> None:
        """Make the plain rows just read one grid; a single integer is the number of a page."""
        rows, self._rows = self._rows, []
        if not rows:
            return
        is_expected = bool(self._drafts) and self._drafts[-1].is_open
        if is_expected or len(rows) > 1 or len(rows[0]) > 1 or not rows[0][0].isdecimal():
            text = rows[0][0] if len(rows) == len(rows[0]) == 1 else self._grids.add(Grid(tuple(rows)))
            self._add_value(text, self._row_line - len(rows) + 1)

    def _add_value(self, text: str, number: int) -> None:
        """Add a value without a name to the statement that expects it, or as one of its own."""
        last = self._drafts[-1] if self._drafts else None
        named = next((grid.name for grid in self._grids.inside(text)), "") if len(text) == 1 else ""
        if named and last and last.is_open and last.name.endswith(named):
            last.name, last.is_open = named, False
            last.sides.append(text)
        elif named:
            self._start(named, number).sides.append(text)
        elif last and last.sides and _ENDS_OPEN(last.sides[-1][-9:]) and last.num_words == 0:
            last.sides[-1] += f" {text}"
            last.is_open = False
        elif last and last.is_open:
            last.sides.append(text)
            last.is_open = False
        else:
            self._start("", number).sides.append(text)

    def _continue(self, text: str, number: int) -> None:
        """Add the sides of `= …`, or `+ …`, to the statement above."""
        draft = self._drafts[-1] if self._drafts else self._start("", number)
        glued, *sides = RELATION.split(text)
        if glued.strip() and draft.sides:
            draft.sides[-1] += f" {glued.strip()}"
        self._add_sides(draft, sides)

    def _add_sides(self, draft: _Draft, sides: list[str]) -> None:
        draft.sides += [side.strip() for side in sides if side.strip(" .,;")]
        last = draft.sides[-1] if draft.sides and sides[-1:] != [""] else ""
        has_value = any(map(is_hole, last)) or bool(row_cells(without_tail(last)))
        draft.is_open = not has_value
        draft.num_words = 0

    def _read_statement(self, text: str, number: int) -> None:
        name, *sides = RELATION.split(text)
        name = name.strip()
        if not sides or (self._is_labelled and not any(map(is_hole, text)) and not has_numbers(text)):
            self._read_words(text.strip(), number)
            return
        if len(name) > _MAX_WORDS:
            self._read_words(text, number)
            return
        prefix, colon, rest = name.rpartition(": ")
        if colon and rest.strip():
            name = rest.strip()
        value_after = _VALUE_AFTER_INDEX(name)
        if value_after and is_number(value_after[2]):
            name, sides = value_after[1], [value_after[2], *sides]
        is_constant = is_setting(name, sides[-1].strip()) or (self._is_labelled and is_title(name))
        if is_constant and is_bare(sides[-1].strip(" .")):
            return
        if any(map(is_hole, name)):  # softmax(2, 7) = … is known by its numbers
            name, sides = "", [name, *sides]
        draft = self._start(_FILLER.sub("", name).strip(" *$"), number, prefix.strip())
        self._add_sides(draft, sides)
        if self._is_labelled:  # sun: 0.4 0.6 may be a row of what the words above name
            return
        self._words = text.strip() if draft.is_open and draft.sides else ""

    def _read_words(self, text: str, number: int) -> None:
        """Read words without a relation: a label with its numbers, a value, or prose."""
        holes = [letter for letter in text if is_hole(letter)]
        before, _, after = text.partition(holes[0]) if holes else (text, "", "")
        labelled = _LABELLED(text)
        if labelled and not holes and (cells := row_cells(labelled[2])) and not any(map(str.isdigit, labelled[1])):
            value = cells[0] if len(cells) == 1 else self._grids.add(Grid((cells,)))
            self._start_labelled(_FILLER.sub("", _VERB.sub("", labelled[1])), value, number)
        elif (
            holes
            and not after.strip(" .✓")
            and before[-1:].isspace()
            and len(before.split()) < 4
            and before[0].isalpha()
        ):
            self._start_labelled(before.strip(), holes[0], number)
        elif holes and sum(word.isalpha() for word in text.split()) < 3:
            self._add_value(text, number)
        elif holes or looks_like_calculation(text):
            self._words = text if text.endswith(":") else ""
            self._unread.append(Unread(self._grids.written(text), "it is in a sentence", number))
        elif not text.startswith(("<-", "←")):  # which says something of the lines above
            self._words = text.strip("*: ") if len(text) <= _MAX_WORDS else ""
            if self._drafts:
                self._drafts[-1].num_words += 1
                self._drafts[-1].is_open &= self._drafts[-1].num_words < 3

    def _start_labelled(self, label: str, value: str, number: int) -> None:
        words = self._words
        self._start(label, number).sides.append(value)
        self._words = words

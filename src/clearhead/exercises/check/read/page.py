"""What is on a page, before anybody knows what it means: blocks of numbers with the words around them.

Every form (text, Markdown, LaTeX, HTML, tables, workbooks, notebooks, data) is read into a Page, and one function
places a Page on a Sheet. So a form needs to know nothing about exercises, and the placing nothing about forms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

HOLE = "▢"  # in the text of a side: here is a matrix
Cells = tuple[tuple[str, ...], ...]  # raw text, row by row; "" where nothing was written


@dataclass(frozen=True)
class Side:
    """One side of an equation: its text, with a hole for every matrix, row or bracketed list in it."""

    text: str
    grids: tuple[Cells, ...] = ()


@dataclass(frozen=True)
class PageBlock:
    """One statement, `name = side = … = side`, or one table, whose only side is its grid.

    `name` is the text before the first `=` or `:`, the corner of a table or its caption; it may have an index
    (`A[2]`, `q1·k2`, `e^{2.1}`) or be empty. `rows` and `columns` are the labels of a table. `headings` are the
    headings above, the outermost first; `above` are the words directly above a block without a name. `line` is the
    line of the page, counted from 1, or 0. `copied_into` is the line into which a working file says this is copied.
    """

    name: str
    sides: tuple[Side, ...]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    above: str = ""
    place: str = ""
    line: int = 0
    copied_into: str = ""


@dataclass(frozen=True)
class Unread:
    """Numbers on the page that are in no block, and the reason."""

    text: str
    reason: str
    line: int = 0


@dataclass(frozen=True)
class Page:
    """The blocks of a page in order, and what the page says about itself.

    A working file (YAML, JSON, plain data) names its exercise and its lines itself. `fields` are the keys of the page:
    problem, sheet, student, title, rounded, decimal. `remarks` say what the reader decided, `mistakes` what is wrong in
    the lines of a working file.
    """

    blocks: tuple[PageBlock, ...]
    unread: tuple[Unread, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    is_working_file: bool = False
    mistakes: tuple[str, ...] = ()

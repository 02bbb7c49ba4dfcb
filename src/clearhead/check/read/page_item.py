"""The items of a document (headings, prose and statements), and how an equation is split into its sides."""

import re
from dataclasses import dataclass, field

from clearhead.check.limits import MAX_DOCUMENT_ITEMS
from clearhead.check.read.latex import (
    CLOSE_MARK,
    MARK,
    NUMBER,
    OPEN_MARK,
    SPACE,
    Folder,
    Grid,
    clean_cell,
    is_number,
    is_plain_number,
    split_numbers,
)
from clearhead.check.read.number import read_cell
from clearhead.check.read.symbol import Symbol, plain
from clearhead.check.working import Note, NoteKind, line_note
from clearhead.errors import ProblemError

MAX_BLOCK = 40_000  # characters of one display; a longer one was never closed
_MAX_NOTES = 200
_ARROW = re.compile(r"→|⟶|\\(?:long)?rightarrow(?![a-zA-Z])|\\to(?![a-zA-Z])")
EQUALS = re.compile(r":=|(?<![<>!=])=(?!=)|\\approx(?![a-zA-Z])|≈|\\simeq(?![a-zA-Z])")
_SUM = re.compile(r"[\d.]\s{1,3}[-+−–]\s{1,3}[\d.]")  # 1 + 2 is not the row 1, +2
_MAX_NAME = 40  # characters
_SEPARATOR = re.compile(r",|(?<!\\);| {2,}")
_IN_BRACKETS = re.compile(r"\([^()]{0,40}\)|\{[^{}]{0,40}\}|<[^<>]{0,40}>|⟨[^⟨⟩]{0,40}⟩")
_VALUE_AT_END = re.compile(rf"(?:{CLOSE_MARK}|(?:^|[\s=≈/])[-−+]?[\d.]{{1,30}}%?)\s{{0,9}}$")
_TWO_NUMBERS = re.compile(r"\s{0,9}[-−+]?[\d.]{1,30}(?:\s?[*/·×÷]\s?|\s[-−+]\s)[-−+]?[\d.]{1,30}\s{0,9}")
_AND = re.compile(r",?\s{1,3}and\s{1,3}(?=[^\W\d][^\s=≈]{0,12}\s?[=≈])")  # e1 = 1.5 and e2 = 0.7
DIMENSIONS = re.compile(
    r"(?:\s{0,9}\(?\d{1,5}\s{0,3}(?:×|x|\\times)\s{0,3}\d{0,5}\)?){1,6}\s{0,9}"
)  # 3×4 4×2, under a product


@dataclass(frozen=True)
class PageHeading:
    """A line that may start an exercise; a weak heading only looks like a title."""

    text: str
    line: int
    is_strong: bool


@dataclass(frozen=True)
class Prose:
    """A line of words between the numbers."""

    text: str
    line: int


@dataclass(frozen=True)
class EquationSide:
    """The text between two equals signs (▢ for each matrix), its matrices, and the target of an arrow."""

    text: str
    grids: tuple[Grid, ...] = ()
    tail: str = ""

    @property
    def value(self) -> Grid | None:
        """The matrix or number of this side, or None if it is a formula."""
        if len(self.grids) == 1 and self.text.strip(" .,;:▢▫{}") == "":
            return self.grids[0]
        return None


@dataclass(frozen=True)
class Equation:
    """A name and the sides after it; without a symbol if it continues the previous equation.

    `raw_name` is "=" if it starts with an equals sign. `is_anew` is true if it comes after ⇒. `labels` and `columns`
    are the names of the rows and columns of a table.
    """

    symbol: Symbol | None
    sides: tuple[EquationSide, ...]
    line: int
    raw_name: str = ""
    is_anew: bool = False
    labels: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


Item = PageHeading | Prose | Equation


@dataclass
class Document:
    """All items in order, notes about how they were read, and the name of the student."""

    items: list[Item] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    student: str = ""

    def add(self, item: Item) -> None:
        """Add an item, or raise an error if there are too many."""
        if len(self.items) >= MAX_DOCUMENT_ITEMS:
            raise ProblemError(
                f"line {item.line}: this document contains more than {MAX_DOCUMENT_ITEMS:,} lines and statements. "
                "Give only the pages with the exercises."
            )
        self.items.append(item)

    def note(self, kind: NoteKind, sentence: str, line: int) -> None:
        """Add a note about a line, up to a maximum number of notes."""
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(line_note(kind, sentence, line))


def part_inline(text: str) -> str:
    """Remove the dollar signs of inline maths, and separate an equation from the words around it."""
    parts = re.split(r"(?<!\\)\$|\\\(|\\\)", text)
    for number in range(1, len(parts), 2):
        if number + 1 < len(parts) and EQUALS.search(parts[number]) and not parts[number].lstrip().startswith("="):
            parts[number] = f"\\quad {parts[number]} \\quad "
    return " ".join(parts)


def fold_bare_lists(text: str, folder: Folder) -> str:
    """Fold `0.1, 0.9`, a list of numbers without brackets, if it is alone after a sign or a matrix."""
    number = NUMBER.pattern
    pattern = re.compile(
        rf"(?:(?<==)|(?<={CLOSE_MARK})|(?<=^)|(?<=\n))(?P<list>\s{{0,3}}(?:{number})(?:\s?,\s?(?:{number})){{1,64}})\s{{0,3}}(?=$|\n|\\q|\\r)"
    )

    def fold(match: re.Match[str]) -> str:
        cells = [clean_cell(cell) for cell in match["list"].split(",")]
        return f" {folder.mark(Grid((tuple(cells),), is_list=True))} "

    return pattern.sub(fold, text) if "," in text and len(text) < MAX_BLOCK else text


def part_statements(segment: str, *, is_maths: bool) -> list[str]:
    """Split `W_q = …, W_k = …` at a comma or semicolon before another name and its equals sign.

    In plain text two or more blanks separate statements too: `q1·k1 = 2   q1·k2 = 3`.
    """
    signs = [(match.start(), match.end()) for match in EQUALS.finditer(segment)]
    if not signs:
        return [segment]
    segment = _AND.sub(lambda match: ", ".ljust(len(match[0])), segment)
    parts, start, following = [], 0, 0
    for match in _SEPARATOR.finditer(segment):
        while following < len(signs) and signs[following][0] < match.start():
            following += 1
        if following == len(signs):
            break
        is_stated = following > 0 and signs[following - 1][0] >= start
        is_blank = match[0].isspace()
        if not is_stated or (is_blank and is_maths) or signs[following][0] - match.end() >= _MAX_NAME:
            continue
        value = segment[max(signs[following - 1][1], match.start() - _MAX_NAME) : match.start()]
        head = segment[match.end() : signs[following][0]]
        result = segment[signs[following][1] : signs[following][1] + _MAX_NAME]
        is_next = _is_name_after_value(value, head) if is_blank else _is_head(head)
        if is_next or _is_side_calculation(value, head, result):
            parts.append(segment[start : match.start()])
            start = match.end()
    return [*parts, segment[start:]]


def _is_head(text: str) -> bool:
    """Return whether the text after a comma is the name of the next statement, and not a part of a list."""
    depth = sum(text.count(opening) - text.count(closing) for opening, closing in ("()", "{}", "<>", "⟨⟩"))
    is_list = re.search("[,;]", _IN_BRACKETS.sub("", text.strip())) is not None
    return OPEN_MARK not in text and depth == 0 and not is_list and re.search(r"[^\W\d]", text) is not None


def _is_name_after_value(value: str, text: str) -> bool:
    """Return whether blanks separate a number or a matrix from the name of the next statement; 2  x  3 is a product."""
    is_name = re.match(r"(?!x\s{1,99}\S)[^\W\d]", text.strip()) is not None
    return is_name and _is_head(text) and _VALUE_AT_END.search(value) is not None


def _is_side_calculation(value: str, text: str, result: str) -> bool:
    """Return whether `8.17/12.39 = 0.66` is next: two numbers with a sign, one number after them, one before them."""
    first = _SEPARATOR.split(EQUALS.split(result)[0].strip())[0]
    return is_plain_number(value) and _TWO_NUMBERS.fullmatch(text) is not None and is_number(first)


def read_side(text: str, folder: Folder) -> EquationSide:
    """Read the text between two equals signs."""
    arrow = _ARROW.search(text)
    lead = text[: arrow.start()] if arrow else text
    tail = text[arrow.end() :] if arrow else ""
    if arrow and (not lead.strip() or (MARK.search(tail) and not MARK.search(lead))):
        lead, tail = tail, ""
    grids = tuple(folder.marked(lead))
    shown = plain(MARK.sub(" ▢ ", lead[:MAX_BLOCK]))
    bare = SPACE.sub(" ", lead).lstrip(" ,;").rstrip(" .,;")
    if not grids and bare and not DIMENSIONS.fullmatch(bare):
        numbers = split_numbers(bare)
        is_sum = _SUM.search(bare) is not None and is_number(bare) and not read_cell(clean_cell(bare)).problem
        if len(numbers) > 1 and not is_sum:
            return EquationSide("▢", (Grid((tuple(numbers),), is_list=True),), plain(tail))
        if is_number(bare):
            return EquationSide("▢", (Grid(((clean_cell(bare),),), is_list=True),), plain(tail))
    return EquationSide(shown, grids, plain(tail))

"""Fold LaTeX maths and plain brackets: every matrix or vector becomes a mark in the text; its cells are unchanged.

One pass from left to right with a bounded stack, so that the time is linear in the length for any nesting.
"""

import re
from dataclasses import dataclass

from clearhead.check.working import Cells

MAX_DEPTH = 24  # nesting of environments and brackets; text is copied once for each level
OPEN_MARK, CLOSE_MARK = "\ue000", "\ue001"  # around the number of a grid; the document cannot contain them
LINE_MARK = "\ue004"  # a line break in the source, used to find the line of an equation
LETTERS_MARK = "▫"  # a matrix of letters, dots or arrows
MARK = re.compile(rf"{OPEN_MARK}(\d{{1,7}}){CLOSE_MARK}")
_MATRIX = re.compile(r"[bpvBV]?(?:small)?matrix\*?|b?array|cases")
_SPACES = r"\\(?:quad|qquad|hspace|enspace|thinspace)(?![a-zA-Z])|\\[ ,;:!>]|~|&nbsp;|\u00a0|\u2003|\u2009"
SPACE = re.compile(_SPACES)
_ENVIRONMENT = re.compile(
    r"\\(begin|end)\s{0,2}\{\s{0,2}([a-zA-Z]{1,20}\*?)\s{0,2}\}|\\\\(?:\[[^\]\n]{0,12}\])?|(?<!\\)&"
)
_COLUMN_SPEC = re.compile(r"\s{0,4}(?:\[[a-z]\])?\{[clr|@{}! .]{0,60}\}")
_POWER_OF_TEN = (
    r"\s{0,4}(?:\\times|×|\\cdot|·|x|\*)\s{0,4}10\s{0,2}\^?\s{0,2}"
    r"(?:\{\s{0,2}[-+−–]?\s?\d{1,6}\s{0,2}\}|[-+−–]?\d{1,6})"
)
_SUPERSCRIPT_POWER = r"\s{0,4}[×·]\s{0,4}10[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{1,7}"
NUMBER = re.compile(
    rf"(?:[-+−–]\s?)?(?:(?:\d{{1,400}}(?:[.]\d{{0,400}})?|[.]\d{{1,400}})"
    rf"(?:{_SUPERSCRIPT_POWER}|{_POWER_OF_TEN}|[eE][-+−]?\d{{1,4}})?%?|∞|\\infty|inf(?![a-z]))"
)
_KNOWN_COMMAND = re.compile(
    r"\\(?:[dt]?frac|sqrt|times|cdot|infty|pi|exp|left|right|div|tanh|sin|cos|mathrm)(?![a-zA-Z])"
)
_NUMBER_LETTERS = re.compile(
    r"[\d.,+\-−–*/^(){}\s√π∞×·÷%½¼¾⅓⅔|⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]|[eE](?![a-zA-Z])|exp|inf|tanh|sin|cos|x(?= ?10)"
)
_HANGING = re.compile(
    r"(?:\\times|\\cdot|[×·*/+^\-−–])\s{0,9}$|^\s{0,9}(?:\\times|[×*/^])"
)  # 512 ×: an incomplete product
_PLACE = re.compile(r"\s?\d{1,2}\s?(?:,\s?\d{1,2}\s?)?")
_MAX_CELL = 2000


class TooDeepError(Exception):
    """Brackets or environments are nested too deeply."""


@dataclass(frozen=True)
class Grid:
    """A matrix or vector as it was read; `is_list` is true if it was in brackets rather than in an environment."""

    cells: Cells
    is_list: bool = False
    is_nested: bool = False

    @property
    def is_ragged(self) -> bool:
        """Whether its rows have different lengths."""
        return len({len(row) for row in self.cells}) > 1

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.cells)

    @property
    def width(self) -> int:
        """The number of columns of the widest row."""
        return max((len(row) for row in self.cells), default=0)

    @property
    def numbers(self) -> list[str]:
        """All of its cells, row by row."""
        return [cell for row in self.cells for cell in row]

    def as_row(self) -> "Grid":
        """Return a column as a row, and any other grid unchanged."""
        if self.width == 1 and self.height > 1:
            return Grid((tuple(row[0] for row in self.cells),), self.is_list)
        return self

    def transposed(self) -> "Grid":
        """Return the transpose, or a ragged grid unchanged."""
        if self.is_ragged:
            return self
        return Grid(tuple(zip(*self.cells, strict=True)), self.is_list)


def is_number(text: str) -> bool:
    """Return whether a cell is a number or an expression of numbers: 0.5, -∞, 2.9 × 10^{-3}, e^2/(e^2+1)."""
    if len(text) > _MAX_CELL:
        return False
    if _HANGING.search(text):
        return False
    bare = SPACE.sub(" ", _KNOWN_COMMAND.sub(" ", text))
    has_value = any(letter.isnumeric() for letter in text) or "∞" in text or "infty" in text or "inf" in text
    return has_value and "\\" not in bare and not _NUMBER_LETTERS.sub("", bare).strip()


def is_plain_number(text: str) -> bool:
    """Return whether a cell is a single number without a sum, fraction or root."""
    return NUMBER.fullmatch(text.strip()) is not None


def clean_cell(text: str) -> str:
    """Remove the layout of a cell: spaces, dollar signs, bold, boxes and a full stop at the end."""
    text = SPACE.sub(" ", text).replace("$", " ").replace("**", "").strip()
    for _ in range(4):
        match = re.fullmatch(r"\\(?:text|mathbf|mathrm|boxed|bm|textbf|mathit|hline)\s?\{([^{}]{0,200})\}", text)
        if match is None:
            break
        text = match[1].strip()
    return re.sub(r"\s{2,}", " ", text.removeprefix("\\hline").strip())


class Folder:
    """Fold matrices into marks; `grids` contains them in the order of their marks."""

    def __init__(self) -> None:
        self.grids: list[Grid] = []

    def fold(self, text: str) -> str:
        """Return the text with a mark in place of each matrix and vector."""
        return self._fold_brackets(self._fold_environments(text))

    def mark(self, grid: Grid) -> str:
        """Store a grid and return its mark."""
        self.grids.append(grid)
        return f"{OPEN_MARK}{len(self.grids) - 1}{CLOSE_MARK}"

    def marked(self, text: str) -> list[Grid]:
        """Return the grids that are marked in a text."""
        return [self.grids[int(number)] for number in MARK.findall(text) if int(number) < len(self.grids)]

    def _fold_environments(self, text: str) -> str:
        frames = [_Frame("")]
        start = 0
        for match in _ENVIRONMENT.finditer(text):
            if match.start() < start:
                continue  # inside a column specification
            frames[-1].pieces.append(text[start : match.start()])
            start = match.end()
            if match[1] == "begin":
                if len(frames) > MAX_DEPTH:
                    raise TooDeepError
                frames.append(_Frame(match[2]))
                if match[2] in ("array", "tabular", "barray"):
                    spec = _COLUMN_SPEC.match(text, start)
                    start = spec.end() if spec else start
            elif match[1] == "end":
                if len(frames) > 1:
                    frame = frames.pop()
                    frames[-1].pieces.append(self._close(frame))
            else:
                frames[-1].pieces.append("\ue002" if match[0] == "&" else "\ue003")
        frames[-1].pieces.append(text[start:])
        while len(frames) > 1:
            frame = frames.pop()
            frames[-1].pieces.append(_laid_out("".join(frame.pieces)))
        return _laid_out("".join(frames[0].pieces))

    def _close(self, frame: "_Frame") -> str:
        text = "".join(frame.pieces)
        breaks = LINE_MARK * text.count(LINE_MARK)
        if _MATRIX.fullmatch(frame.name) or frame.name == "tabular":
            bare = text.replace(LINE_MARK, " ")
            rows = [[clean_cell(cell) for cell in row.split("\ue002")] for row in bare.split("\ue003")]
            grid = as_grid(rows)
            if grid is not None:
                return f" {self.mark(grid)} {breaks}"
            if "=" not in text and not MARK.search(text) and frame.name not in ("array", "cases"):
                return f" {LETTERS_MARK} {breaks}"
        return _laid_out(text)

    def _fold_brackets(self, text: str) -> str:
        text = re.sub(r"\\(?:left|right|[bB]igg?[lr]?)(?![a-zA-Z])\s?\.?", "", text)
        frames: list[tuple[str, list[str]]] = [("", [])]
        start = 0
        for match in re.finditer(r"[\[\]()]", text):
            frames[-1][1].append(text[start : match.start()])
            start = match.end()
            if match[0] in "[(":
                if len(frames) > MAX_DEPTH:
                    raise TooDeepError
                frames.append((match[0], []))
            elif len(frames) > 1 and frames[-1][0] == {"]": "[", ")": "("}[match[0]]:
                opener, pieces = frames.pop()
                before = frames[-1][1][-1][-12:] if frames[-1][1] else ""
                content = "".join(pieces)
                grid = self._vector(opener, content.replace(LINE_MARK, " "), before)
                marked = f" {self.mark(grid)} {LINE_MARK * content.count(LINE_MARK)}" if grid else ""
                frames[-1][1].append(marked or f"{opener}{content}{match[0]}")
            else:
                frames[-1][1].append(match[0])
        frames[-1][1].append(text[start:])
        return "".join(f"{opener}{''.join(pieces)}" for opener, pieces in frames)

    def _vector(self, opener: str, content: str, before: str) -> Grid | None:
        inner = self.marked(content)
        if inner:
            between = MARK.sub("", content)
            if len(inner) == 1 and not between.strip():
                return inner[0]
            if opener == "[" and not re.sub(r"[\s,;&\ue002\ue003]", "", between) and all(g.height == 1 for g in inner):
                return Grid(tuple(row for grid in inner for row in grid.cells), is_list=True, is_nested=True)
            return None
        rows = split_list(content)
        called = bool(re.search(r"[\w)}]$", before)) and not before.lower().rstrip("} ").endswith("softmax")
        if opener == "(" and (called or len(rows) * len(rows[0] if rows else ()) < 2):
            return None
        if opener == "[" and len(rows) == 1 and len(rows[0]) <= 2 and _PLACE.fullmatch(content) and called:
            return None  # A[1] and A[1, 2] are places in A
        grid = as_grid(rows)
        return Grid(grid.cells, is_list=True) if grid else None


class _Frame:
    """An environment that is still open."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pieces: list[str] = []


def _laid_out(text: str) -> str:
    # An aligned "&=" is an equals sign; any other & or \\ separates two equations.
    text = re.sub(r"\ue002[\s\ue004]{0,9}(?==|\\approx|≈|\\Rightarrow)", " ", text)
    return text.replace("\ue002", " \\qquad ").replace("\ue003", "\n")


def as_grid(rows: list[list[str]]) -> Grid | None:
    """Return the cells as a grid if they are numbers, except for a few unreadable ones; otherwise None."""
    rows = [row for row in rows if any(cell for cell in row)]
    cells = [cell for row in rows for cell in row if cell]
    numbers = sum(is_number(cell) for cell in cells)
    if not numbers or any("\\dots" in cell or "…" in cell or "..." in cell for cell in cells):
        return None
    odd = [cell for cell in cells if not is_number(cell)]
    if any(not _might_be_number(cell) for cell in odd) or len(odd) * 3 > len(cells):
        return None
    return Grid(tuple(tuple(row) for row in rows))


def _might_be_number(cell: str) -> bool:
    if "\\" in cell or "=" in cell or len(cell) > 12:
        return False
    letters = sum(letter.isalpha() for letter in cell)
    return letters == 0 or (letters <= 2 and any(letter.isdigit() for letter in cell) and "_" not in cell)


def split_list(content: str) -> list[list[str]]:
    """Split the content of brackets into rows and cells: by semicolons, commas or spaces."""
    content = content.replace("\\qquad", "\\quad").strip()
    if ";" in content:
        parts = content.split(";")
        if "," in content and "." not in content and re.search(r",\s", content) is None:
            return [[clean_cell(part) for part in parts]]  # 0,5; 0,25: the comma is a decimal comma
        return [_split_row(part) for part in parts if part.strip()]
    if "\n" in content and "," not in content:
        return [_split_row(part) for part in content.split("\n") if part.strip()]
    return [_split_row(content)]


def _split_row(text: str) -> list[str]:
    if "," in text:
        cells = [clean_cell(part) for part in _split_outside_braces(text)]
        return cells[:-1] if cells and not cells[-1] else cells
    return split_numbers(text) or [clean_cell(text)]


def _split_outside_braces(text: str) -> list[str]:
    depth, start, parts = 0, 0, []
    for match in re.finditer(r"[{},]", text):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    return [*parts, text[start:]]


def split_numbers(text: str) -> list[str]:
    """Split numbers that are separated by spaces; return an empty list if there is any other text."""
    text = SPACE.sub("  ", text).strip()
    numbers: list[str] = []
    end = 0
    for match in NUMBER.finditer(text):
        if text[end : match.start()].strip() or (numbers and match.start() == end and match[0][0] not in "-−–"):
            return []
        numbers.append(match[0].strip())
        end = match.end()
    if text[end:].strip():
        words = text.split()
        likely = sum(is_number(word) for word in words) * 3 >= len(words) * 2 and len(words) > 1
        return words if likely and all(is_number(word) or _might_be_number(word) for word in words) else []
    return numbers

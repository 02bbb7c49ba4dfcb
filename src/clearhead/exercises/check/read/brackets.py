"""Lists in brackets, `[[1, 2], [3, 4]]`, `(0.3, 0.7)`, `array([[1., 2.]])`: each becomes one character of the text."""

import re

from clearhead.exercises.check.read.grid import Grid, Grids, is_hole, is_label, row_cells
from clearhead.exercises.check.read.number import is_blank

_MAX_DEPTH = 20
_MAX_LIST = 20_000  # characters of a list without inner lists
_CLOSING = {"[": "]", "(": ")"}
_PART = re.compile(r"([\[\]()]|\n[ \t]*\n)")
_ARRAY = re.compile(r"(?:\w{1,10}\.)?(?:array|matrix|tensor)\(")
_DTYPE = re.compile(r",\s{0,20}(?:dtype|device)=[\w.']{1,20}")
_INDEX = re.compile(r"\s*(?:[0-9]+|[^\W\d_]+)\s*").fullmatch
_FUNCTIONS = ("softmax", "tanh", "relu", "sigmoid", "exp", "σ", "norm", "layernorm", "ln")


def take_lists(text: str, grids: Grids) -> str:
    """Replace every list of numbers in brackets, innermost first; an empty line ends what was not closed."""
    levels: list[list[str]] = [[]]  # the parts of the text inside each open bracket
    opened: list[str] = []
    for part in _PART.split(_DTYPE.sub("", _ARRAY.sub("(", text))):
        if part in _CLOSING and len(opened) < _MAX_DEPTH:
            opened.append(part)
            levels.append([])
        elif opened and part == _CLOSING[opened[-1]]:
            inside = "".join(levels.pop())
            name = _word_before(levels[-1])
            levels[-1].append(_value(opened.pop(), inside, name, grids))
        elif part.isspace() and part.count("\n") > 1:
            _close_all(levels, opened)
            levels[0].append(part)
        elif part:
            levels[-1].append(part)
    _close_all(levels, opened)
    return "".join(levels[0])


def _close_all(levels: list[list[str]], opened: list[str]) -> None:
    """Make brackets that were not closed plain text."""
    for bracket, parts in zip(opened, levels[1:], strict=True):
        levels[0] += [bracket, *parts]
    del levels[1:]
    opened.clear()


def _word_before(parts: list[str]) -> str:
    """Return the name directly before a bracket, if any."""
    before = parts[-1][-20:] if parts else ""
    match = re.search(r"[^\W\d][\w^′'ᵀ⁰-₟]*$|\]$|\}$|[′'″ᵀ]$", before)
    return match[0].casefold() if match else ""


def _value(bracket: str, inside: str, name: str, grids: Grids) -> str:
    """Return the character of a list, or the text as it was."""
    text = f"{bracket}{inside}{_CLOSING[bracket]}"
    if len(inside) > _MAX_LIST:
        return text
    holes = [letter for letter in inside if is_hole(letter)]
    if holes:
        is_list = not "".join(letter for letter in inside if not is_hole(letter)).strip(" ,;\n\t\v")
        matrices = [grid.cells for grid in grids.inside(inside)]
        if not is_list or any(len(cells) != 1 for cells in matrices):
            return holes[0] if is_list and len(holes) == 1 else text
        return grids.add(Grid(tuple(cells[0] for cells in matrices))) + "\v" * inside.count("\n")
    rows = _rows(inside, bracket)
    if not rows or (bracket == "(" and len(rows[0]) < 2):
        return text
    is_index = len(rows) == 1 and len(rows[0]) < 3 and all(map(_INDEX, rows[0])) and name not in _FUNCTIONS
    return text if name and is_index else grids.add(Grid(rows)) + "\v" * inside.count("\n")


def _rows(inside: str, bracket: str) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a list without inner brackets: one, or several between line breaks or semicolons."""
    lines = [line for line in inside.splitlines() if line.strip(" ,;")]
    rows = tuple(_cells(line, bracket) for line in (lines if len(lines) > 1 else inside.split(";")))
    if all(rows) and (len(rows) == 1 or any(len(row) > 1 for row in rows)):
        return rows
    cells = _cells(inside.replace(";", ","), bracket)
    return (cells,) if cells and (bracket == "[" or len(cells) > 1) else ()


def _cells(text: str, bracket: str) -> tuple[str, ...]:
    """Return the cells of one row; a few of them may be misspelt or blank, in round brackets fewer: (5 marks)."""
    if cells := row_cells(text):
        return cells
    pieces = [piece.strip() for piece in text.split(",")] if "," in text else text.split()
    words = [piece for piece in pieces if is_label(piece)]
    if any(len(word) > 8 or " " in word for word in words) or not pieces:
        return ()
    num_numbers = len(pieces) - len(words) - sum(map(is_blank, pieces))
    is_blank_row = len(pieces) > 1 and all(map(is_blank, pieces)) and text.strip(" .,")
    return tuple(pieces) if len(words) * (1 if bracket == "[" else 2) <= num_numbers > 0 or is_blank_row else ()

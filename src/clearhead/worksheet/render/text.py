"""Text that all renderers need: safe names, matrices as lines of equal width, and the steps that a detail shows."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len, set_cell_size

from clearhead.errors import printable
from clearhead.worksheet.view import MAX_COLUMNS, MatrixView, SheetView, StepView
from clearhead.worksheet.worksheet import Detail

_MAX_LABEL = 18
ELLIPSIS = "…"
ANCHOR = "\ue000"  # marks a column that must stay aligned, whatever width a terminal gives to the names before it


def label(text: str, most: int = _MAX_LABEL) -> str:
    """Return a row or column name without control characters, shortened if it is too wide."""
    text = printable(text)
    return text if cell_len(text) <= most else set_cell_size(text, most - 1).rstrip() + ELLIPSIS


def reserved_width(text: str) -> int:
    """Return the width to reserve for a name: terminals disagree on spacing marks (কি) and joined emoji."""
    return max(cell_len(text), sum(unicodedata.category(letter) == "Mc" or cell_len(letter) for letter in text))


def resolve_anchors(line: str, *, in_terminal: bool) -> str:
    """Replace anchors by cursor movements to their column in a terminal; remove them elsewhere."""
    if not in_terminal or line.isascii():
        return line.replace(ANCHOR, "")
    placed = ""
    column = 0
    for part in line.split(ANCHOR):
        placed += f"\x1b[{column + 1}G{part}" if column else part
        column += cell_len(part)
    return placed


def pad(text: str, width: int, *, right: bool = True) -> str:
    """Pad to a width in terminal cells, which is not the number of characters for Hindi, Bengali or emoji."""
    space, spare = max(0, width - reserved_width(text)), reserved_width(text) - cell_len(text)
    return " " * space + text + " " * spare if right else text + " " * (space + spare)


def table(matrix: MatrixView, max_columns: int) -> list[list[str]]:
    """Return the shown cells as text, with ellipses for omitted ones; the first row and column are the names."""
    rows, columns = matrix.shown(max_columns)

    def spread(names: list[str], shown: list[int], count: int) -> list[str]:
        return [*names[:-1], ELLIPSIS, names[-1]] if len(shown) < count else names

    height, width = matrix.value.shape
    lines = [spread([matrix.digits.text(i, j) for j in columns], columns, width) for i in rows]
    if len(rows) < height:
        lines.insert(-1, [ELLIPSIS] * len(lines[0]))
    names = spread([label(matrix.row_name(i)) if matrix.rows else "" for i in rows], rows, height)
    head = spread([label(matrix.column_name(j)) if matrix.columns else "" for j in columns], columns, width)
    return [["", *head], *([name, *line] for name, line in zip(names, lines, strict=True))]


@dataclass(frozen=True)
class MatrixLines:
    """A matrix as lines of text, with a note if cells are omitted."""

    lines: list[str]
    note: str


def grid(matrix: MatrixView, max_width: int) -> MatrixLines:
    """Return the matrix in brackets, with its names, no wider than `max_width` if possible."""
    max_columns = min(MAX_COLUMNS, matrix.value.shape[1])
    while True:
        lines = _grid(matrix, max_columns)
        if max_columns <= 2 or cell_len(lines[-1].replace(ANCHOR, "")) <= max_width:
            return MatrixLines(lines, omission_note(matrix, max_columns))
        max_columns -= 1


def _grid(matrix: MatrixView, max_columns: int) -> list[str]:
    head, *body = table(matrix, max_columns)
    widths = [max(reserved_width(line[j]) for line in [head, *body]) for j in range(len(head))]
    lines = []
    for number, line in enumerate(body):
        opening, closing = bracket(number, len(body))
        name = pad(line[0], widths[0], right=False)
        cells = "  ".join(pad(text, width) for text, width in zip(line[1:], widths[1:], strict=True))
        lines.append(f"{name} {ANCHOR}{opening} {cells} {closing}" if widths[0] else f"{opening} {cells} {closing}")
    if matrix.columns:
        gap = " " * (widths[0] + 3) if widths[0] else "  "
        names = f"  {ANCHOR}".join(pad(text, width) for text, width in zip(head[1:], widths[1:], strict=True))
        lines.insert(0, gap + names)
    return lines


def bracket(number: int, count: int) -> tuple[str, str]:
    """Return the left and the right bracket of one row of a matrix."""
    if count == 1:
        return "[", "]"
    if number == 0:
        return "⎡", "⎤"
    return ("⎣", "⎦") if number == count - 1 else ("⎢", "⎥")


def shown_part(matrix: MatrixView, max_columns: int = MAX_COLUMNS) -> str:
    """Return a sentence on how much of a large matrix is shown; empty if all of it is."""
    rows, columns = matrix.shown(max_columns)
    if (len(rows), len(columns)) == matrix.value.shape:
        return ""
    return f"{len(rows)} × {len(columns)} of {matrix.size} cells are shown."


def omission_note(matrix: MatrixView, max_columns: int = MAX_COLUMNS) -> str:
    """Return the same sentence for a format whose readers can also get the JSON."""
    part = shown_part(matrix, max_columns)
    return f"{part[:-1]}; the JSON format has them all." if part else ""


def shown_sections(view: SheetView, detail: Detail) -> Iterator[tuple[str, list[StepView]]]:
    """Yield each heading with its steps; for `results`, only the last step of the sheet or of each part."""
    steps = view.steps
    if detail == "results":
        last = {step.record.where.split(".")[1] if view.sheet.titles else "": step for step in steps}
        steps = list(last.values())
    for heading, run in groupby(steps, key=lambda step: step.section):
        yield heading, list(run)


def cell_lines(step: StepView) -> list[tuple[tuple[int, int], str]]:
    """Return the row, the column and the arithmetic of every shown cell; none where numbers are only moved."""
    matrix = step.matrix
    rows, columns = matrix.shown()
    lines = []
    for i in rows:
        for j in columns:
            line = step.cell_line(i, j)
            if line is not None:
                lines.append(((i, j), line))
    return lines


def cell_name(matrix: MatrixView, row: int, column: int) -> str:
    """Name a cell: `Q[go, 2]`."""
    return f"{matrix.symbol}[{label(matrix.row_name(row))}, {label(matrix.column_name(column))}]"

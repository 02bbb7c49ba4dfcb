"""The parts of a question as HTML: the sheet with its tables, and the worked lines."""

import re
from collections.abc import Callable
from functools import partial
from html import escape

from clearhead.quiz.course.intervals import CellInterval, CourseSheet
from clearhead.quiz.course.rules import question_steps
from clearhead.quiz.sheet import blank_cells
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import MatrixView, StepView

Gap = Callable[[CellInterval], str]

_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BRACES = str.maketrans({"{": "&#123;", "}": "&#125;", "\\": "&#92;"})  # a cloze question starts with a brace
_MAX_WORKED = 40  # lines of a worked step; a longer one is shown by its first cells


class Fragments:
    """The HTML of one sheet, with the decimal sign that is wanted."""

    def __init__(self, course: CourseSheet, *, has_decimal_comma: bool = False) -> None:
        self.course, self.sheet = course, course.sheet
        self.has_decimal_comma = has_decimal_comma
        self._asked = question_steps(course.sheet)
        self._cells = {(cell.index, cell.row, cell.column): cell for cell in course.cells}

    def text(self, text: str) -> str:
        """Return text as HTML that is safe in XML and in a cloze question."""
        return escape(without_controls(self.numbers(text))).translate(_BRACES)

    def numbers(self, text: str) -> str:
        """Return text with the decimal sign that is wanted."""
        return _POINT.sub(",", text) if self.has_decimal_comma else text

    def question(self, gap: Gap) -> str:
        """Return the sheet: instructions, given matrices, and every line with `gap` in its blank cells."""
        sentences = [*self.sheet.instructions, *self.course.rules.sentences(len(self._asked))]
        parts = [f"<p>{self.text(' '.join(sentences))}</p>"]
        for index, step in enumerate(self.sheet.view.steps):
            parts += [self._table(matrix, partial(self._printed, matrix)) for matrix in step.givens]
            parts.append(self._step(index, step, gap))
        return "\n".join(part for part in parts if part)

    def _step(self, index: int, step: StepView, gap: Gap) -> str:
        heading = f"<p>{self.heading(index)}</p>"
        if blank_cells(step) and index not in self._asked:
            return f"{heading}\n<p>(copied from the lines above)</p>"

        def cell(row: int, column: int) -> str:
            interval = self._cells.get((index, row, column))
            return self._printed(step.matrix, row, column) if interval is None else gap(interval)

        return f"{heading}\n{self._table(step.matrix, cell)}"

    def heading(self, index: int) -> str:
        """Return the equation of a step, and the part of the model that it is in."""
        step = self.sheet.view.steps[index]
        section = f"{self.text(step.section)}: " if step.section else ""
        return f"{section}<b>{self.text(f'{step.matrix.symbol} = {step.equation}')}</b>"

    def place(self, cell: CellInterval) -> str:
        """Return the row and the column of a cell in words."""
        matrix = self.sheet.view.steps[cell.index].matrix
        return self.text(f"{matrix.symbol}, row {matrix.row_name(cell.row)}, column {matrix.column_name(cell.column)}")

    def _printed(self, matrix: MatrixView, row: int, column: int) -> str:
        shown = matrix.digits.text(row, column)
        return "…" if shown == BLANK else self.text(shown)

    def _table(self, matrix: MatrixView, cell: Callable[[int, int], str]) -> str:
        height, width = matrix.value.shape
        names = "".join(f"<th scope='col'>{self.text(matrix.column_name(column))}</th>" for column in range(width))
        rows = [f"<tr><th>{self.text(matrix.symbol)}</th>{names}</tr>"]
        for row in range(height):
            cells = "".join(f"<td>{cell(row, column)}</td>" for column in range(width))
            rows.append(f"<tr><th scope='row'>{self.text(self._row_name(matrix, row))}</th>{cells}</tr>")
        return "<table>\n" + "\n".join(rows) + "\n</table>"

    def _row_name(self, matrix: MatrixView, row: int) -> str:
        name = matrix.row_name(row)
        return str(row + 1) if name == BLANK else name

    def worked_cell(self, cell: CellInterval) -> str:
        """Return the calculation of a cell with its result, and the numbers that are accepted."""
        step = self.sheet.key_view.steps[cell.index]
        line = step.cell_line(cell.row, cell.column) or cell.key
        accepted = f"{cell.low:f} to {cell.high:f}"
        return self.text(f"{line} (accepted: {accepted})" if cell.low != cell.high else line)

    def worked(self) -> str:
        """Return the calculation of every blank cell, step by step."""
        parts = []
        for index in self._asked:
            cells = [cell for cell in self.course.cells if cell.index == index]
            lines = [f"<li>{self.place(cell)}: {self.worked_cell(cell)}</li>" for cell in cells[:_MAX_WORKED]]
            lines += ["<li>…</li>"] if len(cells) > _MAX_WORKED else []
            parts.append(f"<p>{self.heading(index)}</p>\n<ul>\n" + "\n".join(lines) + "\n</ul>")
        return "\n".join([f"<p>Sheet {self.text(self.sheet.number)}</p>", *parts])


def without_controls(text: str) -> str:
    """Return text with a replacement for every character that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)

"""One sheet that is worked step by step: mark a step from the student's own lines, and help with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from clearhead.check.graph import Graph, fetch_from
from clearhead.check.marker import mark
from clearhead.check.numbered_sheet import PRINTED
from clearhead.check.read.number import read_cell
from clearhead.check.report import CellMark, Finding, LineMark, Report
from clearhead.check.sums import plain_number
from clearhead.check.verdict import ROUNDING_FAULTS, Verdict
from clearhead.check.working import Cells, Working, WrittenLine
from clearhead.errors import QuizError
from clearhead.quiz.course.rules import question_steps
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name
from clearhead.steps import Record
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.expression import Number, write
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import StepView
from clearhead.worksheet.working import WORKINGS


@dataclass(frozen=True)
class StepMark:
    """A marked step: the cells that do not follow from the lines above, and what the marker says about them."""

    wrong: tuple[CellMark, ...]
    is_carried: bool = False  # whether it is right only because it follows from an earlier error
    is_unsupported: bool = False  # whether it cannot be judged, because earlier lines are missing
    finding: Finding | None = None
    rounding: tuple[CellMark, ...] = ()  # numbers that are right except for their last digit

    @property
    def is_right(self) -> bool:
        """Whether every number follows from the lines above."""
        return not self.wrong and not self.is_unsupported


@dataclass
class PracticeExercise:
    """A sheet and the lines that the student has written, by the index of their step.

    The cells of a line are raw texts; a cell that the sheet prints has the printed text.
    """

    sheet: QuizSheet
    lines: dict[int, Cells] = field(default_factory=dict)
    has_error: set[int] = field(default_factory=set)  # lines that were left with an error

    @cached_property
    def steps(self) -> list[int]:
        """The indices of the steps that are asked for. Lines that only copy numbers are not."""
        indices = question_steps(self.sheet)
        if not indices:
            raise QuizError(f"sheet {self.sheet.number} asks for nothing that has to be calculated.")
        return indices

    def view(self, index: int) -> StepView:
        """Return a step as the sheet shows it, with blanks."""
        return self.sheet.view.steps[index]

    def name(self, index: int) -> str:
        """Return the name of a step: `self_attention.query:Q`."""
        return step_name(self.view(index))

    def blank_columns(self, index: int) -> dict[int, list[int]]:
        """Return the columns that are blank in each row that has blanks."""
        columns: dict[int, list[int]] = {}
        for row, column in blank_cells(self.view(index)):
            columns.setdefault(row, []).append(column)
        return columns

    def resume(self, lines: Mapping[str, Cells], errors: Sequence[str]) -> None:
        """Continue with lines by the name of their step; a line that does not fit the sheet is dropped."""
        for index in self.steps:
            cells, printed = lines.get(self.name(index)), _printed(self.view(index))
            if cells is not None and (not cells or _fits(cells, printed)):
                self.lines[index] = cells
                if cells and self.name(index) in errors:
                    self.has_error.add(index)

    def fill(self, index: int, rows: Mapping[int, list[str]]) -> Cells:
        """Return a line with the texts of the student in the blank cells of some rows."""
        cells = [list(row) for row in self.lines.get(index) or _printed(self.view(index))]
        for row, texts in rows.items():
            for column, text in zip(self.blank_columns(index)[row], texts, strict=True):
                cells[row][column] = text
        return tuple(tuple(row) for row in cells)

    def mark(self, index: int, cells: Cells) -> StepMark:
        """Mark a line, from the lines before it as the student wrote them or as the sheet prints them."""
        lines = [self._written(earlier) for earlier in range(index) if self._is_visible(earlier)]
        own = self._written(index, cells)
        report = mark(Working(self.sheet.problem, (*lines, own), title=self.sheet.title))
        return _step_mark(report, own, blank_cells(self.view(index)))

    def coarse_cells(self, index: int, cells: Cells) -> list[tuple[int, int]]:
        """Return the cells with too few decimals: the marker takes 1 for 0.9, but the sheet asks for decimals."""
        unit = 10.0**-self.sheet.worksheet.rounding.shown_decimals
        values, _ = self._values(index)
        with np.errstate(all="ignore"):
            own = np.asarray(self._graph.work(index, fetch_from(values, self._graph.givens)), dtype=np.float64)
        key = np.asarray(self._graph.records[index].value, dtype=np.float64)
        coarse = []
        for row, column in blank_cells(self.view(index)):
            number = read_cell(cells[row][column])
            place = (column, row) if self._graph.is_turned else (row, column)
            gap = min(abs(number.value - own[place]), abs(number.value - key[place]))
            if unit * 1.5 < number.unit and unit * 0.51 < gap < number.unit:
                coarse.append((row, column))
        return coarse

    def _is_visible(self, index: int) -> bool:
        return bool(self.lines.get(index)) or not blank_cells(self.view(index))

    def _written(self, index: int, cells: Cells | None = None) -> WrittenLine:
        step, own = self.view(index), cells or self.lines.get(index)
        place = "" if own else PRINTED
        return WrittenLine(step.matrix.symbol, own or _printed(step), step.record.where, place)

    # Help

    def hint(self, index: int, last: StepMark | None) -> str:
        """Return a hint without numbers: how to correct the last error, or what the step does."""
        step = self.view(index)
        if last is not None and last.finding is not None:
            cause = last.finding.name
            named = f'Your numbers come from "{cause}". ' if last.finding.verdict is Verdict.MISCONCEPTION else ""
            return f"{named}{last.finding.remedy}"
        return f"{step.step.sentence} {step.matrix.symbol} = {step.equation}"

    def calculation(self, index: int, row: int, column: int) -> str:
        """Return the calculation of a cell with the student's own numbers, without its result."""
        place = (column, row) if self._graph.is_turned else (row, column)
        values, texts = self._values(index)
        record = self._graph.records[index]
        inputs = self._graph.inputs(index, fetch_from(values, self._graph.givens))
        own = Record(record.step, record.where, inputs, record.value, record.symbol)
        expression = WORKINGS[record.step.name](
            own, *place, _OwnNumbers(texts, is_left_first=not self._graph.is_turned)
        )
        symbol = self.view(index).matrix.symbol
        return f"{symbol}[{row + 1}, {column + 1}] = {'?' if expression is None else write(expression)}"

    def answer(self, index: int) -> Cells:
        """Return the line that follows from the student's lines: the key, unless an earlier line has an error."""
        step = self.sheet.key_view.steps[index]
        height, width = step.matrix.value.shape
        if not any(earlier < index for earlier in self.has_error):
            texts = {cell: step.matrix.digits.text(*cell) for cell in blank_cells(self.view(index))}
        else:
            values, _ = self._values(index)
            right = self._graph.work(index, fetch_from(values, self._graph.givens))
            right = self.sheet.worksheet.rounding.rounded(np.asarray(right, dtype=np.float64))
            decimals = self.sheet.worksheet.rounding.shown_decimals
            right = right.T if self._graph.is_turned else right
            texts = {cell: f"{right[cell] + 0.0:.{decimals}f}" for cell in blank_cells(self.view(index))}
        printed = _printed(self.view(index))
        return tuple(tuple(texts.get((i, j), printed[i][j]) for j in range(width)) for i in range(height))

    @cached_property
    def _graph(self) -> Graph:
        return Graph(self.sheet.worksheet)

    def _values(self, index: int) -> tuple[list[Array], dict[int, Cells]]:
        """Return the values of all lines before a step as the student has them, and their texts by the id of the value.

        A line that was left out is calculated from the others.
        """
        values: list[Array] = []
        texts: dict[int, Cells] = {}
        for earlier in range(index):
            if self._is_visible(earlier):
                cells = self._written(earlier).cells
                value = np.array([[_value(text) for text in row] for row in cells])
                value = value.T.copy() if self._graph.is_turned else value
                texts[id(value)] = tuple(zip(*cells, strict=True)) if self._graph.is_turned else cells
            else:
                value = self._graph.work(earlier, fetch_from(values, self._graph.givens))
            values.append(value)
        return values, texts


class _OwnNumbers:
    """The digits of a calculation: as the student wrote them, or a few digits of the others."""

    max_terms = 12

    def __init__(self, texts: Mapping[int, Cells], *, is_left_first: bool) -> None:
        self._texts, self.is_left_first = texts, is_left_first

    def cell(self, value: Any, *index: int) -> Number:
        """Return a cell as it was written."""
        cells = self._texts.get(id(value))
        if cells is not None and len(index) == 2:
            return Number(plain_number(_value(cells[index[0]][index[1]]), 12))
        return Number(plain_number(float(value[index]), 6))

    def plain(self, number: float) -> Number:
        """Return a single number."""
        return Number(plain_number(float(number), 12))


def _fits(cells: Cells, printed: Cells) -> bool:
    """Return whether a line has the shape and the printed numbers of the sheet, and a number in every cell."""
    if [len(row) for row in cells] != [len(row) for row in printed]:
        return False
    pairs = [pair for rows in zip(cells, printed, strict=True) for pair in zip(*rows, strict=True)]
    return all((text == shown or not shown) and not read_cell(text).problem for text, shown in pairs)


def _value(text: str) -> float:
    return read_cell(text).value


def _printed(step: StepView) -> Cells:
    """Return the texts that the sheet prints, empty where a cell is blank."""
    height, width = step.matrix.value.shape
    texts = [[step.matrix.digits.text(row, column) for column in range(width)] for row in range(height)]
    return tuple(tuple("" if text == BLANK else text for text in row) for row in texts)


def _step_mark(report: Report, own: WrittenLine, blanks: Sequence[tuple[int, int]]) -> StepMark:
    """Return what the report says about the blank cells of the last line."""
    lines = [line for line in report.lines if (line.symbol, line.where) == (own.name, own.where)]
    if not lines or lines[-1].is_misshapen:
        raise QuizError(_reason(report, lines[-1] if lines else None))
    cells = [cell for cell in lines[-1].marked if (cell.row, cell.column) in blanks]
    wrong = tuple(cell for cell in cells if cell.verdict.is_error or cell.verdict is Verdict.UNREADABLE)
    wrong += tuple(cell for cell in cells if cell.verdict is Verdict.TRUE)
    causes = [report.findings[number] for cell in wrong for number in cell.findings]
    place = report.lines.index(lines[-1])
    return StepMark(
        wrong,
        is_carried=any(cell.verdict is Verdict.CARRIED for cell in cells),
        is_unsupported=any(cell.verdict is Verdict.UNSUPPORTED for cell in cells),
        finding=next((finding for finding in causes if finding.line == place), None),
        rounding=tuple(cell for cell in cells if cell.verdict in ROUNDING_FAULTS),
    )


def _reason(report: Report, line: LineMark | None) -> str:
    note = line.note if line is not None else next((note.sentence for note in report.notes), "")
    return f"this line could not be marked. {note}".strip()

"""Write the calculation of a cell with the student's own digits."""

import math
from typing import Any

import numpy as np

from clearhead.check.comparison import SheetComparison
from clearhead.check.graph import FromGiven, FromRecord, Plain, Source
from clearhead.check.wrong_rule import Calculation
from clearhead.steps import STEPS, Record
from clearhead.worksheet.expression import Number, evaluate, write
from clearhead.worksheet.working import WORKINGS


def plain_number(number: float, decimals: int = 6) -> str:
    """Format a number with at most `decimals` decimals, without trailing zeros; tiny ones in scientific notation."""
    if not math.isfinite(number):
        return "-∞" if number < 0 else "∞"
    if number != 0 and abs(number) < 10.0**-decimals:
        return f"{number:.3g}"
    text = f"{number:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


class StudentShow:
    """Show every cell with the student's own digits, and unwritten cells with a few digits.

    `has_unwritten` tells whether a cell was shown that the student neither wrote nor copied from a written line.
    """

    is_left_first = True
    max_terms = 12

    def __init__(self, comparison: SheetComparison) -> None:
        self._comparison = comparison
        self.is_left_first = not comparison.graph.is_turned
        self.has_unwritten = False
        self._texts: dict[int, Any] = {}
        self._copied: set[int] = set()
        self._kept: list[Any] = []  # keeps arrays alive, so that no other array gets their id

    def inputs(self, index: int) -> dict[str, Any]:
        """Return the student's inputs of a record."""
        return self._comparison.graph.inputs(index, self._fetch)

    def _fetch(self, source: Source) -> Any:
        if isinstance(source, FromRecord):
            value = self._comparison.x[source.index]
            self._texts[id(value)] = list(self._comparison.statements.get(source.index, ()))
            self._kept.append(value)
            if self._is_copied(source.index):
                self._copied.add(id(value))
            return value
        if isinstance(source, FromGiven):
            return self._comparison.graph.givens[source.name].value
        assert isinstance(source, Plain)
        return source.value

    def _is_copied(self, index: int) -> bool:
        """Return whether a line is only a copy, of given numbers or of written lines."""
        graph, statements = self._comparison.graph, self._comparison.statements
        return graph.is_move[index] and all(
            parent in statements or self._is_copied(parent) for parent in graph.parents[index]
        )

    def cell(self, value: Any, *index: int) -> Number:
        """Return the cell as the student wrote it."""
        for statement in reversed(self._texts.get(id(value), ())):
            if len(index) == 2 and not np.isnan(statement.value[index]) and not np.isinf(statement.value[index]):
                return Number(plain_number(float(statement.value[index]), 12))
        if id(value) in self._texts and id(value) not in self._copied:
            self.has_unwritten = True
        return Number(plain_number(float(value[index]), 6))

    def plain(self, number: float) -> Number:
        """Return a single number."""
        return Number(plain_number(float(number), 12))


def right_sum(comparison: SheetComparison, index: int, row: int, column: int, total: str) -> str:
    """Write the calculation of a cell (tokens as rows) with the student's own numbers, and its result."""
    record = comparison.graph.records[index]
    show = StudentShow(comparison)
    own = Record(record.step, record.where, show.inputs(index), record.value, record.symbol)
    expression = WORKINGS[record.step.name](own, row, column, show)
    return "" if expression is None else f"{write(expression)} = {total}"


def calculation_text(
    comparison: SheetComparison, calculation: Calculation, cell: tuple[int, int], entry: tuple[str, float, float]
) -> str:
    """Write a calculation by another rule and its written result (text, value, unit), if it gives these digits."""
    text, value, unit = entry
    show = StudentShow(comparison)
    record = Record(STEPS[calculation.step], "", dict(calculation.inputs), np.zeros((1, 1)), "")
    expression = WORKINGS[calculation.step](record, *cell, show)
    result = None if expression is None else evaluate(expression)
    if expression is None or result is None:
        return ""
    gap = abs(float(result) - value)
    is_cut = abs(value) <= abs(float(result)) and gap < unit
    return f"{write(expression)} = {text}" if gap <= unit / 2 * (1 + 1e-6) + 1e-9 or is_cut else ""

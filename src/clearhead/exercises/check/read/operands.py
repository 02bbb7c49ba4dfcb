"""Statements without an index are placed by their operands: `softmax(2, 7) = …` says which scores it uses."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clearhead.exercises.check.read.number import read_cell
from clearhead.exercises.sheet.sheet import Sheet, SheetLine
from clearhead.worksheet.arrays import Array

_NUMBER = r"[-−+]?\s?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})"
_POWER = re.compile(rf"(?:e\s?\^|exp)\s?[({{]{{0,2}}\s?({_NUMBER})\s?[)}}]{{0,2}}")
_SOFTMAX = re.compile(r"(?i)softmax\s*\(?\s*[\[(]?([^()\[\]]{1,400}?)[\])]?\s*\)?")
_NEAR = 0.15  # of the largest score
_MASKED = -1000.0  # a score this low is a mask


def powers_of(name: str) -> list[str]:
    """Return the exponents of `e^2.1 + e^0.4`; an empty list for anything else."""
    terms = re.split(r"(?<=[\d)}])\s*\+\s*(?=e)", name.strip())
    matches = [_POWER.fullmatch(term.strip()) for term in terms]
    return [match[1].replace("−", "-").replace(" ", "") for match in matches if match] if all(matches) else []


def quotient_of(name: str) -> tuple[str, list[str]] | None:
    """Return the exponents above and below the line of `e^2 / (e^2 + e^1)`; None for anything else."""
    above, slash, below = name.partition("/")
    top, bottom = powers_of(above.strip(" ()")), powers_of(below.strip(" ()"))
    return (top[0], bottom) if slash and len(top) == 1 and len(bottom) > 1 and top[0] in bottom else None


def softmax_of(name: str) -> list[str]:
    """Return the numbers of `softmax(2, 7)`; an empty list for anything else."""
    match = _SOFTMAX.fullmatch(name.strip())
    numbers = [part for part in re.split(r"[,;\s]+", match[1].strip()) if part] if match else []
    return numbers if numbers and all(not read_cell(number).problem for number in numbers) else []


@dataclass(frozen=True)
class RowPlace:
    """A row of a softmax, or one of its cells, both from 0, with tokens as rows."""

    softmax: int  # its place among the steps of the sheet
    row: int
    column: int = 0


class SoftmaxRows:
    """The rows of the softmaxes of a sheet, found by their scores: as the student wrote them, or as they are."""

    def __init__(self, sheet: Sheet, own_numbers: Mapping[str, Array]) -> None:
        """`own_numbers` has the numbers of the lines on the page by id, nan where nothing was own_numbers."""
        self._sheet = sheet
        self._used: set[RowPlace] = set()
        self._weights: set[RowPlace] = set()
        self._tables: dict[int, list[Array]] = {}
        for place, line in enumerate(sheet.steps):
            if line.step is None or line.step.name != "softmax":
                continue
            scores = sheet.by_id[scores_id(sheet, line)]
            truth = self._in_rows(np.asarray(scores.values, dtype=float))
            own = self._in_rows(own_numbers[scores.id]) if scores.id in own_numbers else np.full(truth.shape, np.nan)
            with np.errstate(invalid="ignore"):
                self._tables[place] = [own, truth, truth - truth.max(axis=1, keepdims=True)]

    def _in_rows(self, values: Array) -> Array:
        return values.T if self._sheet.layout == "columns" else values

    def row_of(self, scores: Sequence[str]) -> RowPlace | None:
        """Return the row with these scores, or else the nearest; of equal rows the first that was not asked for."""
        rows = sorted(self._rows_with(scores), key=lambda place: place in self._used) or self._nearest_rows(scores)
        if rows:
            self._used.add(rows[0])
        return rows[0] if rows else None

    def weight_of(self, exponent: str, below: Sequence[str]) -> RowPlace | None:
        """Return the first cell that was not asked for, of the rows with the scores below the line of a quotient."""
        for row in self._rows_with(below):
            for column, score in enumerate(below):
                cell = RowPlace(row.softmax, row.row, column)
                if score == exponent and cell not in self._weights:
                    self._weights.add(cell)
                    return cell
        return None

    def cells_of(self, exponents: Sequence[str]) -> list[RowPlace | None]:
        """Return a cell for each of the exponents that are own_numbers one after the other."""
        cells: list[RowPlace | None] = []
        while len(cells) < len(exponents):
            rest = exponents[len(cells) :]
            row = next(self._complete_rows(rest), None)
            new: list[RowPlace | None] = list(row) if row else [self._free_cell(rest[0])]
            self._used.update(cell for cell in new if cell is not None)
            cells += new
        return cells

    def _rows_with(self, scores: Sequence[str]) -> Iterator[RowPlace]:
        for softmax, tables in self._tables.items():
            for table in tables:
                for row, numbers in enumerate(table):
                    shown = [number for number in numbers if not number <= _MASKED]
                    for wanted in (numbers, shown):
                        if len(wanted) == len(scores) and all(map(_is_score, scores, wanted)):
                            yield RowPlace(softmax, row)

    def _nearest_rows(self, scores: Sequence[str]) -> list[RowPlace]:
        """Return the row that is nearest, if its scores differ by less than a slip in one of them would."""
        values = np.array([read_cell(score).value for score in scores])
        near = _NEAR * max(1.0, float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0)))
        best: tuple[float, bool, int, int] | None = None
        for softmax, (_, truth, _) in self._tables.items():
            for row, numbers in enumerate(truth):
                if len(numbers) == len(values):
                    place = (_distance(values, numbers), RowPlace(softmax, row) in self._used, softmax, row)
                    best = place if best is None else min(best, place)
        return [] if best is None or best[0] > near else [RowPlace(best[2], best[3])]

    def _complete_rows(self, exponents: Sequence[str]) -> Iterator[list[RowPlace]]:
        """Yield the free rows that the exponents begin with; a masked score has no exponential."""
        for softmax, tables in self._tables.items():
            for table in tables:
                for row, numbers in enumerate(table):
                    columns = [column for column, number in enumerate(numbers) if not number <= _MASKED]
                    cells = [RowPlace(softmax, row, column) for column in columns]
                    is_free = not self._used.intersection(cells)
                    is_long_enough = 1 < len(cells) <= len(exponents)
                    if is_free and is_long_enough and all(map(_is_score, exponents, numbers[columns])):
                        yield cells

    def _free_cell(self, exponent: str) -> RowPlace | None:
        for softmax, tables in self._tables.items():
            for table in tables:
                for row, column in np.ndindex(*table.shape):
                    place = RowPlace(softmax, row, column)
                    if place not in self._used and _is_score(exponent, float(table[row, column])):
                        return place
        return None


def scores_id(sheet: Sheet, line: SheetLine) -> str:
    """Return the id of the scores of a softmax, also where the exponentials are lines of their own."""
    own = line.parents.get("scores") or line.parents.get("exponentials", ())
    parent = sheet.by_id[own[0]]
    while parent.step is not None and parent.step.name in ("exponentiate", "shift"):
        parent = sheet.by_id[parent.parents["scores"][0]]
    return parent.id


def _is_score(text: str, score: float) -> bool:
    """Return whether a number is a score to its own digits, rounded or cut."""
    number = read_cell(text)
    reach = 1e-6 if number.is_whole or not number.unit else number.unit
    return not number.problem and bool(abs(number.value - score) < reach + 1e-9)


def _distance(values: Array, truth: Array) -> float:
    """Return the greatest difference; -∞ and numbers such as -1000 are the same."""
    hidden = truth <= _MASKED
    if not np.array_equal(hidden, values <= _MASKED):
        return math.inf
    return float(np.max(np.abs(values - truth)[~hidden], initial=0.0))

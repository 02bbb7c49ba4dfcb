"""Read single exponentials, `e^2.1 = 8.17` or `exp(2.1) = 8.17`, as cells of the exponentials of a softmax.

The exponents show the place: they are the scores of a row, or the scores minus the largest of their row.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product

import numpy as np

from clearhead.check.graph import FromRecord, Graph
from clearhead.check.grid import fit_grid, read_grid, values_and_units
from clearhead.check.line_words import MEANINGS, word_key
from clearhead.check.names import find_records, split_pick
from clearhead.check.read.number import read_cell
from clearhead.check.working import WrittenLine
from clearhead.worksheet.arrays import Array

_NUMBER = r"[-−+]?\s?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})"
_POWER = rf"(?:e\s?\^\s?[({{]{{0,2}}\s?({_NUMBER})\s?[)}}]{{0,2}}|exp\s?[({{]?\s?({_NUMBER})\s?[)}}]?)"
_POWERS = re.compile(rf"{_POWER}(?:\s?\+\s?{_POWER}){{0,63}}")
_MASKED = -1000.0  # a score this low is a mask
_BULLET = re.compile(r"^(?:[\s*•#>∴→⇒]|[-–](?=\s)|(?:so|then|and|thus)\s)+", re.IGNORECASE)
_EACH_POWER = re.compile(_POWER)
_SUM_WORDS = frozenset(
    word_key(word)
    for meaning in MEANINGS
    if meaning.title == "sums of the exponentials"
    for word in meaning.words.split(", ")
)
_NAME = re.compile(r"exp\([^()]*\)(?: \+ exp\([^()]*\))*").fullmatch


def power_name(head: str) -> str:
    """Return `e^{2.1}` as exp(2.1), and a sum of powers as exp(2.1) + exp(0.4); an empty text for anything else."""
    text = _BULLET.sub("", head.rpartition(": ")[2]).strip()
    if _POWERS.fullmatch(text) is None:
        return ""
    exponents = [(match[1] or match[2]).replace("−", "-").replace(" ", "") for match in _EACH_POWER.finditer(text)]
    return " + ".join(f"exp({exponent})" for exponent in exponents)


def exponents_of(name: str) -> list[str]:
    """Return the exponents in such a name, an empty list for any other name."""
    return re.findall(r"exp\(([^()]*)\)", name) if _NAME(name) and re.search(r"\d", name) else []


@dataclass(frozen=True)
class PowerPlace:
    """A row and a column (from 0) of the exponentials of one softmax."""

    where: str
    row: int
    column: int

    def is_in_row_of(self, other: "PowerPlace") -> bool:
        """Return whether two cells are in the same row."""
        return (self.where, self.row) == (other.where, other.row)


class PowerPlacer:
    """Find the places of the exponentials of a working, in the order in which they are written."""

    def __init__(self, graph: Graph, lines: Sequence[WrittenLine]) -> None:
        self._is_turned = graph.is_turned
        self._tables: list[tuple[str, list[Array]]] = []
        for index, record in enumerate(graph.records):
            if record.step.name == "softmax" and np.asarray(record.inputs["scores"]).ndim == 2:
                truth = np.asarray(record.inputs["scores"], dtype=float)
                own_scores = _written_scores(graph, index, lines)
                with np.errstate(invalid="ignore"):
                    shifted = truth - truth.max(axis=1, keepdims=True)
                self._tables.append((record.where, [own_scores, truth, shifted]))
        self._used: set[PowerPlace] = set()

    def places(self, groups: Sequence[Sequence[str]]) -> list[PowerPlace | None]:
        """Return a place for each exponent of the groups of exponentials that are written together."""
        places: list[PowerPlace | None] = []
        for group in groups:
            places += self._group(group)
        return places

    def row_of(self, exponents: Sequence[str]) -> PowerPlace | None:
        """Return the first cell of the row with these exponents."""
        row = self._row(exponents, only_new=False)
        return row[0] if row else None

    def joined(self, cells: Sequence[tuple[WrittenLine, PowerPlace]]) -> Iterator[WrittenLine]:
        """Yield the exponentials as lines of the working: a complete row as one line, others as single cells."""
        widths = {where: tables[0].shape[1] for where, tables in self._tables}
        at = 0
        while at < len(cells):
            line, place = cells[at]
            row = cells[at : at + widths[place.where]]
            columns = [other.column for _, other in row if other.is_in_row_of(place)]
            if len(row) > 1 and columns == list(range(widths[place.where])):
                numbers = tuple(written_line.cells[-1][-1] for written_line, _ in row)
                yield replace(line, name=f"exponentials[{place.row + 1}]", cells=(numbers,), where=place.where)
                at += len(row)
                continue
            i, j = (place.column, place.row) if self._is_turned else (place.row, place.column)
            yield replace(line, name=f"exponentials[{i + 1}, {j + 1}]", where=place.where)
            at += 1

    def _group(self, group: Sequence[str]) -> list[PowerPlace | None]:
        """Place complete rows if the exponents make them up, otherwise each exponent by itself."""
        rest, places = list(group), list[PowerPlace | None]()
        while rest:
            row = self._row(rest)
            next_places: list[PowerPlace | None] = list(row) if row else [self._cell(rest[0])]
            self._used.update(place for place in next_places if place)
            places += next_places
            rest = rest[len(next_places) :]
        return places

    def _row(self, exponents: Sequence[str], *, only_new: bool = True) -> list[PowerPlace] | None:
        """Return the cells of the row that has exactly these exponents, or else of the first row that they start with.

        Masked cells have no exponential.
        """
        rows = []
        for where, tables in self._tables:
            for table, row in product(tables, range(tables[0].shape[0])):
                columns = [column for column, score in enumerate(table[row]) if not score <= _MASKED]
                cells = [PowerPlace(where, row, column) for column in columns]
                is_free = not only_new or not self._used.intersection(cells)
                scores = [float(table[row, column]) for column in columns]
                if is_free and cells and all(map(_is_score, exponents, scores)) and len(exponents) >= len(cells):
                    rows.append(cells)
        return min(rows, key=lambda cells: len(cells) != len(exponents), default=None)

    def _cell(self, exponent: str) -> PowerPlace | None:
        return next(self._cells_with(exponent), None)

    def _cells_with(self, exponent: str) -> Iterator[PowerPlace]:
        for where, tables in self._tables:
            for table in tables:
                for row, column in np.ndindex(*table.shape):
                    place = PowerPlace(where, row, column)
                    if place not in self._used and _is_score(exponent, float(table[row, column])):
                        yield place


@dataclass(frozen=True)
class PlacedPowers:
    """The lines of a working with its exponentials as cells of their line, and those that are not in the exercise."""

    lines: list[WrittenLine]
    side_calculations: list[WrittenLine]


def with_powers(graph: Graph, lines: Sequence[WrittenLine]) -> PlacedPowers:
    """Place the exponentials of a working: complete rows as one line, and a sum below them in their row."""
    placer, powers = PowerPlacer(graph, lines), PlacedPowers([], [])
    row: PowerPlace | None = None  # the row of the last exponentials, if they are in one row
    for is_power, group in groupby(lines, lambda line: len(exponents_of(power_name(line.name))) == 1):
        own = list(group)
        if is_power:
            places = placer.places([[exponents_of(power_name(line.name))[0] for line in own]])
            powers.side_calculations.extend(line for line, place in zip(own, places, strict=True) if place is None)
            cells = [(line, place) for line, place in zip(own, places, strict=True) if place is not None]
            powers.lines.extend(placer.joined(cells))
            row = cells[0][1] if cells and all(place.is_in_row_of(cells[0][1]) for _, place in cells) else None
            continue
        for line in own:
            exponents = exponents_of(power_name(line.name))
            place = placer.row_of(exponents) if exponents else row if _is_sum(line) else None
            if place is not None:
                powers.lines.append(replace(line, name=f"sum[{place.row + 1}]", where=place.where))
            else:
                (powers.side_calculations if exponents else powers.lines).append(line)
    return powers


def _is_sum(line: WrittenLine) -> bool:
    """Return whether a line is one number that is called a sum."""
    is_number = len(line.cells) == 1 and len(line.cells[0]) == 1
    return is_number and not line.copied_into and word_key(line.name) in _SUM_WORDS


def _written_scores(graph: Graph, softmax: int, lines: Sequence[WrittenLine]) -> Array:
    """Return the scores that the student wrote, nan where there are none."""
    shape = np.asarray(graph.records[softmax].inputs["scores"]).shape
    own_scores = np.full(shape, np.nan)
    source = graph.sources[softmax]["scores"]
    if not isinstance(source, FromRecord):
        return own_scores
    for line in lines:
        pick = split_pick(line.name)
        if line.copied_into or source.index not in find_records(graph, pick.name, line.where).nodes:
            continue
        sheet_shape = shape[::-1] if graph.is_turned else shape
        fitted = fit_grid(
            read_grid(line, has_decimal_comma=False), sheet_shape, pick, ((), ()), is_turned=graph.is_turned
        )
        if fitted is not None:
            values = values_and_units(fitted)[0]
            values = values.T if graph.is_turned else values
            own_scores = np.where(np.isnan(own_scores), values, own_scores)
    return own_scores


def _is_score(exponent: str, score: float) -> bool:
    """Return whether an exponent is a score to its own digits, rounded or cut."""
    number = read_cell(exponent)
    reach = 1e-6 if number.is_whole or not number.unit else number.unit
    return not number.problem and bool(abs(number.value - score) < reach + 1e-9)

"""Lines whose names are calculations, `softmax(2, 7) = …` and `e^2.1 = …`: their place follows from their numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from clearhead.check.line_words import symbol_key, word_key
from clearhead.check.working import Note, WrittenLine
from clearhead.exercises.check.read.cells import is_only, values_of
from clearhead.exercises.check.read.label_tables import SUMS
from clearhead.exercises.check.read.operands import RowPlace, SoftmaxRows, scores_id
from clearhead.exercises.check.read.side_calculations import side_calculation
from clearhead.exercises.sheet.sheet import Sheet
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True)
class PageStatement:
    """A line, and the numbers in its name that say where it belongs."""

    line: WrittenLine
    exponents: tuple[str, ...] = ()
    softmax: tuple[str, ...] = ()
    quotient: tuple[str, list[str]] | None = None

    @property
    def has_operands(self) -> bool:
        """Whether the name says by its numbers where the line belongs."""
        return bool(self.exponents or self.softmax or self.quotient)


def unread(text: str, line: int) -> Note:
    """Return the note about numbers that were not read."""
    return Note("unplaced", f"not marked: {text}", f"line {line}" if line else "", line=line)


class OperandLines:
    """Places the statements of one page that say by their numbers where they belong."""

    def __init__(self, sheet: Sheet, statements: Sequence[PageStatement], notes: list[Note]) -> None:
        self._sheet, self._statements, self._notes = sheet, statements, notes
        self._rows = SoftmaxRows(sheet, self._written())

    def lines(self) -> Iterator[WrittenLine]:
        """Yield all lines of the page in order."""
        row: RowPlace | None = None  # of the last exponentials
        group: list[PageStatement] = []
        for entry in self._statements:
            if len(entry.exponents) == 1:
                group.append(entry)
                continue
            if group:
                cells = self._rows.cells_of([member.exponents[0] for member in group])
                yield from self._exponentials(group, cells)
                row, group = _common_row(cells), []
            if entry.quotient:
                yield from self._weight(entry, *entry.quotient)
            elif entry.softmax:
                yield from self._softmax_row(entry)
            elif entry.exponents:
                yield from self._sum(entry.line, self._rows.row_of(entry.exponents))
            elif row is not None and word_key(entry.line.name) in SUMS and is_only(entry.line.cells):
                yield from self._sum(entry.line, row)
            else:
                yield entry.line
        yield from self._exponentials(group, self._rows.cells_of([member.exponents[0] for member in group]))

    def _written(self) -> dict[str, Array]:
        """Return the numbers of whole lines on the page by the ids of the sheet."""
        numbers: dict[str, Array] = {}
        for entry in self._statements:
            values = values_of(entry.line.cells)
            for line in self._sheet.steps:
                is_own = symbol_key(line.symbol) == symbol_key(entry.line.name)
                if is_own and values is not None and values.shape == line.shape and not entry.line.copied_into:
                    numbers.setdefault(line.id, values)
        return numbers

    def _weight(self, entry: PageStatement, exponent: str, below: Sequence[str]) -> Iterator[WrittenLine]:
        """Yield one weight, `e^2 / (e^2 + e^1) = …`, as a cell of its row."""
        place = self._rows.weight_of(exponent, below)
        if place is None:
            self._lose(entry.line)
            return
        weights = self._sheet.steps[place.softmax]
        i, j = (place.column, place.row) if self._sheet.layout == "columns" else (place.row, place.column)
        yield replace(entry.line, name=f"{weights.symbol}[{i + 1}, {j + 1}]", where=weights.where)

    def _softmax_row(self, entry: PageStatement) -> Iterator[WrittenLine]:
        """Yield the weights of `softmax(2, 7) = …` in their row, and its scores, which are a copy if numbers before."""
        place = self._rows.row_of(entry.softmax)
        if place is None:
            self._lose(entry.line)
            return
        weights = self._sheet.steps[place.softmax]
        scores = self._sheet.by_id[scores_id(self._sheet, weights)]
        name = f"{weights.symbol}[{place.row + 1}]"
        if scores.step is not None:
            is_copy = any(entry.softmax in statement.line.cells for statement in self._statements)
            own = f"{scores.symbol}[{place.row + 1}]"
            yield WrittenLine(own, (entry.softmax,), scores.where, entry.line.place, name if is_copy else "")
        yield replace(entry.line, name=name, where=weights.where)

    def _exponentials(self, group: Sequence[PageStatement], cells: Sequence[RowPlace | None]) -> Iterator[WrittenLine]:
        """Yield exponentials as cells of their line; one that the exercise does not have is a side calculation."""
        for entry, cell in zip(group, cells, strict=True):
            if cell is None:
                result = entry.line.cells[-1][-1]
                self._notes.append(side_calculation(f"e^({entry.exponents[0]})", result, _line_number(entry.line)))
                continue
            i, j = (cell.column, cell.row) if self._sheet.layout == "columns" else (cell.row, cell.column)
            where = self._sheet.steps[cell.softmax].where
            yield replace(entry.line, name=f"exponentials[{i + 1}, {j + 1}]", where=where)

    def _sum(self, line: WrittenLine, place: RowPlace | None) -> Iterator[WrittenLine]:
        if place is None:
            self._lose(line)
            return
        yield replace(line, name=f"sum[{place.row + 1}]", where=self._sheet.steps[place.softmax].where)

    def _lose(self, line: WrittenLine) -> None:
        shown = f"{line.name} = {' '.join(cell for row in line.cells for cell in row)}"[:100]
        self._notes.append(unread(f"{shown} (no row has these scores)", _line_number(line)))


def _common_row(cells: Sequence[RowPlace | None]) -> RowPlace | None:
    """Return the row of cells that are all in one row."""
    placed = [cell for cell in cells if cell is not None]
    rows = {(cell.softmax, cell.row) for cell in placed}
    return placed[0] if len(rows) == 1 else None


def _line_number(line: WrittenLine) -> int:
    number = line.place.removeprefix("line ")
    return int(number) if number.isdecimal() else 0

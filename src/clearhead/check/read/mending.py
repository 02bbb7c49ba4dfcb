"""Repair scanning errors in a matrix where the rest of the page proves the repair. Every repair is reported.

Examples are a row that lost a number, an extra column, and a decimal point that became a middle dot.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clearhead.check.read.latex import Grid, is_plain_number
from clearhead.check.working import Cells

_MIDDLE_DOT = re.compile(r"([-−–]?\d{1,30})\s?(?:\\cdot|·|⋅)\s?(\d{1,30})")
_POSITIVE_POWER = re.compile(r"10\s{0,2}\^\s{0,2}\{?\s{0,2}\+?(\d{1,6})\s{0,2}\}?")
_MAX_CELLS = 4096  # the largest matrix that is repaired


@dataclass(frozen=True)
class MendedGrid:
    """A grid after repair, with a sentence for each repair and for each loss."""

    grid: Grid
    repairs: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


def number_of(cell: str) -> float | None:
    """Return the value of a plain decimal, or None."""
    text = cell.strip().replace("−", "-").replace("–", "-").replace(" ", "")
    try:
        return float(text) if re.fullmatch(r"[-+]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})", text) else None
    except ValueError:
        return None


def same_numbers(first: Grid, second: Grid) -> bool:
    """Return whether two grids have equal numbers in the same places, in any notation."""
    if first.height != second.height or first.width != second.width:
        return False
    pairs = zip(first.numbers, second.numbers, strict=False)
    return len(first.numbers) == len(second.numbers) and all(_same(one, other) for one, other in pairs)


def share_of_same(first: Grid, second: Grid) -> float:
    """Return the share of equal cells; 0 if the shapes differ."""
    if first.height != second.height or first.width != second.width or len(first.numbers) != len(second.numbers):
        return 0.0
    pairs = list(zip(first.numbers, second.numbers, strict=True))
    return sum(_same(one, other) for one, other in pairs) / max(1, len(pairs))


def _same(one: str, other: str) -> bool:
    one_value, other_value = number_of(one), number_of(other)
    return (
        one_value == other_value
        if one_value is not None and other_value is not None
        else re.sub(r"\s", "", one) == re.sub(r"\s", "", other)
    )


def mend_dots(name: str, grid: Grid, earlier: Sequence[Grid]) -> MendedGrid:
    """Read 2·1 as 2.1 if every cell is written like this, or if the matrix then equals an earlier one."""
    dotted = [cell for cell in grid.numbers if _MIDDLE_DOT.fullmatch(cell)]
    if not dotted:
        return MendedGrid(grid)
    pointed = Grid(tuple(tuple(_MIDDLE_DOT.sub(r"\1.\2", cell) for cell in row) for row in grid.cells), grid.is_list)
    first = re.sub(r"\s?\\cdot\s?", "·", dotted[0])
    if len(dotted) == len([cell for cell in grid.numbers if cell]) and len(dotted) > 1:
        why = "all its numbers are written like this"
    elif any(same_numbers(pointed, matrix) for matrix in earlier):
        why = "the matrix then equals an earlier one"
    else:
        return MendedGrid(
            grid,
            losses=(
                f"{name} contains {first}, which can be a product or a misplaced decimal point; it was not changed",
            ),
        )
    restored = _MIDDLE_DOT.sub(r"\1.\2", dotted[0])
    sentence = f"{first} in {name} was read as {restored}, and its other numbers in the same way, because {why}"
    return MendedGrid(pointed, (sentence,))


def mend_rows(name: str, grid: Grid, alike: Sequence[Grid]) -> MendedGrid:
    """Restore rows of the wrong length from another copy of the same matrix, or blank them."""
    width = _common_width(grid, alike)
    if all(len(row) == width for row in grid.cells):
        return MendedGrid(grid)
    repairs, losses = [], []
    rows = []
    for number, row in enumerate(grid.cells, 1):
        if len(row) == width:
            rows.append(row)
            continue
        shown = " ".join(cell for cell in row if cell)[:80]
        fault = f"row {number} of {name} has {_numbers(row)}, but its other rows have {width}: {shown}"
        restored = next(
            (candidate for candidate in _rows_at(alike, number - 1, width) if _digits(candidate) == _digits(row)), None
        )
        if restored:
            repairs.append(f"{fault}; it was read as {' '.join(restored)}, as in another copy of {name}")
            rows.append(restored)
        else:
            losses.append(fault)
            rows.append(("",) * width)
    return MendedGrid(Grid(tuple(rows), grid.is_list), tuple(repairs), tuple(losses))


def _numbers(row: Sequence[str]) -> str:
    return "1 number" if len(row) == 1 else f"{len(row)} numbers"


def _common_width(grid: Grid, alike: Sequence[Grid]) -> int:
    widths = Counter(len(row) for row in grid.cells)
    (width, count), *others = widths.most_common(2)
    if others and others[0][1] == count:
        widths_of_copies = Counter(copy.width for copy in alike if not copy.is_ragged)
        return (
            widths_of_copies.most_common(1)[0][0]
            if widths_of_copies and widths_of_copies.most_common(1)[0][0] in widths
            else max(widths)
        )
    return width


def _rows_at(alike: Sequence[Grid], place: int, width: int) -> Iterator[tuple[str, ...]]:
    for grid in alike:
        if place < grid.height and len(grid.cells[place]) == width:
            yield grid.cells[place]


def _digits(row: Sequence[str]) -> str:
    return re.sub(r"[^\d]", "", "".join(row))


def mend_factor(name: str, first: Grid, factor: Grid, result: Grid, product: str) -> MendedGrid:
    """Repair a factor of `left × factor = result` if exactly one repair gives the written product."""
    if max(len(first.numbers), len(factor.numbers), len(result.numbers)) > _MAX_CELLS:
        return MendedGrid(factor)
    because = f"because {product} then gives the written result"
    candidates: list[tuple[Cells, str]] = []
    widths = Counter(len(row) for row in factor.cells)
    width = result.width if result.width in widths and len(widths) > 1 else widths.most_common(1)[0][0]
    short = [number for number, row in enumerate(factor.cells) if len(row) == width - 1]
    if len(widths) > 1 and len(short) == 1 and all(len(row) in (width, width - 1) for row in factor.cells):
        row = factor.cells[short[0]]
        for split in _splits(row):
            fault = f"row {short[0] + 1} of {name} has {_numbers(row)}, but its other rows have {width}"
            rows = tuple(split if number == short[0] else cells for number, cells in enumerate(factor.cells))
            candidates.append((rows, f"{fault}: {' '.join(row)}; it was read as {' '.join(split)}, {because}"))
    if len(widths) == 1 and width == result.width + 1 and width > 1:
        for column in range(width):
            column_cells = " ".join(row[column] for row in factor.cells)[:60]
            rows = tuple(row[:column] + row[column + 1 :] for row in factor.cells)
            fault = f"{name} has {width} columns, but {width - 1} fit"
            candidates.append((rows, f"{fault}: column {column + 1} ({column_cells}) was ignored, {because}"))
    fitting = [(rows, sentence) for rows, sentence in candidates if _comes_out(first, rows, result)]
    if len({rows for rows, _ in fitting}) == 1:
        return MendedGrid(Grid(fitting[0][0], factor.is_list), (fitting[0][1],))
    return MendedGrid(factor)


def _splits(row: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the row with one of its numbers split in two, for every possible split."""
    for place, cell in enumerate(row):
        for cut in range(1, min(len(cell), 40)):
            one, other = cell[:cut], cell[cut:]
            if is_plain_number(one) and is_plain_number(other):
                yield (*row[:place], one, other, *row[place + 1 :])


def _comes_out(first: Grid, factor: Cells, result: Grid) -> bool:
    """Return whether most cells of the product match to half a unit of the last digit, and none is far off."""
    rows = [[number_of(cell) for cell in row] for row in first.cells]
    columns = [[number_of(cell) for cell in column] for column in zip(*factor, strict=False)]
    hits = misses = 0
    for row, written_row in zip(rows, result.cells, strict=False):
        for column, text in zip(columns, written_row, strict=False):
            number = number_of(text)
            if number is None or None in row or None in column or len(row) != len(column):
                misses += 1
                continue
            total = sum(a * b for a, b in zip(row, column, strict=True) if a is not None and b is not None)
            unit = 10.0 ** -len(text.partition(".")[2])
            close = abs(total - number) <= 0.500001 * unit + 1e-9
            hits, misses = hits + close, misses + (not close)
    return hits > 0 and hits >= 4 * misses


def mend_height(name: str, grid: Grid, height: int) -> MendedGrid:
    """Drop rows with gaps if their number equals the number of extra rows."""
    gaps = [number for number, row in enumerate(grid.cells) if any(not cell for cell in row)]
    surplus = grid.height - height
    if surplus <= 0 or len(gaps) != surplus:
        return MendedGrid(grid)
    shown = {number: " ".join(filter(None, grid.cells[number]))[:60] for number in gaps}
    fault = f"{name} has {grid.height} rows, but {height} fit"
    sentences = [f"{fault}: row {number + 1} ({shown[number]}) has gaps and was ignored" for number in gaps]
    rows = tuple(row for number, row in enumerate(grid.cells) if number not in gaps)
    return MendedGrid(Grid(rows, grid.is_list), tuple(sentences))


def doubtful_cells(name: str, grid: Grid, *, are_weights: bool = False) -> list[str]:
    """Return a sentence for each implausible cell: an extreme power of ten, or a weight above 1."""
    sentences = []
    for row, cells in enumerate(grid.cells, 1):
        for column, cell in enumerate(cells, 1):
            power = _POSITIVE_POWER.search(cell)
            if power and (are_weights or len(power[1]) > 2):
                place = f"row {row}, column {column} of {name}"
                sentences.append(f"{place} is {cell[:40]}: a sign or a digit of its exponent was probably lost")
    return sentences[:8]

"""Read tables whose rows are single cells: `| q1·k2 | 0.07 | 0.05 |` under the header `pair, score, scaled`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from clearhead.check.read.cell_name import read_selection
from clearhead.check.read.labelled_row import captioned
from clearhead.check.read.latex import is_number
from clearhead.check.read.symbol import Symbol

_WORDS = {"scores": "scores", "weights": "weights"}


@dataclass(frozen=True)
class TableCell:
    """One number of such a table, with its name and its row in the table (from 0)."""

    symbol: Symbol
    text: str
    row: int


def cells_by_pair(rows: Sequence[Sequence[str]], tokens: Collection[str]) -> list[TableCell]:
    """Return the cells of a table whose first column names pairs such as q1·k2; empty for any other table."""
    body = rows[1:]
    selections = [read_selection(row[0], tokens) if row else None for row in body]
    pairs = [symbol for symbol in selections if symbol is not None and ", " in symbol.name]
    if len(pairs) < 2 or 2 * len(pairs) < len(body) or len(rows[0]) < 2:
        return []
    headers = [captioned(cell, tokens) or Symbol(cell or "?") for cell in rows[0][1:]]
    cells = []
    for number, (row, symbol) in enumerate(zip(body, selections, strict=True), 1):
        if symbol is None or ", " not in symbol.name:
            continue
        place = symbol.name.partition("[")[2]
        for header, text in zip(headers, row[1:], strict=False):
            if is_number(text):
                name = _WORDS.get(header.part or "", header.name.partition("[")[0])
                cells.append(TableCell(Symbol(f"{name}[{place}", header.part, symbol.row), text, number))
    return cells

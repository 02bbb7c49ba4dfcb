"""Read tables whose columns are lines: `| score | exp | weight |` with one token in each row."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from clearhead.check.read.labelled_row import captioned
from clearhead.check.read.latex import is_number
from clearhead.check.read.number import is_blank
from clearhead.check.read.symbol import Symbol, is_line_word

_LETTERS = ("μ", "σ")
SUM_LABELS = frozenset(("sum", "total", "Σ", "∑", "sums"))
_ROW = re.compile(r"(?i)(?:row|token|word|query|position|for|step)\s?(?:#|no\.?)?\s?[\"'“]?(\w{1,20})[\"'”]?\s?[:.]?")


@dataclass(frozen=True)
class NamedColumn:
    """The numbers of one column and the line that they belong to."""

    symbol: Symbol
    cells: tuple[str, ...]


def named_columns(rows: Sequence[Sequence[str]], tokens: Collection[str], caption: str = "") -> list[NamedColumn]:
    """Return the columns of such a table, and the sum of the exponentials below them; empty for any other table.

    A caption such as `row 2` above the table says which row of the matrices the columns are.
    """
    rows = [row for row in rows if any(cell.strip(" :-") for cell in row)]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        return []
    symbols = [_line(cell, tokens) for cell in rows[0]]
    named = [column for column, symbol in enumerate(symbols) if symbol is not None]
    has_labels = symbols[0] is None
    if len(named) < 2 or len(named) < len(symbols) - has_labels or any(is_number(cell) for cell in rows[0]):
        return []
    last = rows[-1]
    is_sum = len(rows) > 2 and last[0].strip(" *:").casefold() in SUM_LABELS
    body = rows[1:-1] if is_sum else rows[1:]
    columns = [tuple(row[column] for row in body) for column in named]
    if not all(is_number(cell) or is_blank(cell) for cells in columns for cell in cells):
        return []
    match = _ROW.fullmatch(caption.strip())
    row = match[1] if match and (match[1].isdecimal() or match[1].casefold() in tokens) else ""
    line_columns = []
    for column, cells in zip(named, columns, strict=True):
        symbol = symbols[column]
        assert symbol is not None
        line_columns.append(NamedColumn(_selected(symbol, row), cells))
        if is_sum and is_exponential(symbol.name) and is_number(last[column]):
            line_columns.append(NamedColumn(_selected(Symbol("sum"), row), (last[column],)))
    return line_columns


def is_exponential(name: str) -> bool:
    """Return whether a column has the exponentials."""
    return name.strip().casefold().startswith(("exp", "e^", "numerator"))


def _line(header: str, tokens: Collection[str]) -> Symbol | None:
    """Return the line that a header names; a token, k1 or a letter other than μ and σ names none."""
    text = header.strip(" *`$")
    if text in _LETTERS and text not in tokens:
        return Symbol(text)
    if (
        len(text) < 2
        or re.search(r"\d", text)
        or text.casefold() in tokens
        or text.casefold() in ("token", "word", "key", "keys", "position")
    ):
        return None
    return Symbol(text) if is_line_word(text) else captioned(text, tokens)


def _selected(symbol: Symbol, row: str) -> Symbol:
    name = symbol.name.partition("[")[0]
    return Symbol(f"{name}[{row}]" if row else name, symbol.part, int(row) if row.isdecimal() else 0)

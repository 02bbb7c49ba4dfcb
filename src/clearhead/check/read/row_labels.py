"""Place the rows and columns of a table by their labels: tokens, `row 2`, `q1`, or numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clearhead.check.working import Cells

_COUNTED = re.compile(r"(?i)(?:row|token|word|query|key|position|pos|dim)?\s?#?(\d{1,2})|[qkvxeszoh]_?\{?(\d{1,2})\}?")


@dataclass(frozen=True)
class PlacedRows:
    """Rows of a matrix; `row` selects one of them (a number or a token), and is empty for the entire matrix."""

    row: str
    cells: Cells
    number: int = 0


def place_rows(
    cells: Cells, labels: Sequence[str], columns: Sequence[str], token_lists: Sequence[Sequence[str]]
) -> list[PlacedRows]:
    """Return the entire matrix if its labels are in order, otherwise each row with its own selection."""
    cells = _in_order(cells, columns, token_lists)
    places = [_place(label, token_lists) for label in labels]
    if len(labels) != len(cells) or any(place is None for place in places):
        return [PlacedRows("", cells)]
    words = [label.strip("<>* ").casefold() for label in labels]
    numbers = [place for place in places if place is not None]
    if numbers and numbers[0] == 0:  # counted from 0
        numbers = [number + 1 for number in numbers]
    is_complete = any(len(numbers) == len(tokens) for tokens in token_lists) or not token_lists
    if is_complete and numbers == list(range(1, len(numbers) + 1)):
        return [PlacedRows("", cells)]
    all_tokens = {word for tokens in token_lists for word in tokens}
    return [
        PlacedRows(label.strip("<>* ") if word in all_tokens else str(number), (row,), number)
        for label, word, number, row in zip(labels, words, numbers, cells, strict=True)
    ]


def _place(label: str, token_lists: Sequence[Sequence[str]]) -> int | None:
    """Return the number of a row (from 1, or from 0 as written), or None if the label says nothing about it."""
    word = label.strip("<>* ").casefold()
    for tokens in token_lists:
        if word in tokens:
            return list(tokens).index(word) + 1
    match = _COUNTED.fullmatch(label.strip(" *$"))
    return int(match[1] or match[2]) if match else None


def _in_order(cells: Cells, columns: Sequence[str], token_lists: Sequence[Sequence[str]]) -> Cells:
    """Return the cells with their columns in the order of the tokens, if the header names all tokens."""
    words = [column.strip("<>* ").casefold() for column in columns]
    for tokens in token_lists:
        is_other_order = sorted(words) == sorted(tokens) and words != list(tokens) and len(set(words)) == len(words)
        if is_other_order and all(len(row) == len(words) for row in cells):
            order = [words.index(word) for word in tokens]
            return tuple(tuple(row[place] for place in order) for row in cells)
    return cells

"""Convert the matrices, vectors and names of a problem file to arrays, or raise ValueError with the reason."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, PlainValidator

from clearhead.errors import did_you_mean
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.part_line import LinkedArray, is_reference

MAX_CELLS = 2**20  # of one matrix: about a million
MAX_TEXT = 1_000  # characters of a title or a name
_MAX_COMPLAINTS = 3  # of one matrix
_DECIMAL = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?"
_NUMBER = re.compile(rf"\s*({_DECIMAL})\s*(?:/\s*({_DECIMAL})\s*)?")


def read_number(cell: object) -> float:
    """Return a number written as 1.5, "1.5", 1e-3, "2/3" or with a typographic minus; anything else is an error."""
    if isinstance(cell, bool) or cell is None:
        raise ValueError(f"{cell!r} is not a number")
    if isinstance(cell, int | float | np.integer | np.floating):
        try:
            value = float(cell)
        except OverflowError:
            raise ValueError("an integer of more than 308 digits is too large") from None
    else:
        match = _NUMBER.fullmatch(str(cell).replace("\N{MINUS SIGN}", "-"))
        if match is None:
            raise ValueError(f"{_short(cell)} is not a number" if str(cell).strip() else "the number is missing")
        under = float(match[2]) if match[2] else 1.0
        if under == 0.0:
            raise ValueError(f"{_short(cell)} divides by zero")
        value = float(match[1]) / under
    if not np.isfinite(value):
        raise ValueError(f"{_short(cell)} is not a finite number")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "…"


def read_vector(raw: object) -> Array:
    """Read `[1, 2, 3]`."""
    if isinstance(raw, LinkedArray):
        raise ValueError(f"{raw.line} can be used for a matrix or a state, but not here. Write the numbers")
    if isinstance(raw, np.ndarray):
        raw = raw.tolist()
    if not isinstance(raw, list | tuple):
        raise ValueError(f"expected a list of numbers such as [1, 2, 3], but found {_short(raw)}")
    if not raw:
        raise ValueError("is empty. Give at least one number")
    if any(isinstance(cell, list | tuple) for cell in raw):
        raise ValueError("expected a flat list of numbers such as [1, 2, 3], but it contains lists")
    return np.asarray(_read_rows([raw])[0])


def read_state(raw: object) -> Array:
    """Read `[1, 2, 3]`, or one token of an earlier part."""
    if not isinstance(raw, LinkedArray):
        return read_vector(raw)
    if raw.num_tokens != 1:
        raise ValueError(
            f"{raw.line} has {raw.num_tokens} tokens, but a state is one vector. Select one, as in {raw.line}[1]"
        )
    return raw.reshape(-1)


def read_matrix(raw: object) -> Array:
    """Read `[[1, 2], [3, 4]]`: a list of rows of the same length."""
    if isinstance(raw, LinkedArray):
        return raw
    if is_reference(raw):
        raise ValueError(
            f"{_short(raw)} refers to another part. Only a key of an exercise with parts can do so: write the numbers"
        )
    if isinstance(raw, np.ndarray):
        if raw.size > MAX_CELLS:
            raise ValueError(_too_large(raw.size))
        raw = raw.tolist()
    if not isinstance(raw, list | tuple):
        raise ValueError(f"expected a list of rows such as [[1, 2], [3, 4]], but found {_short(raw)}")
    if not raw:
        raise ValueError("is empty: a sequence needs at least one token. Give at least one row")
    flat = [number for number, row in enumerate(raw, 1) if not isinstance(row, list | tuple)]
    if flat:
        raise ValueError(
            f"row {flat[0]} is {_short(raw[flat[0] - 1])}, not a list. Write a matrix as a list of rows, "
            "[[1, 2], [3, 4]]; a single row is [[1, 2]]"
        )
    widths = [len(row) for row in raw]
    if widths[0] == 0:
        raise ValueError("row 1 is empty. Give at least one number in every row")
    ragged = [(number, width) for number, width in enumerate(widths, 1) if width != widths[0]]
    if ragged:
        number, width = ragged[0]
        raise ValueError(
            f"row {number} has {count(width, 'number')} but row 1 has {widths[0]}. Give every row the same length"
        )
    if len(raw) * widths[0] > MAX_CELLS:
        raise ValueError(_too_large(len(raw) * widths[0]))
    return _read_rows(raw)


def _too_large(cells: int) -> str:
    return f"has {cells:,} cells. A matrix of a worksheet can have at most {MAX_CELLS:,}: give fewer tokens"


def _read_rows(rows: Any) -> Array:
    values, complaints = [], []
    for i, row in enumerate(rows, 1):
        line = []
        for j, cell in enumerate(row, 1):
            if type(cell) is float or type(cell) is int:
                line.append(cell)
                continue
            try:
                line.append(read_number(cell))
            except ValueError as problem:
                line.append(0.0)
                complaints.append(f"row {i}, column {j}: {problem}")
        values.append(line)
    try:
        matrix = np.array(values, dtype=np.float64)
    except OverflowError:
        raise ValueError("an integer of more than 308 digits is too large") from None
    for i, j in np.argwhere(~np.isfinite(matrix))[:_MAX_COMPLAINTS]:
        complaints.append(f"row {i + 1}, column {j + 1}: {matrix[i, j]} is not a finite number")
    if complaints:
        more = len(complaints) - _MAX_COMPLAINTS
        tail = f"; and {count(more, 'more cell')}" if more > 0 else ""
        raise ValueError("; ".join(complaints[:_MAX_COMPLAINTS]) + tail)
    return matrix


def read_allowed(raw: object) -> Array:
    """Read a mask of 1 (attend) and 0 (do not attend), or of true and false."""
    if isinstance(raw, list | tuple):
        raw = [[int(c) if isinstance(c, bool) else c for c in r] if isinstance(r, list | tuple) else r for r in raw]
    if isinstance(raw, LinkedArray):
        raise ValueError(f"{raw.line} can be used for a matrix of numbers, but not for a mask. Write 1 and 0")
    matrix = read_matrix(raw)
    wrong = np.argwhere((matrix != 0.0) & (matrix != 1.0))
    if len(wrong):
        i, j = wrong[0]
        raise ValueError(f"row {i + 1}, column {j + 1}: {matrix[i, j]:g} is neither 1 (attend) nor 0 (do not attend)")
    return matrix


def read_tokens(raw: object) -> tuple[str, ...]:
    """Read a list of names; a name can be a number."""
    if not isinstance(raw, list | tuple):
        raise ValueError(f"expected a list of names such as [the, cat], but found {_short(raw)}")
    names = []
    for number, token in enumerate(raw, 1):
        try:
            names.append(read_text(token))
        except ValueError as problem:
            raise ValueError(f"name {number}: {problem}") from None
    return tuple(names)


def read_embedding(raw: object) -> dict[str, Array]:
    """Read `{the: [1, 2], cat: [3, 4]}`: a vector of the same width for every word."""
    if not isinstance(raw, Mapping) or not raw:
        raise ValueError(
            f"expected words with their vectors, as in {{the: [1, 2], cat: [3, 4]}}, but found {_short(raw)}"
        )
    table = {}
    for word, vector in raw.items():
        try:
            table[read_text(word)] = read_vector(vector)
        except ValueError as problem:
            raise ValueError(f"the vector of {_short(word)}: {problem}") from None
    cells = sum(len(vector) for vector in table.values())
    if cells > MAX_CELLS:
        raise ValueError(_too_large(cells))
    widths = {word: len(vector) for word, vector in table.items()}
    first = next(iter(widths))
    for word, width in widths.items():
        if width != widths[first]:
            raise ValueError(
                f"the vector of '{word}' has {count(width, 'number')} but that of '{first}' has {widths[first]}. "
                "Give every word a vector of the same width"
            )
    return table


def count(number: int, noun: str) -> str:
    """Write `1 row`, `2 rows`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def read_count(raw: object) -> int:
    """Read an integer; true and false are not integers."""
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise ValueError(f"expected an integer, but found {_short(raw)}")
    return raw


def read_text(raw: object) -> str:
    """Read a title or a name."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ValueError(f"expected text, but found {_short(raw)}. Put it in quotes")
    text = str(raw)
    if len(text) > MAX_TEXT:
        raise ValueError(f"{_short(raw)} has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"{_short(raw)} contains half of a surrogate pair, which is not a character")
    return text


SHOWN_LINES = ("exponentials", "shifted-exponentials", "deviation")


def read_shown_lines(raw: object) -> tuple[str, ...]:
    """Read the lines to show: one name or a list of names."""
    names = [raw] if isinstance(raw, str) else raw
    if not isinstance(names, list | tuple):
        raise ValueError(f"expected a name or a list of names, but found {_short(raw)}")
    for name in names:
        if name not in SHOWN_LINES:
            near = did_you_mean(str(name), SHOWN_LINES)
            raise ValueError(f"{_short(name)} is not a line that can be shown.{near} Lines: {', '.join(SHOWN_LINES)}")
    if {"exponentials", "shifted-exponentials"} <= set(names):
        raise ValueError("both exponentials and shifted-exponentials are given. Remove one of them")
    return tuple(dict.fromkeys(names))


Count = Annotated[int, BeforeValidator(read_count)]
Real = Annotated[float, BeforeValidator(read_number)]
Title = Annotated[str, BeforeValidator(read_text)]
Matrix = Annotated[Array, PlainValidator(read_matrix)]
Vector = Annotated[Array, PlainValidator(read_vector)]
State = Annotated[Array, PlainValidator(read_state)]
Allowed = Annotated[Array, PlainValidator(read_allowed)]
Tokens = Annotated[tuple[str, ...], PlainValidator(read_tokens)]
Embedding = Annotated[dict[str, Array], PlainValidator(read_embedding)]
ShownLines = Annotated[tuple[str, ...], PlainValidator(read_shown_lines)]

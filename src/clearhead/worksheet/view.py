"""The content of a worksheet as it is shown: headings, equations, labelled matrices and the calculation of every cell.

All renderers use this module, so that all of them show the same digits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from clearhead.errors import ProblemError, did_you_mean
from clearhead.steps import Record, Step
from clearhead.steps.symbols import SUBSCRIPT_DIGITS, subscript
from clearhead.steps.vocabulary import PLACES, POSITION_FORMULAS
from clearhead.worksheet.arrays import AnyArray
from clearhead.worksheet.expression import Expression, Number, evaluate, write
from clearhead.worksheet.parents import PARENTS
from clearhead.worksheet.pen import in_rows, transpose
from clearhead.worksheet.rounding import BLANK, Digits
from clearhead.worksheet.working import WORKINGS, moves
from clearhead.worksheet.worksheet import Worksheet

MAX_ROWS, MAX_COLUMNS = 24, 12
TRACE_KIND = "trace"  # of a sheet that shows a model's forward pass, not an exercise
IDLE_MASK = "The mask hides no key here, so the scores stay as they are."
Labels = tuple[str, ...]
_BLANK_PATTERN = re.compile(r"(?:(\S+):)?([^\[\]]+?)(?:\[\s*(.+?)\s*,\s*(.+?)\s*\])?")
_EVIDENT = ("pos", "dim", "tokens", "positions")  # the row and column names already show these lists


@dataclass(frozen=True, eq=False)
class MatrixView:
    """A matrix as it is shown on the sheet, in the layout of the sheet."""

    symbol: str
    value: AnyArray
    rows: Labels
    columns: Labels
    digits: Digits
    is_choice: bool = False  # whether the rows are named after the words that the cells choose
    origin: str = "given"  # of a matrix that no step computes: given, or mask

    @property
    def size(self) -> str:
        """`3 × 4`."""
        return " × ".join(str(n) for n in self.value.shape)

    def shown(self, max_columns: int = MAX_COLUMNS) -> tuple[list[int], list[int]]:
        """Return the rows and columns that are shown; of a large matrix, the first ones and the last."""
        return first_and_last(self.value.shape[0], MAX_ROWS), first_and_last(
            self.value.shape[1], min(max_columns, MAX_COLUMNS)
        )

    def row_name(self, row: int) -> str:
        """Return the token of a row, or its number; a chosen word that is a blank stays hidden."""
        if self.is_choice and self.digits.is_hidden(row, 0):
            return BLANK
        return self.rows[row] if self.rows else str(row + 1)

    def column_name(self, column: int) -> str:
        """Return the token of a column, or its number."""
        return self.columns[column] if self.columns else str(column + 1)


def _places(label: str, names: list[str]) -> list[int]:
    """Return the indices that a name, a number from 1 or `*` selects; a name takes precedence over a number."""
    if label == "*":
        return list(range(len(names)))
    named = [place for place, name in enumerate(names) if name == label]
    return named or [place for place in range(len(names)) if str(place + 1) == label]


def _find_symbol(typed: str, symbols: Sequence[str]) -> str:
    """Return the symbol for text typed without subscripts and primes; unknown text is returned unchanged."""
    if typed in symbols:
        return typed
    spelled = re.sub(r"_?(\d+)$", lambda match: subscript(int(match[1])), typed.replace("''", "″").replace("'", "′"))
    if spelled in symbols:
        return spelled
    numbered = {symbol for symbol in symbols if symbol.rstrip(SUBSCRIPT_DIGITS) == spelled}
    return numbered.pop() if len(numbered) == 1 else typed


def first_and_last(count: int, limit: int) -> list[int]:
    """Return the indices of up to `limit` rows or columns: all of them, or the first ones and the last."""
    if count <= limit:
        return list(range(count))
    return [*range(limit - 1), count - 1]


@dataclass(frozen=True, eq=False)
class CellView:
    """One cell of a matrix of the sheet."""

    matrix: MatrixView
    row: int
    column: int


@dataclass(frozen=True, eq=False)
class StepView:
    """One step as it is shown on the sheet; `givens` are the given matrices that it uses first."""

    record: Record
    section: str
    equation: str
    givens: list[MatrixView]
    matrix: MatrixView
    note: str  # says that a mask hides nothing; empty for every other step
    _rows_record: Record
    _numbers: "_SheetNumbers"

    @property
    def step(self) -> Step:
        """The Step that was computed."""
        return self.record.step

    @property
    def is_omitted(self) -> bool:
        """Whether the note is shown instead of the matrix."""
        height, width = self.matrix.value.shape
        has_blanks = any(self.matrix.digits.is_hidden(i, j) for i in range(height) for j in range(width))
        return bool(self.note) and not has_blanks

    def cell_line(self, row: int, column: int) -> str | None:
        """Write the arithmetic of a cell, `-0.995 = 1.87×1.1 + 1.09×(-2.8)`; None if the number is only copied.

        The sign is ≈ if the digits shown do not give the last digit of the total. A blank has no line.
        """
        working = self.cell_working(row, column)
        if working is None:
            return None
        expression, sign = working
        return f"{self.matrix.digits.text(row, column)} {sign} {write(expression)}"

    def cell_working(self, row: int, column: int) -> tuple[Expression, str] | None:
        """Return the calculation of a cell, and = or ≈; None if the number is only copied, and for a blank."""
        expression = self.cell_expression(row, column)
        if expression is None or self.matrix.digits.is_hidden(row, column):
            return None
        again = evaluate(expression)
        agrees = again is not None and self.matrix.digits.agrees(float(again), row, column)
        return expression, "=" if agrees or BLANK in write(expression) else "≈"

    def cells(self, row: str, column: str) -> list[tuple[int, int]]:
        """Return the cells at a row and a column, each given as a name, a number from 1, or `*`."""
        matrix = self.matrix
        height, width = matrix.value.shape
        rows = _places(row, [matrix.row_name(i) for i in range(height)])
        return [(i, j) for i in rows for j in _places(column, [matrix.column_name(j) for j in range(width)])]

    def hide(self, row: int, column: int) -> None:
        """Show a blank instead of this cell, here and wherever another calculation uses it."""
        self.matrix.digits.hide(row, column)
        self._numbers.digits[id(self._rows_record.value)].hide(*self._in_rows(row, column))

    def cell_expression(self, row: int, column: int) -> Expression | None:
        """Return the calculation of a cell of the sheet."""
        return WORKINGS[self.step.name](self._rows_record, *self._in_rows(row, column), self._numbers)

    def parents(self, row: int, column: int) -> list[CellView]:
        """Return the cells of the sheet that a cell was computed from; lists that the sheet does not show have none."""
        cells = []
        for parent in PARENTS[self.step.name](self._rows_record, *self._in_rows(row, column)):
            value = self._rows_record.inputs[parent.name]
            value = value if parent.part is None else value[parent.part]
            matrix = self._numbers.matrices.get(id(value))
            if matrix is not None:
                i, j = self._in_rows(parent.row, parent.column) if value.ndim == 2 else (0, parent.column)
                cells.append(CellView(matrix, i, j))
        return cells

    def _in_rows(self, row: int, column: int) -> tuple[int, int]:
        """Exchange row and column if tokens are columns; calling it twice returns the original pair."""
        return (row, column) if self._numbers.is_left_first else (column, row)


class SheetView:
    """A worksheet, ready to be rendered; `blanks` are the cells for the reader to fill in (see `hide`)."""

    def __init__(self, sheet: Worksheet, blanks: Sequence[str] = ()) -> None:
        self.sheet = sheet
        self.is_trace = sheet.kind == TRACE_KIND
        self._is_transposed = sheet.layout == "columns"
        worked = in_rows(sheet.trace)
        self._names: dict[int, str] = {}
        self._places: dict[int, str] = {}
        self._labels: dict[int, tuple[Labels, Labels]] = {}
        numbers = _SheetNumbers(not self._is_transposed)
        givens: dict[int, MatrixView] = {}
        masks = {id(record.inputs["allowed"]) for record in worked if record.step.name == "mask"}
        for entry in worked.givens.values():
            value_id = id(entry.value)
            self._names[value_id] = entry.symbol
            self._labels[value_id] = (entry.rows, entry.columns)
            numbers.digits[value_id] = Digits(np.asarray(entry.value), sheet.rounding, is_given=True)
            if entry.value.ndim == 2:
                matrix = self._matrix(entry.symbol, entry.value, numbers.digits[value_id])
                givens[value_id] = replace(matrix, origin="mask") if value_id in masks else matrix
            elif entry.symbol not in _EVIDENT:
                row = np.asarray(entry.value)[None, :]
                digits = Digits(row, sheet.rounding, is_given=True)
                givens[value_id] = MatrixView(entry.symbol, row, (), entry.rows, digits)
        drawn = dict(givens)
        self.steps: list[StepView] = []
        sections = _sections(worked.records, sheet.titles)
        for record, original, section in zip(worked, sheet.trace, sections, strict=True):
            value_id = id(record.value)
            self._labels[value_id] = propagate_names(record, self._labels)
            numbers.digits[value_id] = Digits(record.value, sheet.rounding)
            is_idle = self.is_trace and record.step.name == "mask" and bool(np.all(record.inputs["allowed"]))
            if is_idle:
                givens.pop(id(record.inputs["allowed"]), None)
            self.steps.append(
                StepView(
                    record=original,
                    section=section,
                    equation=self._name(record, "scores", record.inputs["scores"])
                    if is_idle
                    else self._equation(record),
                    givens=[givens.pop(key) for key in _ids(record.inputs.values()) if key in givens],
                    matrix=self._matrix(
                        record.symbol, record.value, numbers.digits[value_id], record.step.name == "choose"
                    ),
                    note=IDLE_MASK if is_idle else "",
                    _rows_record=record,
                    _numbers=numbers,
                )
            )
            self._names[value_id] = record.symbol
            self._places[value_id] = record.where
        numbers.matrices |= drawn | {
            id(record.value): step.matrix for record, step in zip(worked, self.steps, strict=True)
        }
        for blank in blanks:
            self.hide(blank)

    def hide(self, blank: str) -> None:
        """Replace cells by blanks: `A` a matrix, `A[2, *]` a row, `A[go, 1]` a cell, `cross*:A` only in some parts.

        `A_4`, `A4` and `A'` also find A₄ and A′, as in `matrix`.
        """
        match = _BLANK_PATTERN.fullmatch(blank.strip())
        where, typed, row, column = match.groups() if match else (None, blank, None, None)
        here = [step for step in self.steps if fnmatchcase(step.record.where, where or "*")]
        symbol = _find_symbol(typed, [step.matrix.symbol for step in here])
        steps = [step for step in here if step.matrix.symbol == symbol]
        if not steps:
            symbols = list(dict.fromkeys(step.matrix.symbol for step in self.steps))
            raise ProblemError(
                f"'{blank}' is not a step of this sheet.{did_you_mean(symbol, symbols)} Steps: {', '.join(symbols)}. "
                "Write A, A[2, *], A[go, 1] or cross*:A."
            )
        cells = [(step, i, j) for step in steps for i, j in step.cells(row or "*", column or "*")]
        if not cells:
            raise ProblemError(
                f"'{blank}' is not a cell of {symbol}, which is {steps[0].matrix.size}. Rows and columns count from 1."
            )
        for step, i, j in cells:
            step.hide(i, j)
        self._hide_what_is_moved()

    def _hide_what_is_moved(self) -> None:
        """Hide the cells that would reveal a blank: copies of it, and results that happen to be the same number.

        A mask, a split or a join copies; relu of a positive number, p - 0 and a weight of 1 give the same number.
        """
        for step in self.steps:
            is_moved = WORKINGS[step.step.name] is moves
            for i, j in step.cells("*", "*"):
                value = step.matrix.value[i, j]
                for parent in step.parents(i, j):
                    is_blank = parent.matrix.digits.is_hidden(parent.row, parent.column)
                    if is_blank and (is_moved or value == parent.matrix.value[parent.row, parent.column] != 0.0):
                        step.hide(i, j)

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings of the sheet; without the generated text if the choice of a word is a blank."""
        choices = [step.matrix for step in self.steps if step.step.name == "choose"]
        is_open = any(matrix.digits.is_hidden(0, 0) for matrix in choices)
        return tuple(note for note in self.sheet.warnings if not (is_open and "generated: " in note))

    def matrix(self, symbol: str, where: str = "*") -> MatrixView:
        """Return the only matrix with this symbol, computed or given, in a part of the model that matches `where`.

        `A4`, `A_4` and `A'` also find A₄ and A′; `A` finds A₄ if no other matrix is called A with a number.
        """
        here = [step for step in self.steps if fnmatchcase(step.record.where, where)]
        symbol = _find_symbol(symbol, [matrix.symbol for step in here for matrix in (*step.givens, step.matrix)])
        matches = [(step.record.where, step.matrix) for step in here if step.matrix.symbol == symbol]
        if not matches:
            matches = [
                (step.record.where, matrix) for step in here for matrix in step.givens if matrix.symbol == symbol
            ]
        if len(matches) == 1:
            return matches[0][1]
        if matches:
            places = ", ".join(place for place, _ in matches)
            raise ProblemError(
                f"'{symbol}' matches {len(matches)} matrices of this sheet: {places}. Add the part of the model, as in "
                f"'{matches[0][0]}:{symbol}'."
            )
        symbols = list(dict.fromkeys(matrix.symbol for step in self.steps for matrix in (*step.givens, step.matrix)))
        named = symbol if where == "*" else f"{where}:{symbol}"
        raise ProblemError(
            f"'{named}' is not a matrix of this sheet.{did_you_mean(symbol, symbols)} Matrices: {', '.join(symbols)}."
        )

    def _matrix(self, symbol: str, value: AnyArray, digits: Digits, is_choice: bool = False) -> MatrixView:
        rows, columns = self._labels[id(value)]
        if not self._is_transposed:
            return MatrixView(symbol, value, rows, columns, digits, is_choice)
        over = transpose(value)
        return MatrixView(symbol, over, columns, rows, digits.of(over))

    def _equation(self, record: Record) -> str:
        names = {name: self._name(record, name, value) for name, value in record.inputs.items()}
        return record.step.equation_in("columns" if self._is_transposed else "rows", names)

    def _name(self, record: Record, name: str, value: Any) -> str:
        if isinstance(value, tuple):
            return "; ".join(self._name(record, name, element) for element in value)
        if isinstance(value, np.ndarray):
            half, home = encoder_or_decoder(record.where), encoder_or_decoder(self._places.get(id(value), record.where))
            is_other = half and home and half != home
            return f"{self._names[id(value)]} ({home})" if is_other else self._names[id(value)]
        if name == "formula":
            return POSITION_FORMULAS[value].format(base=_plain(record.inputs["base"]))
        if name == "over":
            return {"features": "each token", "tokens": "each feature", "all": "all numbers"}[value]
        return value if isinstance(value, str) else _plain(value)


def place_name(where: str, titles: Sequence[str] = ()) -> str:
    """Return a path as a heading: `encoder.0.self_attention.head.2` is Encoder layer 1 · Self-attention · Head 3."""
    words, names = where.split("."), []
    for index, word in enumerate(words):
        if word == "start" and words[index - 1 : index] == ["decoder"]:  # of a recurrent decoder
            names.append("State before the first token")
        if word not in PLACES:
            continue
        number = words[index + 1] if index + 1 < len(words) and words[index + 1].isdigit() else None
        name = PLACES[word] if number is None else f"{PLACES[word]} {int(number) + 1}"
        if number is None and word in ("encoder", "decoder"):
            name = word.capitalize()
        if word == "output" and index and words[index - 1].endswith("_attention"):
            name = "Output projection"
        if word == "part" and number is not None and int(number) < len(titles):
            name = f"{name}: {titles[int(number)]}"
        names.append(name)
    if words[-1:] == ["norm"] and words[-2:-1] in (["encoder"], ["decoder"]):
        names.append("Final norm")
    return " · ".join(names)


def _sections(records: Sequence[Record], titles: Sequence[str]) -> list[str]:
    """Return the heading of every record: the name of its place, where a residual is called a norm only if it has one.

    The steps of one place can be in two runs: with pre-norm, the norm is before the sublayer and the sum after it.
    """
    names = [place_name(record.where, titles) for record in records]
    both = PLACES["add_and_norm"]
    sections: list[str] = []
    for name, run in groupby(zip(names, records, strict=True), key=lambda pair: pair[0]):
        steps = [record.step.name for _, record in run]
        section = name
        if both in name:
            title = "Residual" if steps == ["add"] else both if "add" in steps else "Norm"
            is_only = name.endswith(f"{both} 1") and f"{name[:-1]}2" not in names  # it needs no number
            section = name.replace(both, title).removesuffix(" 1" if is_only else "")
        sections += [section] * len(steps)
    return sections


def propagate_names(record: Record, labels: Mapping[int, tuple[Labels, Labels]]) -> tuple[Labels, Labels]:
    """Name the rows and columns of a value after the inputs that have the same axes."""
    if record.step.name == "append":
        both = labels[id(record.inputs["cached"])][0] + labels[id(record.inputs["new"])][0]
        return both if len(both) == len(record.value) else (), ()
    if record.step.name == "join":
        longest = max(record.inputs["parts"], key=len)
        return labels[id(longest)][0], ()
    if record.step.name == "pick" or ("row" in record.inputs and "names" not in record.inputs):
        rows, columns = labels[id(record.inputs["x"])]
        return rows[record.inputs["row"] - 1 : record.inputs["row"]], columns
    if record.step.name == "choose":
        words = labels[id(record.inputs["probabilities"])][1]
        return tuple(words[int(place)] for place in record.value[:, 0]) if words else (), ()
    by_axis: dict[str, Labels] = {}
    for name, value in record.inputs.items():
        if isinstance(value, np.ndarray):
            for axis, label in zip(record.step.input(name).axes[-2:], labels[id(value)], strict=False):
                if label:
                    by_axis.setdefault(axis, label)
    names = tuple(by_axis.get(axis, ()) for axis in record.axes[-2:])
    rows, columns = names if len(names) == 2 else ((), ())
    height, width = record.value.shape
    return rows if len(rows) == height else (), columns if len(columns) == width else ()


@lru_cache(maxsize=2**10)
def encoder_or_decoder(where: str) -> str:
    """Return the half of the model that a place is in: encoder, decoder, or an empty string."""
    return next((half for half in ("encoder", "decoder") if half in where.split(".")), "")


def _ids(values: Iterable[Any]) -> Iterator[int]:
    for value in values:
        if isinstance(value, tuple):
            yield from _ids(value)
        else:
            yield id(value)


class _SheetNumbers:
    """The digits of every array of the sheet."""

    max_terms = 12

    def __init__(self, is_left_first: bool) -> None:
        self.is_left_first = is_left_first
        self.digits: dict[int, Digits] = {}
        self.matrices: dict[int, MatrixView] = {}

    def cell(self, value: Any, *index: int) -> Number:
        """Return the shown number at `index`."""
        return Number(self.digits[id(value)].text(*index))

    def plain(self, number: float) -> Number:
        """Return a single number with its own digits."""
        return Number(_plain(number))


def _plain(number: float) -> str:
    """Write a single number with its own digits: 512, 0.00001, -∞."""
    if not np.isfinite(number):
        return "-∞" if number < 0 else "∞"
    size = abs(float(number))
    if size == 0.0 or 1e-7 <= size < 1e15:
        return np.format_float_positional(float(number), precision=12, unique=True, trim="-")
    return f"{number:.12g}"

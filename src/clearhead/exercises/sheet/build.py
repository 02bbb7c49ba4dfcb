"""Build the Sheet of a solved exercise."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from clearhead.exercises.sheet.sheet import Sheet, SheetLine
from clearhead.worksheet.view import MatrixView, SheetView, StepView


def sheet_of(view: SheetView) -> Sheet:
    """Return the sheet of a worksheet as it is shown, with its blanks."""
    worksheet = view.sheet
    ids = {id(entry.value): name for name, entry in worksheet.trace.givens.items()}
    paths = dict(ids)
    lines: list[SheetLine] = []
    for step in view.steps:
        for matrix in step.givens:
            lines.append(_given(matrix, step.section, _path_of(matrix, worksheet.trace.givens, paths)))
        line = _step(step, ids)
        lines.append(line)
        ids[id(step.record.value)] = line.id
    return Sheet(worksheet.id, worksheet.title or worksheet.kind, worksheet.layout, tuple(lines))


def _path_of(matrix: MatrixView, givens: Mapping[str, Any], paths: Mapping[int, str]) -> str:
    """Return the path of a given: that of its array, or of the first with its symbol if it was transposed."""
    own = paths.get(id(matrix.value))
    if own is not None:
        return own
    same = (name for name, entry in givens.items() if entry.symbol == matrix.symbol and _is_same(entry.value, matrix))
    return next(same, matrix.symbol)


def _is_same(value: Any, matrix: MatrixView) -> bool:
    array = np.atleast_2d(np.asarray(value))
    return any(np.array_equal(turned, matrix.value) for turned in (array, array.T))


def _given(matrix: MatrixView, section: str, path: str) -> SheetLine:
    where = path.rpartition(".")[0]
    return SheetLine(path, matrix.symbol, section, "", None, where, {}, *_cells(matrix), matrix.rows, matrix.columns)


def _step(step: StepView, ids: Mapping[int, str]) -> SheetLine:
    record, matrix = step.record, step.matrix
    parents = {name: tuple(_sources(value, ids)) for name, value in record.inputs.items()}
    return SheetLine(
        f"{record.where}:{record.step.name}",
        matrix.symbol,
        step.section,
        step.equation,
        record.step,
        record.where,
        {name: sources for name, sources in parents.items() if sources},
        *_cells(matrix),
        matrix.rows,
        matrix.columns,
    )


def _sources(value: Any, ids: Mapping[int, str]) -> Iterator[str]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _sources(part, ids)
    elif id(value) in ids:
        yield ids[id(value)]


def _cells(matrix: MatrixView) -> tuple[Any, tuple[tuple[str, ...], ...], Any]:
    """Return the values, the digits and the blanks of a matrix."""
    height, width = matrix.value.shape
    texts = tuple(tuple(matrix.digits.text(i, j) for j in range(width)) for i in range(height))
    blanks = np.array([[matrix.digits.is_hidden(i, j) for j in range(width)] for i in range(height)], dtype=bool)
    return matrix.value, texts, blanks.reshape(height, width)

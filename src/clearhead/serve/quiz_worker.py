"""Draw practice sheets and mark what is written on them, in the process of the exercises.

An answer has only what was requested: a sheet comes without its solution, and marks come without the right numbers. A
sheet is drawn again from its number for every request, so nothing about a student is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from clearhead.check.marker import mark
from clearhead.check.marks import Scheme
from clearhead.check.render.html import to_html
from clearhead.check.report import LineMark, Report
from clearhead.check.verdict import Verdict
from clearhead.check.working import Working, WrittenLine
from clearhead.errors import ProblemError, QuizError, did_you_mean
from clearhead.quiz.draw import draw_sheet, quiz_kinds, sheet_of_number
from clearhead.quiz.kinds import summary_of
from clearhead.quiz.lookup import numbered_sheet
from clearhead.quiz.page import to_page
from clearhead.quiz.request import DIFFICULTIES, MAX_VARIANT, QuizRequest
from clearhead.quiz.sheet import QuizSheet, blank_cells, step_name
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.view import MatrixView, StepView

_MAX_TRIES = 20  # sheets that are drawn to find one that tells a wrong rule apart
_MAX_CELL = 100  # characters
_NAMED = (Verdict.MISCONCEPTION, Verdict.TRANSCRIPTION)  # whose name says what was done and contains no number


def quiz_catalogue(request: Mapping[str, Any]) -> bytes:
    """Return the kinds of sheets and the difficulties."""
    summaries = {name: summary_of(name) for name in quiz_kinds()}
    kinds = [{"name": name, "title": f"{text[:1].upper()}{text[1:]}."} for name, text in summaries.items()]
    return orjson.dumps({"kinds": kinds, "difficulties": DIFFICULTIES})


def draw(request: Mapping[str, Any]) -> bytes:
    """Return a sheet by its number, or by kind, difficulty and seed."""
    sheet = _chosen_sheet(request)
    answer = _sheet_data(sheet, has_solution=request["with_solution"])
    if request["with_page"]:
        answer["page"] = to_page(sheet)
    return orjson.dumps(answer)


def mark_sheet(request: Mapping[str, Any]) -> bytes:
    """Mark what is written on a sheet, with errors carried forward."""
    sheet = sheet_of_number(request["number"])
    report = mark(_working(sheet, request["lines"]), Scheme(strict_rounding=request["strict_rounding"]))
    answer = _marks_data(sheet, report)
    if request["with_solution"]:
        answer |= {"solution": _cells_by_line(sheet), "report": to_html([report])}
    return orjson.dumps(answer)


def _chosen_sheet(request: Mapping[str, Any]) -> QuizSheet:
    if request["number"] is not None:
        if request["kind"] is not None:
            raise QuizError("number and kind are both given, and each of them names a sheet. Send one of them.")
        return sheet_of_number(request["number"])
    if request["kind"] is None:
        raise QuizError(f"kind is missing, and so is number. Kinds: {', '.join(quiz_kinds())}.")
    wanted = QuizRequest(
        **{name: request[name] for name in ("kind", "difficulty", "seed", "variant", "blanks", "decimals")}
    )
    first = sheet = draw_sheet(wanted)
    rule = request["tells_apart"]
    for variant in range(wanted.variant + 1, min(wanted.variant + _MAX_TRIES, MAX_VARIANT + 1)):
        if rule is None or any(one.misconception == rule for one in sheet.told_apart):
            return sheet
        sheet = draw_sheet(replace(wanted, variant=variant))
    return first


def _sheet_data(sheet: QuizSheet, *, has_solution: bool) -> dict[str, Any]:
    """Return what the sheet shows: the given numbers, and the lines with null where something is to be filled in."""
    lines = [_line_data(step) for step in sheet.view.steps]
    data = {
        "number": sheet.number,
        "kind": sheet.request.kind,
        "difficulty": sheet.request.difficulty,
        "title": sheet.title,
        "instructions": sheet.instructions,
        "givens": [_matrix_data(matrix) for step in sheet.view.steps for matrix in step.givens],
        "lines": lines,
        "tells_apart": [rule.misconception for rule in sheet.told_apart],
    }
    return data | ({"solution": _cells_by_line(sheet)} if has_solution else {})


def _line_data(step: StepView) -> dict[str, Any]:
    equation = f"{step.matrix.symbol} = {step.equation}"
    return {
        **_matrix_data(step.matrix, set(blank_cells(step))),
        "name": step_name(step),
        "equation": equation,
        "section": step.section,
        "rule": step.step.sentence,
    }


def _matrix_data(
    matrix: MatrixView, blanks: "set[tuple[int, int]] | frozenset[tuple[int, int]]" = frozenset()
) -> dict[str, Any]:
    height, width = matrix.value.shape
    return {
        "symbol": matrix.symbol,
        "rows": [matrix.row_name(row) for row in range(height)],
        "columns": [matrix.column_name(column) for column in range(width)],
        "cells": [
            [None if (row, column) in blanks else matrix.digits.text(row, column) for column in range(width)]
            for row in range(height)
        ],
    }


def _cells_by_line(sheet: QuizSheet) -> dict[str, list[list[str]]]:
    """Return the solution: the digits of every line that has cells to fill in."""
    blank_names = {step_name(step) for step in sheet.asked_steps}
    return {
        step_name(step): _matrix_data(step.matrix)["cells"]
        for step in sheet.key_view.steps
        if step_name(step) in blank_names
    }


def _working(sheet: QuizSheet, cells_by_name: Mapping[str, Sequence[Sequence[str]]]) -> Working:
    steps = {step_name(step): step for step in sheet.asked_steps}
    lines = []
    for name, cells in cells_by_name.items():
        if name not in steps:
            raise ProblemError(
                f"lines: {shorten(name)} is not a line to fill in on this sheet.{did_you_mean(name, steps)} Lines: "
                f"{', '.join(steps)}."
            )
        matrix = steps[name].matrix
        _check_cells(name, cells, matrix.value.shape)
        if any(cell.strip() for row in cells for cell in row):
            rows = tuple(tuple(cell.strip() for cell in row) for row in cells)
            lines.append(WrittenLine(matrix.symbol, rows, steps[name].record.where, name))
    if not lines:
        raise ProblemError("lines contains no number, so there is nothing to mark. Fill in a cell.")
    return Working(sheet.problem, tuple(lines), title=sheet.title, sheet=numbered_sheet(sheet))


def _check_cells(name: str, cells: Sequence[Sequence[str]], shape: tuple[int, ...]) -> None:
    """Raise an error for a line of another shape than on the sheet, or with a text that is no number."""
    if [len(row) for row in cells] != [shape[1]] * shape[0]:
        raise ProblemError(
            f"lines: {shorten(name)} is {shape[0]} × {shape[1]} on this sheet. Send every row with all its cells, and "
            "an empty text where nothing was written."
        )
    if any(len(cell) > _MAX_CELL for row in cells for cell in row):
        raise ProblemError(f"lines: {shorten(name)} has a cell with more than {_MAX_CELL} characters. Write a number.")


def _marks_data(sheet: QuizSheet, report: Report) -> dict[str, Any]:
    """Return the verdict on every cell and what went wrong, without any right number."""
    names = [_name_of(sheet, line) for line in report.lines]
    errors = [
        {
            "line": names[finding.line],
            "cells": finding.cells,
            "verdict": finding.verdict.value,
            "in_words": finding.verdict.in_words,
            "name": finding.name if finding.verdict in _NAMED else "",
            "hint": finding.remedy,
        }
        for finding in report.findings
    ]
    blank_names = {step_name(step) for step in sheet.asked_steps}
    lines = [
        {
            "name": name,
            "cells": _verdicts(line),
            "earned": line.marks.earned,
            "out_of": line.marks.out_of,
            "note": line.note,
        }
        for name, line in zip(names, report.lines, strict=True)
        if name in blank_names and not line.is_missing
    ]
    return {
        "number": sheet.number,
        "marks": {"earned": report.earned, "out_of": report.out_of},
        "is_right": not report.has_error and report.earned == report.out_of,
        "has_error": report.has_error,
        "lines": lines,
        "errors": errors,
        "notes": [note.sentence for note in report.notes if note.kind in ("unplaced", "unreadable", "warning")],
    }


def _verdicts(line: LineMark) -> list[dict[str, Any]]:
    return [
        {
            "row": cell.row,
            "column": cell.column,
            "verdict": cell.verdict.value,
            "in_words": cell.verdict.in_words,
            "symbol": cell.verdict.symbol,
            "is_error": cell.verdict.is_error,
        }
        for cell in line.marked
    ]


def _name_of(sheet: QuizSheet, line: LineMark) -> str:
    return f"{line.where}:{line.symbol}" if line.where else line.symbol

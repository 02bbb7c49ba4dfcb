"""Read a Markdown sheet that a student has filled in: the tables are those of the sheet, with numbers in the blanks.

The tables are matched by their order and size, so that nothing has to be guessed from the words between them.
"""

import re

from clearhead.check.working import WrittenLine
from clearhead.quiz.forms import write_form
from clearhead.quiz.sheet import QuizSheet, blank_cells

_RULER = re.compile(r"\|[\s:|-]{3,2000}")  # below the head of a table
_BLANK = re.compile(r"[\s\\_.…]*")  # what a cell looks like before it is filled in
_COMMA = re.compile(r"([-−+]?\d{1,30}),(\d{1,30})")
_MAX_PAGE = 400_000  # characters

Table = list[list[str]]


def read_filled_page(sheet: QuizSheet, text: str) -> tuple[WrittenLine, ...]:
    """Return the lines that were filled in on the Markdown form of a sheet; none if the page is something else."""
    if len(text) > _MAX_PAGE:
        return ()
    form, page = (_tables(content) for content in (write_form(sheet, "markdown").decode(), text))
    if not form or [_size(table) for table in form] != [_size(table) for table in page]:
        return ()
    answers = [
        _answer(filled)
        for blank_table, filled_table in zip(form, page, strict=True)
        for blank_row, filled_row in zip(blank_table, filled_table, strict=True)
        for blank, filled in zip(blank_row, filled_row, strict=True)
        if "_" in blank and _BLANK.fullmatch(blank)
    ]
    places = [(step, cell) for step in sheet.asked_steps for cell in blank_cells(step)]
    if len(answers) != len(places):
        return ()
    by_step = {id(step): dict[tuple[int, int], str]() for step in sheet.asked_steps}
    for (step, cell), answer in zip(places, answers, strict=True):
        by_step[id(step)][cell] = answer
    lines = []
    for step in sheet.asked_steps:
        height, width = step.matrix.value.shape
        cells = tuple(tuple(by_step[id(step)].get((i, j), "") for j in range(width)) for i in range(height))
        if any(map(any, cells)):
            lines.append(WrittenLine(step.matrix.symbol, cells, step.record.where, f"table of {step.matrix.symbol}"))
    return tuple(lines)


def _tables(text: str) -> list[Table]:
    """Return the tables of a page, row by row, without the rulers below their heads."""
    tables: list[Table] = []
    is_inside = False
    for line in text.replace("\r\n", "\n").split("\n"):
        row = line.strip()
        if not (row.startswith("|") and row.endswith("|") and len(row) > 1):
            is_inside = False
            continue
        if not is_inside:
            tables.append([])
        is_inside = True
        if not _RULER.fullmatch(row):
            tables[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", row[1:-1])])
    return tables


def _size(table: Table) -> list[int]:
    return [len(row) for row in table]


def _answer(cell: str) -> str:
    """Return what was written into a cell, without marks of emphasis; empty if it is still blank."""
    if _BLANK.fullmatch(cell):
        return ""
    plain = cell.replace("\\", "").strip("*_` ")
    return _COMMA.sub(r"\1.\2", plain) if _COMMA.fullmatch(plain) else plain

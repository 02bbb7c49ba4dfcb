"""A worksheet as Markdown: headings, pipe tables and, for the detail `products`, lists of sums."""

import re
from collections.abc import Sequence

from clearhead.errors import printable
from clearhead.worksheet.render.scripts import markdown_maths
from clearhead.worksheet.render.text import cell_lines, cell_name, omission_note, shown_sections, table
from clearhead.worksheet.view import MAX_COLUMNS, MatrixView, SheetView
from clearhead.worksheet.worksheet import Detail, Worksheet

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")


def escape(text: str) -> str:
    """Make a name or title safe in Markdown and in the HTML generated from it."""
    return _SPECIAL.sub(r"\\\1", printable(text)).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_markdown(sheet: Worksheet, detail: Detail = "matrices", blanks: Sequence[str] = ()) -> str:
    """Return the worksheet as Markdown."""
    view = SheetView(sheet, blanks)
    lines = [f"# {escape(sheet.title or sheet.kind)}", "", sheet.rounding.describe(), ""]
    lines += [f"Exercise: {sheet.id}", ""] if sheet.id else []
    for warning in view.notes:
        lines += [f"> Note: {escape(warning)}", ""]
    for heading, steps in shown_sections(view, detail):
        lines += [f"## {escape(heading)}", ""] if heading else []
        for matrix in [matrix for step in steps for matrix in step.givens if detail != "results"]:
            lines += [f"{_maths(matrix.symbol)} ({matrix.size}, {matrix.origin})", "", *_table(matrix)]
        for step in steps:
            lines += [f"**{_maths(step.matrix.symbol)} = {_maths(step.equation)}**", ""]
            if step.is_omitted:
                lines += [step.note, ""]
                continue
            lines += [step.step.sentence, "", *_table(step.matrix)]
            if detail == "products":
                sums = [f"- {_cell(step.matrix, *place)}: {_maths(line)}" for place, line in cell_lines(step)]
                lines += [*sums, ""] if sums else []
    return "\n".join(lines).rstrip() + "\n"


def _maths(text: str) -> str:
    return markdown_maths(printable(text), escape)


def _cell(matrix: MatrixView, row: int, column: int) -> str:
    """Return the name of a cell; the names of its row and column are shown as they are."""
    names = escape(cell_name(matrix, row, column).removeprefix(matrix.symbol))
    return _maths(matrix.symbol) + names


def _table(matrix: MatrixView) -> list[str]:
    """Return a table with the symbol of the matrix in its corner, by which the marker knows it again."""
    head, *body = table(matrix, MAX_COLUMNS)
    if not matrix.columns:
        numbers = matrix.shown()[1]
        head = ["", *(str(j + 1) for j in numbers)]
        if len(numbers) < matrix.value.shape[1]:
            head.insert(-1, "…")
    lines = [
        f"| {_maths(matrix.symbol)} {_row(head[1:])}",
        "|---" + "|---:" * (len(head) - 1) + "|",
        *(_row(line) for line in body),
        "",
    ]
    note = omission_note(matrix)
    return [*lines, f"*{note}*", ""] if note else lines


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"

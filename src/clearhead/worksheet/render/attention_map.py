"""Attention weights as a small heat map in HTML, with their tokens: the first thing on the page of a model's head."""

from clearhead.worksheet.render.page import escape
from clearhead.worksheet.render.roles import ATTENTION, role_of
from clearhead.worksheet.render.text import ELLIPSIS, label
from clearhead.worksheet.view import MatrixView, SheetView, StepView, first_and_last

_MAX_MAPS = 16
_MAX_SIDE = 32  # rows or columns of a map
_MAX_DIGITS = 16  # columns up to which there is space for digits


def attention_steps(view: SheetView) -> list[StepView]:
    """Return the weights of every head of a trace; none where there are too many, or where a weight is a blank."""
    steps = [
        step for step in view.steps if step.step.name in ("softmax", "divide") and role_of(step.record) is ATTENTION
    ]
    has_blanks = any(step.matrix.digits.is_hidden(i, j) for step in steps for i, j in step.cells("*", "*"))
    is_shown = view.is_trace and view.sheet.layout == "rows" and len(steps) <= _MAX_MAPS and not has_blanks
    return steps if is_shown else []


def attention_map(matrix: MatrixView, caption: str, attributes: str = "") -> str:
    """Return a table: a row for each query, a column for each key, darker for more; `caption` is HTML."""
    height, width = matrix.value.shape
    rows, columns = first_and_last(height, _MAX_SIDE), first_and_last(width, _MAX_SIDE)
    head = [f'<th scope="col" dir="auto"><span>{escape(label(matrix.column_name(j)))}</span></th>' for j in columns]
    lines = [[_row_name(matrix, i), *(_cell(float(matrix.value[i, j])) for j in columns)] for i in rows]
    if len(columns) < width:
        head.insert(-1, f'<th scope="col">{ELLIPSIS}</th>')
        for line in lines:
            line.insert(-1, "<td class=gap></td>")
    if len(rows) < height:
        lines.insert(-1, [f'<th scope="row">{ELLIPSIS}</th>', *["<td class=gap></td>"] * (len(lines[0]) - 1)])
    dense = " dense" * (len(columns) > _MAX_DIGITS)
    return "\n".join(
        [
            f'<div class="box"><table class="map{dense}"{attributes}><caption>{caption}</caption>',
            f"<thead><tr><td></td>{''.join(head)}</tr></thead><tbody>",
            *(f"<tr>{''.join(line)}</tr>" for line in lines),
            "</tbody></table></div>",
        ]
    )


def _row_name(matrix: MatrixView, row: int) -> str:
    return f'<th scope="row" dir="auto">{escape(label(matrix.row_name(row)))}</th>'


def _cell(weight: float) -> str:
    """Return a cell with two decimals, its colour in ten levels: the policy of the page allows no style attributes."""
    return f"<td class=h{round(10 * min(max(weight, 0.0), 1.0))}>{weight:.2f}</td>"

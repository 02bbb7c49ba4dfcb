"""Write a practice sheet as one self-contained page with cells to type in.

The page is drawn here; `judge.js` and the files before it mark what is typed, and `working.js` connects both.
"""

import json
from collections.abc import Iterator
from typing import Literal

from clearhead.errors import QuizError
from clearhead.quiz.forms.decimals import with_decimal_sign
from clearhead.quiz.page.sheet_data import script_data
from clearhead.quiz.sheet import QuizSheet, blank_cells
from clearhead.worksheet.render.page import document, escape, minified, package_file, print_size, tag
from clearhead.worksheet.render.roles import ROLES, role_of
from clearhead.worksheet.render.scripts import html_maths
from clearhead.worksheet.render.text import label, shown_sections
from clearhead.worksheet.view import MAX_COLUMNS, MAX_ROWS, MatrixView, StepView

DecimalSign = Literal["point", "comma"]
PACKAGE = "clearhead.quiz.page"
MARKING_SCRIPTS = ("numbers.js", "arithmetic.js", "steps.js", "judge.js")  # they do not touch the page
_SHORTENED_STEPS = frozenset({"softmax", "divide", "activate", "normalise", "rms_normalise", "kernel", "cosine"})
_KEYS = (
    "Arrow keys and Enter move between the cells. Your work is kept in this browser until you clear it; "
    "<b>Save working</b> writes the file to hand in."
)


def to_page(sheet: QuizSheet, *, decimal: DecimalSign = "point") -> str:
    """Return the page of a sheet; with `decimal="comma"`, numbers are shown with a comma and can be typed with one.

    Raise QuizError if the sheet has no blank cell, or a line that the script of the page cannot mark.
    """
    if not sheet.asked_steps:
        raise QuizError(f"sheet {sheet.number} has no blank cell to type in.")
    return _WorkPage(sheet, decimal).text()


def marking_script() -> str:
    """Return the script that marks a working, without the code that touches the page."""
    return "".join(package_file(name, PACKAGE) for name in MARKING_SCRIPTS)


class _WorkPage:
    """The parts of a page."""

    def __init__(self, sheet: QuizSheet, decimal: DecimalSign) -> None:
        self.sheet, self.view, self.decimal, self.has_comma = sheet, sheet.view, decimal, decimal == "comma"
        self.numbers = {id(step): number for number, step in enumerate(self.view.steps)}
        self.explained: set[str] = set()
        self.is_turned = sheet.worksheet.layout == "columns"

    def text(self) -> str:
        """Return the complete page."""
        style = minified(package_file("sheet.css")) + minified(package_file("page.css", PACKAGE))
        script = marking_script() + package_file("working.js", PACKAGE)
        return document(self.sheet.title or self.sheet.number, style, script, 'class="clearhead work"', self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the page, piece by piece."""
        data = script_data(self.sheet, has_comma=self.has_comma)
        yield from self.header()
        yield "<main>"
        for heading, steps in shown_sections(self.view, "matrices"):
            yield from self.section(heading, steps)
        yield "</main>"
        yield from self.controls()
        # data, not a script that runs; "<" is escaped, so that no text of a sheet can end the element
        content = json.dumps(data, separators=(",", ":")).replace("<", r"\u003c")
        yield f'<script type="application/json" id="sheet-data">{content}</script>'

    def header(self) -> Iterator[str]:
        """Yield the title, the number of the sheet, the instructions and the legend."""
        sheet = self.sheet
        yield f"<header><h1>{escape(sheet.title or sheet.worksheet.kind)}</h1>"
        if sheet.number not in sheet.title:
            yield f'<p>Sheet <strong class="sheet-number">{escape(sheet.number)}</strong></p>'
        yield '<p><label class="student">Name <input id="student" autocomplete="name" maxlength="80"></label></p>'
        yield f'<ul class="instructions">{"".join(f"<li>{self.shown(text)}</li>" for text in self.instructions())}</ul>'
        for warning in self.view.notes:
            yield f'<p class="warning"><strong>Note:</strong> {self.shown(warning)}</p>'
        used = {role_of(step.record) for step in self.view.steps}
        tags = [f'<li class="{role.name}">{tag(role)}</li>' for role in ROLES if role in used]
        if tags:
            yield f'<ul class="legend" aria-label="Colours and letters">{"".join(tags)}</ul>'
        yield f'<p class="keys">{_KEYS}{" A comma or a point separates the decimals." if self.has_comma else ""}</p>'
        yield '<p class="warning" id="no-storage" hidden><strong>Note:</strong> this browser does not keep your work. '
        yield "Save it before you close the page.</p>"
        yield '<noscript><p class="warning">This page needs JavaScript to check your work.</p></noscript></header>'

    def instructions(self) -> Iterator[str]:
        """Yield the instructions of the sheet, and the digits to keep in numbers that are not typed."""
        yield from self.sheet.instructions
        if any(step.step.name in _SHORTENED_STEPS for step in self.view.steps):
            decimals = max(2, self.sheet.worksheet.rounding.shown_decimals) + 1
            yield (
                f"Keep at least {decimals} decimals in numbers that you use and do not type "
                "(exponentials, their sum, a root)."
            )

    def controls(self) -> Iterator[str]:
        """Yield the bar with the result and the buttons."""
        yield '<section class="bar" aria-label="Check and save"><p id="result" role="status"></p><div class="buttons">'
        yield '<button type="button" id="check" class="main">Check</button>'
        yield '<button type="button" id="save">Save working</button>'
        yield '<button type="button" id="load">Load working</button>'
        yield '<button type="button" id="clear">Clear</button>'
        yield '<input type="file" id="file" accept=".json,application/json" hidden aria-label="File of a working">'
        yield "</div></section>"

    def section(self, heading: str, steps: list[StepView]) -> Iterator[str]:
        """Yield the given matrices and the lines under one heading."""
        yield f"<section><h2>{escape(heading) or 'Working'}</h2>"
        givens = [matrix for step in steps for matrix in step.givens]
        if givens:
            yield '<h3 class="given">Given</h3><div class="shelf">'
            yield from (self.matrix(matrix) for matrix in givens)
            yield "</div>"
        yield '<div class="shelf">'
        for step in steps:
            yield from self.step(step)
        yield "</div></section>"

    def step(self, step: StepView) -> Iterator[str]:
        """Yield the equation and the cells of one line, and a button for a hint if there are cells to fill in."""
        role, symbol = role_of(step.record), html_maths(escape(step.matrix.symbol))
        number = self.numbers[id(step)]
        yield f'<article class="step {role.name if role else "plain"}" id="line{number}">'
        equation = html_maths(self.shown(step.equation))
        yield f"<h3>{tag(role) if role else ''}<span><b>{symbol}</b> = {equation}</span></h3>"
        if step.step.name not in self.explained:
            self.explained.add(step.step.name)
            yield f'<p class="sentence">{escape(step.step.sentence)}</p>'
        yield self.matrix(step.matrix, step)
        if blank_cells(step):
            name = f"Hint for {label(step.matrix.symbol)}"
            yield f'<button type="button" class="hint" data-record="{number}">{escape(name)}</button>'
            yield f'<div class="hints" id="hints{number}" aria-live="polite"></div>'
        yield "</article>"

    def matrix(self, matrix: MatrixView, step: StepView | None = None) -> str:
        """Return a matrix as a table in a box that scrolls."""
        height, width = matrix.value.shape
        if height > MAX_ROWS or width > MAX_COLUMNS:
            raise QuizError(
                f"{matrix.symbol} of sheet {self.sheet.number} is {matrix.size}; a page to work in shows at most "
                f"{MAX_ROWS} × {MAX_COLUMNS} cells of a matrix. Choose a smaller problem."
            )
        heads = "".join(_head("col", matrix.column_name(j), is_name=bool(matrix.columns)) for j in range(width))
        rows = "\n".join(
            f"<tr>{_head('row', matrix.row_name(i), is_name=bool(matrix.rows))}"
            f"{''.join(self.cell(matrix, step, i, j) for j in range(width))}</tr>"
            for i in range(height)
        )
        origin = f", {matrix.origin}" if step is None else ""
        kind = "given" if step is None else "worked"
        return (
            f'<figure class="matrix {kind}{print_size(9 * width)}"><div class="box"><table>'
            f"<caption><b>{html_maths(escape(matrix.symbol))}</b> {matrix.size}{origin}</caption>"
            f"<thead><tr><td></td>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div></figure>"
        )

    def cell(self, matrix: MatrixView, step: StepView | None, row: int, column: int) -> str:
        """Return one cell: the printed digits, or a field to type in."""
        if step is None or not matrix.digits.is_hidden(row, column):
            return f"<td>{self.shown(matrix.digits.text(row, column))}</td>"
        i, j = (column, row) if self.is_turned else (row, column)
        name = escape(f"{matrix.symbol}, row {matrix.row_name(row)}, column {matrix.column_name(column)}")
        settings = 'autocomplete="off" autocapitalize="off" spellcheck="false" enterkeyhint="next"'
        return (
            f'<td class="typed"><input data-cell="{self.numbers[id(step)]}:{i},{j}" data-name="{name}" '
            f'aria-label="{name}" size="7" maxlength="60" {settings}><i class="mark" aria-hidden="true"></i></td>'
        )

    def shown(self, text: str) -> str:
        """Return text as HTML, with the decimal sign of the page."""
        return with_decimal_sign(escape(text), self.decimal)


def _head(scope: str, name: str, *, is_name: bool) -> str:
    return f'<th scope="{scope}" dir="auto"{"" if is_name else " class=number"}>{escape(label(name))}</th>'

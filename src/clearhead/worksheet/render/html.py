"""A worksheet as one self-contained HTML file: tables with every number, and a script to explore them.

All numbers come from the view. `sheet.css`, `keys.js` and `sheet.js` are included in the page.
"""

from collections.abc import Iterator, Sequence

from clearhead.worksheet.render.attention_map import attention_map, attention_steps
from clearhead.worksheet.render.page import document, escape, minified, package_file, print_size, tag
from clearhead.worksheet.render.roles import ROLES, role_of
from clearhead.worksheet.render.scripts import html_maths
from clearhead.worksheet.render.text import ELLIPSIS, cell_name, label, shown_part, shown_sections
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import CellView, MatrixView, SheetView, StepView
from clearhead.worksheet.worksheet import Detail, Worksheet

_DECIMALS = range(7)
_DECODER_ROWS = " In the decoder, the row of a token is used to predict the next token."


def to_html(sheet: Worksheet, detail: Detail = "products", blanks: Sequence[str] = ()) -> str:
    """Return the worksheet as one self-contained page."""
    page = _Page(SheetView(sheet, blanks), detail, is_live=True)
    attributes = f'class="clearhead" data-ties="{sheet.rounding.ties}" data-lines="{sheet.rounding.lines}"'
    return document(sheet.title or sheet.kind, _style(), package_file("sheet.js"), attributes, page.lines())


def to_fragment(sheet: Worksheet, detail: Detail = "matrices") -> str:
    """Return the worksheet for a notebook: without script and ids, and with styles that affect nothing else."""
    page = _Page(SheetView(sheet), detail, is_live=False)
    return "\n".join([f"<style>{_style()}</style>", '<div class="clearhead">', *page.lines(), "</div>\n"])


def _style() -> str:
    return minified(package_file("sheet.css"))


class _Page:
    """The parts of a page; with `is_live`, they have what the script needs: ids, full numbers, parents."""

    def __init__(self, view: SheetView, detail: Detail, *, is_live: bool) -> None:
        self.view, self.detail, self.is_live = view, detail, is_live
        self.explained: set[str] = set()  # steps whose sentence was already shown
        self.numbers: dict[int, int] = {}  # of the matrices drawn so far, by identity

    def lines(self) -> Iterator[str]:
        """Yield the page, piece by piece."""
        sections = ["\n".join(self.section(*section)) for section in shown_sections(self.view, self.detail)]
        yield from self.header()
        yield "<main>"
        if self.detail != "results":
            yield from self.overview()
        yield from sections
        yield "</main>"

    def overview(self) -> Iterator[str]:
        """Yield the attention weights of a model's heads as heat maps, each with a link to its step."""
        steps = attention_steps(self.view)
        if not steps:
            return
        yield '<section class="overview attention"><h2>Attention weights</h2>'
        is_decoder = any(step.record.where.startswith("decoder") for step in steps)
        yield (
            "<p>Each row shows how much the token on its left attends to each token above. "
            f"The weights of a row add up to 1.{_DECODER_ROWS if is_decoder else ''}</p>"
        )
        yield '<div class="shelf">'
        for step in steps:
            identity, symbol = f"m{self.numbers[id(step.matrix)]}", html_maths(escape(step.matrix.symbol))
            name = f"<b>{symbol}</b> {escape(step.section)}"
            link = f' · <a href="#{identity}">all digits and calculations</a>' if self.is_live else ""
            yield attention_map(step.matrix, name + link, f' data-of="{identity}"' if self.is_live else "")
        yield "</div></section>"

    def section(self, heading: str, steps: list[StepView]) -> Iterator[str]:
        """Yield the given matrices and the steps under one heading; a model's trace also shows its path."""
        yield f"<section><h2>{escape(heading) or 'Solution'}</h2>"
        if self.view.is_trace and steps[0].record.where:
            yield f'<p class="path">Path in the model: <code>{escape(_common_path(steps))}</code></p>'
        givens = [matrix for step in steps for matrix in step.givens if self.detail != "results"]
        if givens and self.view.is_trace:
            names = ", ".join(f"{html_maths(escape(matrix.symbol))} ({matrix.size})" for matrix in givens)
            yield f'<details class="givens"><summary>Given: {names}</summary><div class="shelf">'
        elif givens:
            yield '<h3 class="given">Given</h3><div class="shelf">'
        yield from (self.matrix(matrix) for matrix in givens)
        if givens:
            yield "</div></details>" if self.view.is_trace else "</div>"
        yield '<div class="shelf">'
        for step in steps:
            yield from self.step(step)
        yield "</div></section>"

    def header(self) -> Iterator[str]:
        """Yield the title, the rounding, the notes and the legend, and on a live page the controls."""
        sheet = self.view.sheet
        yield f"<header><h1>{escape(sheet.title or sheet.kind)}</h1><p>{escape(sheet.rounding.describe())}</p>"
        if sheet.id:
            yield f"<p>Exercise: {escape(sheet.id)}</p>"
        for warning in self.view.notes:
            yield f'<p class="warning"><strong>Note:</strong> {escape(warning)}</p>'
        used = {role_of(step.record) for step in self.view.steps}
        tags = [f'<li class="{role.name}">{tag(role)}</li>' for role in ROLES if role in used]
        if tags and self.detail != "results":
            yield f'<ul class="legend" aria-label="Colours and letters">{"".join(tags)}</ul>'
        if self.is_live:
            choices = "".join(f"<option>{number}</option>" for number in _DECIMALS)
            yield (
                '<form class="controls" hidden><label>Decimals <select id="decimals">'
                f'<option value="">as calculated</option>{choices}</select></label>'
                '<label>Show <select id="zoom"><option value="digits">digits</option>'
                '<option value="heat">heat map</option></select></label>'
                '<p><span class="by-mouse">Move the pointer over a cell to see how it is calculated. By keyboard: Tab '
                "selects a matrix, the arrow keys select a cell, Enter switches to the next level (digits, "
                "calculation), and Esc switches back. "
                '</span><span class="by-touch">Tap a cell to see how it is calculated. </span>'
                "In the heat map, a stronger colour is a larger number, and a dark corner marks a negative number.</p>"
                "</form>"
            )
        yield "</header>"

    def step(self, step: StepView) -> Iterator[str]:
        """Yield the equation, the matrix and the sums of one step."""
        role, symbol = role_of(step.record), html_maths(escape(step.matrix.symbol))
        yield f'<article class="step {role.name if role else "plain"}">'
        yield f"<h3>{tag(role) if role else ''}<span><b>{symbol}</b> = {html_maths(escape(step.equation))}</span></h3>"
        if step.is_omitted:
            drawn = [cell.matrix for cell in step.parents(0, 0) if id(cell.matrix) in self.numbers]
            self.numbers |= {id(step.matrix): self.numbers[id(scores)] for scores in drawn}  # the scores above
            yield f'<p class="sentence">{escape(step.note)}</p></article>'
            return
        if step.step.name not in self.explained:
            self.explained.add(step.step.name)
            yield f'<p class="sentence">{escape(step.step.sentence)}</p>'
        yield self.matrix(step.matrix, step)
        sums = "\n".join(self.sums(step)) if self.is_live or self.detail == "products" else ""
        if sums and self.detail == "products":
            yield f"<details><summary>Calculation of every cell of {symbol}</summary><ol>{sums}</ol></details>"
        elif sums:
            yield f"<ol hidden>{sums}</ol>"  # only for the script: this detail does not show them
        yield "</article>"

    def sums(self, step: StepView) -> Iterator[str]:
        """Yield the sum behind every shown cell that has one; the script formats those that only it reads."""
        rows, columns = step.matrix.shown()
        for i in rows:
            for j in columns:
                line = step.cell_line(i, j)
                if line is not None:
                    at = f' data-at="{i},{j}"' if self.is_live else ""
                    name, sum_of = escape(cell_name(step.matrix, i, j)), escape(line)
                    if self.detail == "products":
                        symbol = escape(step.matrix.symbol)
                        name, sum_of = html_maths(symbol) + name.removeprefix(symbol), html_maths(sum_of)
                    yield f"<li{at}><b>{name}</b> {sum_of}</li>"

    def matrix(self, matrix: MatrixView, step: StepView | None = None) -> str:
        """Return a matrix as a table in a box that scrolls."""
        number = self.numbers.setdefault(id(matrix), len(self.numbers))
        rows, columns = matrix.shown()
        height, width = matrix.value.shape
        gap = "<td class=gap>…</td>"
        head = [_header("col", matrix.column_name(j), is_name=bool(matrix.columns)) for j in columns]
        names = [_header("row", matrix.row_name(i), is_name=bool(matrix.rows)) for i in rows]
        lines = [[name, *(self.cell(matrix, step, i, j) for j in columns)] for i, name in zip(rows, names, strict=True)]
        if len(columns) < width:
            head.insert(-1, f'<th scope="col" aria-label="omitted">{ELLIPSIS}</th>')
            for line in lines:
                line.insert(-1, gap)
        if len(rows) < height:
            gap_name = f'<th scope="row" aria-label="omitted">{ELLIPSIS}</th>'
            lines.insert(-1, [gap_name, *[gap] * (len(lines[0]) - 1)])
        note = shown_part(matrix)
        identity = f' id="m{number}" data-symbol="{escape(matrix.symbol)}"' if self.is_live else ""
        symbol = html_maths(escape(matrix.symbol))
        kind = ("given" if step is None else "worked") + _width_class(matrix)
        return "\n".join(
            [
                f'<figure class="matrix {kind}"{identity}><div class="box"><table>',
                f"<caption><b>{symbol}</b> {matrix.size}{f', {matrix.origin}' if step is None else ''}</caption>",
                f"<thead><tr><td></td>{''.join(head)}</tr></thead><tbody>",
                *(f"<tr>{''.join(line)}</tr>" for line in lines),
                "</tbody></table></div>",
                f'<p class="note">{escape(note)}</p>' if note else "",
                '<p class="sum" role="status"></p></figure>' if self.is_live else "</figure>",
            ]
        )

    def cell(self, matrix: MatrixView, step: StepView | None, row: int, column: int) -> str:
        """Return one cell: the digits shown and, on a live page, the full number and its parents."""
        text = escape(matrix.digits.text(row, column))
        is_blank = matrix.digits.is_hidden(row, column)
        if is_blank:
            text = f"<span>{BLANK}</span>"
        if not self.is_live:
            return f"<td class=blank>{text}</td>" if is_blank else f"<td>{text}</td>"
        value = " class=blank" if is_blank else f' data-value="{float(matrix.value[row, column])!r}"'
        parents = self.parents(step.parents(row, column)) if step else ""
        origin = f' data-from="{parents}"' if parents else ""
        return f'<td data-at="{row},{column}"{value}{origin}>{text}</td>'

    def parents(self, cells: list[CellView]) -> str:
        """Write cells as blocks of matrices shown above: `3:0-0:0-7` is the first row of the fourth matrix."""
        by_matrix: dict[int, list[tuple[int, int]]] = {}
        for cell in cells:
            if id(cell.matrix) in self.numbers:
                by_matrix.setdefault(self.numbers[id(cell.matrix)], []).append((cell.row, cell.column))
        return " ".join(block for number, places in by_matrix.items() for block in _blocks(number, places))


def _common_path(steps: list[StepView]) -> str:
    """Return the path of the smallest part of the model that contains all the steps."""
    paths = [step.record.where.split(".") for step in steps]
    common = [words[0] for words in zip(*paths, strict=False) if len(set(words)) == 1]
    return ".".join(common)


def _header(scope: str, name: str, *, is_name: bool) -> str:
    return f'<th scope="{scope}" dir="auto"{"" if is_name else " class=number"}>{escape(label(name))}</th>'


def _width_class(matrix: MatrixView) -> str:
    """Return the class that makes a wide matrix fit on paper, by the characters of its widest row."""
    rows, columns = matrix.shown()
    widest = [max(len(matrix.digits.text(i, j)) for i in rows) for j in columns]
    return print_size(sum(widest) + 2 * len(columns) + max(len(label(matrix.row_name(i))) for i in rows))


def _blocks(number: int, places: list[tuple[int, int]]) -> list[str]:
    """Return one block if the cells fill a rectangle, otherwise a block for each cell."""
    rows, columns = [i for i, _ in places], [j for _, j in places]
    height, width = max(rows) - min(rows) + 1, max(columns) - min(columns) + 1
    if height * width == len(set(places)):
        return [f"{number}:{min(rows)}-{max(rows)}:{min(columns)}-{max(columns)}"]
    return [f"{number}:{i}-{i}:{j}-{j}" for i, j in dict.fromkeys(places)]

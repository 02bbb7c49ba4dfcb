"""A worksheet as one HTML file that needs nothing else: tables with every number, and a script that walks over them.

Only text is made here; numbers come from the view. `sheet.css`, `keys.js` and `sheet.js` go into the page as they are.
"""

from collections.abc import Iterator, Sequence

from clearhead.worksheet.render.page import document, escape, minified, package_file, print_size, tag
from clearhead.worksheet.render.roles import ROLES, role_of
from clearhead.worksheet.render.text import ELLIPSIS, cell_name, label, omission_note, shown_sections
from clearhead.worksheet.rounding import BLANK
from clearhead.worksheet.view import CellView, MatrixView, SheetView, StepView
from clearhead.worksheet.worksheet import Detail, Worksheet

_DECIMALS = range(7)


def to_html(sheet: Worksheet, detail: Detail = "products", blanks: Sequence[str] = ()) -> str:
    """Return the worksheet as one self-contained page."""
    page = _Page(SheetView(sheet, blanks), detail, is_live=True)
    attributes = f'class="clearhead" data-ties="{sheet.rounding.ties}" data-lines="{sheet.rounding.lines}"'
    return document(sheet.title or sheet.kind, _style(), package_file("sheet.js"), attributes, page.lines())


def to_fragment(sheet: Worksheet, detail: Detail = "matrices") -> str:
    """Return the worksheet for a notebook: no script, no ids, and styles that reach nothing outside it."""
    page = _Page(SheetView(sheet), detail, is_live=False)
    return "\n".join([f"<style>{_style()}</style>", '<div class="clearhead">', *page.lines(), "</div>\n"])


def _style() -> str:
    return minified(package_file("sheet.css"))


class _Page:
    """`is_live` pages have what the script needs: ids, full numbers, parents."""

    def __init__(self, view: SheetView, detail: Detail, *, is_live: bool) -> None:
        self.view, self.detail, self.is_live = view, detail, is_live
        self.explained: set[str] = set()  # a Step's sentence is said once
        self.numbers: dict[int, int] = {}  # of the matrices drawn so far, by identity

    def lines(self) -> Iterator[str]:
        """Give the page, a piece at a time."""
        yield from self.header()
        yield "<main>"
        for heading, steps in shown_sections(self.view, self.detail):
            yield f"<section><h2>{escape(heading) or 'Working'}</h2>"
            givens = [matrix for step in steps for matrix in step.givens if self.detail != "results"]
            if givens:
                yield '<h3 class="given">Given</h3><div class="shelf">'
                for matrix in givens:
                    yield self.matrix(matrix)
                yield "</div>"
            yield '<div class="shelf">'
            for step in steps:
                yield from self.step(step)
            yield "</div></section>"
        yield "</main>"

    def header(self) -> Iterator[str]:
        """Give the title, the policy, the notes, and on a live page the legend and the controls."""
        sheet = self.view.sheet
        yield f"<header><h1>{escape(sheet.title or sheet.kind)}</h1><p>{escape(sheet.rounding.describe())}</p>"
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
                f'<option value="">as worked</option>{choices}</select></label>'
                '<label>Show <select id="zoom"><option value="digits">digits</option>'
                '<option value="heat">heat map</option></select></label>'
                "<p>Point at a cell to see where it comes from. By keyboard: Tab to a matrix, arrow keys to a cell, "
                "Enter goes in (to the digits, to the sum), Esc goes out. In a heat map a stronger colour is a larger "
                "number, and a marked corner a negative one.</p></form>"
            )
        yield "</header>"

    def step(self, step: StepView) -> Iterator[str]:
        """Give the equation, the matrix and the sums of one step."""
        role, symbol = role_of(step.record), escape(step.matrix.symbol)
        yield f'<article class="step {role.name if role else "plain"}">'
        yield f"<h3>{tag(role) if role else ''}<span><b>{symbol}</b> = {escape(step.equation)}</span></h3>"
        if step.step.name not in self.explained:
            self.explained.add(step.step.name)
            yield f'<p class="sentence">{escape(step.step.sentence)}</p>'
        yield self.matrix(step.matrix, step)
        sums = "\n".join(self.sums(step)) if self.is_live or self.detail == "products" else ""
        if sums and self.detail == "products":
            yield f"<details><summary>Every sum of {symbol}</summary><ol>{sums}</ol></details>"
        elif sums:
            yield f"<ol hidden>{sums}</ol>"  # for the script alone: this detail does not show them
        yield "</article>"

    def sums(self, step: StepView) -> Iterator[str]:
        """Give the sum behind every shown cell that has one."""
        rows, columns = step.matrix.shown()
        for i in rows:
            for j in columns:
                line = step.cell_line(i, j)
                if line is not None:
                    at = f' data-at="{i},{j}"' if self.is_live else ""
                    yield f"<li{at}><b>{escape(cell_name(step.matrix, i, j))}</b> {escape(line)}</li>"

    def matrix(self, matrix: MatrixView, step: StepView | None = None) -> str:
        """Return a matrix as a table in its own scrolling box."""
        number = self.numbers.setdefault(id(matrix), len(self.numbers))
        rows, columns = matrix.shown()
        height, width = matrix.value.shape
        gap = "<td class=gap>…</td>"
        head = [_header("col", matrix.column_name(j), is_name=bool(matrix.columns)) for j in columns]
        names = [_header("row", matrix.row_name(i), is_name=bool(matrix.rows)) for i in rows]
        lines = [[name, *(self.cell(matrix, step, i, j) for j in columns)] for i, name in zip(rows, names, strict=True)]
        if len(columns) < width:
            head.insert(-1, f'<th scope="col" aria-label="left out">{ELLIPSIS}</th>')
            for line in lines:
                line.insert(-1, gap)
        if len(rows) < height:
            gap_name = f'<th scope="row" aria-label="left out">{ELLIPSIS}</th>'
            lines.insert(-1, [gap_name, *[gap] * (len(lines[0]) - 1)])
        note = omission_note(matrix)
        identity = f' id="m{number}" data-symbol="{escape(matrix.symbol)}"' if self.is_live else ""
        kind = ("given" if step is None else "worked") + _width_class(matrix)
        return "\n".join(
            [
                f'<figure class="matrix {kind}"{identity}><div class="box"><table>',
                f"<caption><b>{escape(matrix.symbol)}</b> {matrix.size}{', given' * (step is None)}</caption>",
                f"<thead><tr><td></td>{''.join(head)}</tr></thead><tbody>",
                *(f"<tr>{''.join(line)}</tr>" for line in lines),
                "</tbody></table></div>",
                f'<p class="note">{escape(note)}</p>' if note else "",
                '<p class="sum" role="status"></p></figure>' if self.is_live else "</figure>",
            ]
        )

    def cell(self, matrix: MatrixView, step: StepView | None, row: int, column: int) -> str:
        """Return one cell: the digits shown and, on a live page, the full number and where it comes from."""
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
        """Write cells as blocks of matrices drawn before: `3:0-0:0-7` is the first row of the fourth matrix."""
        by_matrix: dict[int, list[tuple[int, int]]] = {}
        for cell in cells:
            if id(cell.matrix) in self.numbers:
                by_matrix.setdefault(self.numbers[id(cell.matrix)], []).append((cell.row, cell.column))
        return " ".join(block for number, places in by_matrix.items() for block in _blocks(number, places))


def _header(scope: str, name: str, *, is_name: bool) -> str:
    return f'<th scope="{scope}" dir="auto"{"" if is_name else " class=number"}>{escape(label(name))}</th>'


def _width_class(matrix: MatrixView) -> str:
    """Say how much smaller a matrix must be printed to fit on paper, by the characters of its widest row."""
    rows, columns = matrix.shown()
    widest = [max(len(matrix.digits.text(i, j)) for i in rows) for j in columns]
    return print_size(sum(widest) + 2 * len(columns) + max(len(label(matrix.row_name(i))) for i in rows))


def _blocks(number: int, places: list[tuple[int, int]]) -> list[str]:
    """Return one block where the places fill it, else a block for each."""
    rows, columns = [i for i, _ in places], [j for _, j in places]
    height, width = max(rows) - min(rows) + 1, max(columns) - min(columns) + 1
    if height * width == len(set(places)):
        return [f"{number}:{min(rows)}-{max(rows)}:{min(columns)}-{max(columns)}"]
    return [f"{number}:{i}-{i}:{j}-{j}" for i, j in dict.fromkeys(places)]

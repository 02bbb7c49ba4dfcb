"""A worksheet in the terminal."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from clearhead.errors import printable
from clearhead.worksheet.render.roles import role_of
from clearhead.worksheet.render.text import ANCHOR, cell_lines, cell_name, grid, pad, resolve_anchors, shown_sections
from clearhead.worksheet.view import MatrixView, SheetView, StepView
from clearhead.worksheet.worksheet import Detail, Worksheet

_INDENT = "  "


def show(
    sheet: Worksheet, detail: Detail = "matrices", console: Console | None = None, blanks: Sequence[str] = ()
) -> None:
    """Print the worksheet section by section: the given matrices, then every step with its equation."""
    _Page(console or Console(highlight=False), detail).sheet(SheetView(sheet, blanks))


class _Page:
    def __init__(self, console: Console, detail: Detail) -> None:
        self.console, self.detail = console, detail
        self.explained: set[str] = set()  # steps whose sentence was already shown

    def line(self, text: Text | str = "") -> None:
        if isinstance(text, str):
            text = resolve_anchors(text, in_terminal=self.console.is_terminal and not self.console.legacy_windows)
        self.console.print(text, soft_wrap=True, markup=False, highlight=False)

    def sheet(self, view: SheetView) -> None:
        sheet = view.sheet
        if sheet.title:
            self.line(Text(printable(sheet.title), style="bold"))
        self.line(Text(sheet.rounding.describe(), style="dim"))
        if sheet.id:
            self.line(Text(f"Exercise: {sheet.id}", style="dim"))
        for warning in view.notes:
            self.line(Text(f"Note: {printable(warning)}", style="yellow"))
        for heading, steps in shown_sections(view, self.detail):
            if heading:
                self.line(Text(f"\n{printable(heading)}", style="bold underline"))
            if self.detail != "results":
                self.givens([matrix for step in steps for matrix in step.givens])
            for step in steps:
                self.step(step)

    def givens(self, matrices: list[MatrixView]) -> None:
        """Print matrices side by side, as many as fit."""
        row: list[list[str]] = []
        used = 0
        for matrix in matrices:
            matrix_lines = grid(matrix, self.console.width - 2)
            title = f"{printable(matrix.symbol)}  ({matrix.size}, {matrix.origin})"
            block = [title, *matrix_lines.lines, *([matrix_lines.note] if matrix_lines.note else [])]
            width = max(cell_len(text.replace(ANCHOR, "")) for text in block)
            if row and used + width + 2 > self.console.width:
                self.side_by_side(row)
                row, used = [], 0
            row.append([pad(text, width + text.count(ANCHOR) * cell_len(ANCHOR), right=False) for text in block])
            used += width + 4
        self.side_by_side(row)

    def side_by_side(self, blocks: list[list[str]]) -> None:
        if not blocks:
            return
        height = max(len(block) for block in blocks)
        filled = [block + [" " * cell_len(block[0])] * (height - len(block)) for block in blocks]
        self.line()
        for parts in zip(*filled, strict=True):
            self.line((_INDENT + f"    {ANCHOR}".join(parts)).rstrip(f" {ANCHOR}"))

    def step(self, step: StepView) -> None:
        role = role_of(step.record)
        style = role.terminal_style if role else "default"
        self.line(
            Text.assemble(
                "\n" + _INDENT, (printable(step.matrix.symbol), f"bold {style}"), " = ", printable(step.equation)
            )
        )
        if step.is_omitted:
            self.line(Text(_INDENT + step.note, style="dim italic"))
            return
        if step.step.name not in self.explained:
            self.explained.add(step.step.name)
            self.line(Text(_INDENT + step.step.sentence, style="dim italic"))
        matrix_lines = grid(step.matrix, self.console.width - 4)
        for line in matrix_lines.lines:
            self.line(_INDENT * 2 + line)
        if matrix_lines.note:
            self.line(Text(_INDENT * 2 + matrix_lines.note, style="dim"))
        if self.detail == "products":
            sums = [(cell_name(step.matrix, *place), line) for place, line in cell_lines(step)]
            width = max((cell_len(name) for name, _ in sums), default=0)
            for name, line in sums:
                self.line(Text.assemble(_INDENT * 2, (pad(name, width, right=False), style), "  ", line))

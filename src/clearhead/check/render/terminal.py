"""Print a marked working in the terminal: every cell has a colour and a symbol; errors that do not fit are listed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from clearhead.check.render import words
from clearhead.check.render.cells import MAX_DRAWN, Marking, cell_at
from clearhead.check.report import CellMark, LineMark, Report
from clearhead.check.verdict import Verdict
from clearhead.errors import printable
from clearhead.worksheet.render.roles import role_at
from clearhead.worksheet.render.text import ANCHOR, ELLIPSIS, bracket, label, pad, reserved_width

STYLES: Mapping[Verdict, str] = {
    Verdict.CORRECT: "green",
    Verdict.ROUNDED: "green",
    Verdict.CARRIED: "cyan",
    Verdict.TRUNCATED: "yellow",
    Verdict.ROUNDING: "yellow",
    Verdict.UNSUPPORTED: "bold yellow",
    Verdict.PLAUSIBLE: "blue",
    Verdict.TRUE: "yellow",
    Verdict.TRANSCRIPTION: "bold red",
    Verdict.MISCONCEPTION: "bold red",
    Verdict.SLIP: "bold red",
    Verdict.INVARIANT: "bold red",
    Verdict.UNREADABLE: "magenta",
    Verdict.UNCHECKED: "dim",
    Verdict.PRINTED: "dim",
}
_INDENT = "  "
_LEAST_WIDTH = 4  # of a column: a digit, a space, a symbol, and the space between columns
_GREATEST_WIDTH = 2 * 16 + 8  # of a column, with the space or the ellipsis before it
_MAX_LINES = 100  # of a report that shows all lines; of a longer one, only lines with errors are shown
_MAX_OUTSIDE = 40  # errors of one line that are listed because they do not fit into its matrix
_MAX_CELL = 16  # width of a student's text in the grid, in terminal cells; longer text is cut


def show(report: Report, console: Console | None = None) -> None:
    """Print the report: marks, summary, errors, then every line with its cells, the notes and a legend."""
    _Page(console or Console(highlight=False), report).print()


@dataclass(frozen=True)
class _Piece:
    """A cell of the grid: the written text, the checker's comment and the style."""

    text: str
    tail: str
    style: str


class _Page:
    def __init__(self, console: Console, report: Report) -> None:
        self.console, self.report, self.marking = console, report, Marking(report)

    def print(self) -> None:
        self.header()
        for story in words.stories(self.report):
            self.story(story)
        shown = self.shown_lines()
        for heading, indices in words.sections(self.report):
            lines = [index for index in indices if index in shown]
            if lines:
                self.heading(heading or "Working", "bold underline")
            for index in lines:
                self.line(index)
        num_hidden = len(self.report.lines) - len(shown)
        if num_hidden:
            which = "without errors" if len(shown) < _MAX_LINES else "without errors or after many with errors"
            self.heading(f"{num_hidden:,} lines {which} are not shown; the JSON report contains all of them.", "")
        for group in words.notes(self.report):
            self.heading(group.heading)
            for sentence in group.sentences:
                self.say(sentence, "yellow" if group.is_warning else "", indent=2, hang="- ")
        self.legend()

    def shown_lines(self) -> set[int]:
        """Return the lines to print: all of them, or in a long report the first lines with errors."""
        lines = self.report.lines
        if len(lines) <= _MAX_LINES:
            return set(range(len(lines)))
        starts = {finding.line for finding in self.report.findings}
        wanted = [i for i, line in enumerate(lines) if i in starts or line.marks.earned < line.marks.out_of]
        return set(wanted[:_MAX_LINES])

    def say(self, text: str, style: str = "", *, indent: int = 0, hang: str = "") -> None:
        """Print text without markup, wrapped; later lines are indented to the text after `hang`."""
        body = Text(printable(text), style=style)
        inner = indent + cell_len(hang)
        first = Text(" " * indent + hang, style=style)
        for number, line in enumerate(body.wrap(self.console, max(20, self.console.width - inner))):
            line.rstrip()
            self.console.print(Text(" " * inner) + line if number else first + line, soft_wrap=True)

    def heading(self, text: str, style: str = "bold") -> None:
        """Print a heading below an empty line."""
        self.console.print()
        self.say(text, style)

    def header(self) -> None:
        """Print the title, the student, the marks and the summary."""
        report = self.report
        self.say(words.title_of(report), "bold")
        if report.student:
            self.say(f"Student: {report.student}")
        self.say(f"Marks: {words.total(report)}", "bold")
        names = words.mark_names(report)
        width = max((len(name) for name, _ in names), default=0)
        for name, meaning in names:
            self.say(meaning, "dim", indent=2, hang=f"{name:{width}}  ")
        style = "red" if report.has_error else "bold yellow" if report.is_unsupported else ""
        self.say(words.summary(report), style)

    def story(self, story: words.Story) -> None:
        """Print a finding: what, where, what it affects, the remedy, and the two calculations."""
        self.heading(f"Error {story.number}: {story.title}", "bold red")
        rows = {
            "what is wrong": story.what,
            "where it started": story.started,
            "what it affects": story.follows,
            "how to correct it": story.remedy,
            "right calculation": story.right_sum,
            "your calculation": story.student_sum,
        }
        styles = {"right calculation": "green", "your calculation": "red"}
        width = max(map(len, rows))
        for name, text in rows.items():
            if text:
                self.say(text, styles.get(name, ""), indent=2, hang=f"{name:{width}}  ")

    def line(self, index: int) -> None:
        """Print a line: its equation and marks, remarks, and cells."""
        line = self.report.lines[index]
        role = role_at(line.where, line.step)
        title = Text.assemble((printable(words.equation_of(line)), f"bold {role.terminal_style if role else ''}"))
        marks = words.line_score(line.marks)
        if marks:
            title.append(f"   {marks}", "bold")
        self.console.print(Text("\n" + _INDENT) + title, soft_wrap=True)
        for remark in words.remarks(line):
            self.say(remark, "italic", indent=2)
        if line.marked:
            self.grid(line)

    # ---- the grid ----

    def grid(self, line: LineMark) -> None:
        """Print the cells in brackets, then every error in a row or column that does not fit."""
        most = max(2, (self.console.width - 4) // _LEAST_WIDTH)  # more columns cannot fit
        fits = min(most, max(len(row) for row in line.cells))
        while True:  # remove columns until it fits; two are always shown
            window = self.marking.window(line, MAX_DRAWN, fits)
            lines = self.draw(line, window.rows, window.columns)
            excess = max(cell_len(text.plain.replace(ANCHOR, "")) for text in lines) - (self.console.width - 4)
            if fits <= 2 or excess <= 0:
                break
            fits = max(2, fits - max(1, excess // _GREATEST_WIDTH))
        for text in lines:
            self.console.print(self.placed(Text(_INDENT * 2).append_text(text)), soft_wrap=True)
        if window.note:
            self.say(window.note, "dim", indent=4)
        cut = [
            cell for cell in line.marked if self.marking.is_wrong(cell) and cell_len(printable(cell.text)) > _MAX_CELL
        ]
        outside = list(dict.fromkeys([*window.hidden, *cut]))
        for cell in outside[:_MAX_OUTSIDE]:
            self.say(self.marking.describe(line, cell), STYLES[cell.verdict], indent=4, hang="- ")
        if len(outside) > _MAX_OUTSIDE:
            more = len(outside) - _MAX_OUTSIDE
            self.say(f"… and {more:,} more errors; the JSON report contains all of them.", "dim", indent=4)

    def draw(self, line: LineMark, rows: Sequence[int], columns: Sequence[int]) -> list[Text]:
        """Return the chosen rows and columns as lines, with an ellipsis where some are omitted."""
        grid = [[self.piece(cell_at(line, i, j)) for j in columns] for i in rows]
        heads = [label(line.column_name(j)) if line.columns else "" for j in columns]
        names = [label(line.row_name(i)) if line.rows else "" for i in rows]
        name_width = max(reserved_width(name) for name in names)
        widths = [_widths([row[position] for row in grid], head) for position, head in enumerate(heads)]
        lines = []
        for number, (i, pieces) in enumerate(zip(rows, grid, strict=True)):
            if number and i > rows[number - 1] + 1:
                lines.append(Text(" " * (name_width + 3) + ELLIPSIS, style="dim"))
            opening, closing = bracket(number, len(rows))
            text = Text(pad(names[number], name_width, right=False) + " " + ANCHOR if name_width else "")
            text.append(f"{opening} ")
            for position, piece in enumerate(pieces):
                if position:
                    text.append(_between(columns, position))
                text_width, tail_width = widths[position]
                text.append(pad(piece.text, text_width) + " " + pad(piece.tail, tail_width, right=False), piece.style)
            lines.append(text.append(f" {closing}"))
        if any(heads):
            head = Text(" " * (name_width + 3 if name_width else 2))
            for position, name in enumerate(heads):
                if position:
                    head.append(_between(columns, position).replace(ELLIPSIS, " ") + ANCHOR)
                head.append(pad(name, sum(widths[position]) + 1), "dim")
            lines.insert(0, head)
        return lines

    def placed(self, text: Text) -> Text:
        """In a terminal, replace anchors by jumps to their column if names contain letters of unknown width."""
        is_doubtful = not all(letter.isascii() or not letter.isalpha() for letter in text.plain)
        if not (is_doubtful and self.console.is_terminal and not self.console.legacy_windows):
            return Text().join(text.split(ANCHOR))
        placed, column = Text(), 0
        for part in text.split(ANCHOR):
            placed.append(f"\x1b[{column + 1}G" if column else "").append_text(part)
            column += cell_len(part.plain)
        return placed

    def piece(self, cell: CellMark | None) -> _Piece:
        if cell is None:
            return _Piece(words.BLANK, "", "dim")
        return _Piece(label(cell.text, _MAX_CELL), label(self.marking.tail(cell), _MAX_CELL), STYLES[cell.verdict])

    def legend(self) -> None:
        """Print the symbols that occur and their meanings."""
        keys = words.legend(self.report)
        if not keys:
            return
        self.heading("Symbols")
        width = max(len(key.name) for key in keys)
        for key in keys:
            style = "dim" if key.verdict is None else STYLES[key.verdict]
            self.say(key.meaning, style, indent=2, hang=f"{key.symbol:2}  {key.name:{width}}  ")


def _between(columns: Sequence[int], position: int) -> str:
    return f"  {ELLIPSIS}  " if columns[position] > columns[position - 1] + 1 else "  "


def _widths(pieces: Sequence[_Piece], name: str) -> tuple[int, int]:
    """Return the width of a column before and after the space between number and symbol."""
    tail_width = max(reserved_width(piece.tail) for piece in pieces)
    return max(*(reserved_width(piece.text) for piece in pieces), reserved_width(name) - tail_width - 1), tail_width

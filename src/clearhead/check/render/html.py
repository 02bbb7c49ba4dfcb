"""Render a marked working as one self-contained HTML file: errors first, then every line with its coloured cells.

The page uses the worksheet's stylesheet `sheet.css`; `report.css` adds the styles for marking.
"""

from collections.abc import Iterator, Mapping, Sequence

from clearhead.check.render import words
from clearhead.check.render.cells import MAX_DRAWN, Marking, cell_at
from clearhead.check.report import CellMark, LineMark, Report
from clearhead.check.verdict import Verdict
from clearhead.worksheet.render.page import document, escape, minified, package_file, print_size, tag
from clearhead.worksheet.render.roles import role_at
from clearhead.worksheet.render.scripts import html_maths
from clearhead.worksheet.render.text import ELLIPSIS, label

_CLASSES: Mapping[Verdict, str] = {
    Verdict.CORRECT: "well",
    Verdict.ROUNDED: "well",
    Verdict.CARRIED: "carried",
    Verdict.TRUNCATED: "loose",
    Verdict.ROUNDING: "loose",
    Verdict.UNSUPPORTED: "lacking",
    Verdict.PLAUSIBLE: "maybe",
    Verdict.TRUE: "loose",
    Verdict.UNREADABLE: "unread",
    Verdict.UNCHECKED: "unchecked",
    Verdict.PRINTED: "empty",
}  # all other verdicts are wrong
_MAX_CELL = 24  # characters of a student's text in a cell; its details show the full text
_NUM_HATCHES = 4  # in the stylesheet; more findings share them and are distinguished by numbers
_HIGHLIGHT = " an error, or the cell where it starts, to highlight the cells it affects. "
_KEYS = "By keyboard: Tab selects a matrix, the arrow keys select a cell, Enter opens its details, Esc closes them."


def to_html(reports: Sequence[Report], title: str = "") -> str:
    """Return one self-contained page; several exercises get a table of contents."""
    heading = title or (words.title_of(reports[0]) if len(reports) == 1 else "Marked working")
    script = package_file("report.js", "clearhead.check.render")
    return document(heading, _style(), script, 'class="clearhead check"', _body(reports, heading))


def to_fragment(report: Report) -> str:
    """Return the report for a notebook: no script, no ids, and styles that affect nothing else."""
    article = _Article(report, number=None, level=2)
    lines = [f"<style>{_style()}</style>", '<div class="clearhead check">', *article.lines(), "</div>\n"]
    return "\n".join(lines)


def _style() -> str:
    return minified(package_file("sheet.css") + package_file("report.css", "clearhead.check.render"))


def _body(reports: Sequence[Report], heading: str) -> Iterator[str]:
    is_one = len(reports) == 1
    if not is_one:
        total = words.score(sum(report.earned for report in reports), sum(report.out_of for report in reports))
        yield f'<header><h1>{escape(heading)}</h1><p class="score">Marks: <b>{total}</b></p>'
        yield '<nav aria-label="Exercises"><ol class="contents">'
        for number, report in enumerate(reports):
            marks = words.score(report.earned, report.out_of)
            names = " · ".join(escape(text) for text in (words.title_of(report), report.student) if text)
            yield f'<li><a href="#r{number}">{names}</a>: <b>{marks}</b>, {_shortly(report)}</li>'
        yield f"</ol></nav>{_help(reports)}</header>"
    yield "<main>"
    for number, report in enumerate(reports):
        yield from _Article(report, number, level=1 if is_one else 2).lines()
    yield "</main>"


def _help(reports: Sequence[Report]) -> str:
    """Return what can be done on the page; hidden until the script runs, because it describes what the script does."""
    has_finding = any(report.findings for report in reports)
    point, tap = (f"Point at{_HIGHLIGHT}", f"Tap{_HIGHLIGHT}") if has_finding else ("", "")
    return (
        f'<p class="help" hidden><span class="by-mouse">{point}Click a cell to see its details. {_KEYS}</span>'
        f'<span class="by-touch">{tap}Tap any cell to see its details.</span></p>'
    )


def _shortly(report: Report) -> str:
    number = len(report.findings)
    if number:
        return "1 error" if number == 1 else f"{number} errors"
    if report.is_unsupported:
        return "not enough working"
    if not report.counts:
        return "nothing could be marked"
    if report.has_error:
        return "rounding errors only"
    return "no error" if report.is_fully_read else "no error in what could be marked"


class _Article:
    """One report. `number` is its index on a page, None in a notebook; headings start at `level`."""

    def __init__(self, report: Report, number: int | None, level: int) -> None:
        self.report, self.number, self.level, self.marking = report, number, level, Marking(report)
        self.has_hatch = False

    def identity(self, finding: int | None = None) -> str:
        """Return the id attribute of the report or of one of its findings."""
        if self.number is None:
            return ""
        return f' id="r{self.number}"' if finding is None else f' id="r{self.number}f{finding}"'

    def heading(self, depth: int, inner: str, kind: str) -> str:
        """Return a heading `depth` levels below the title of the report."""
        name = f"h{self.level + depth}"
        return f'<{name} class="{kind}">{inner}</{name}>'

    def lines(self) -> Iterator[str]:
        """Yield the HTML of the report."""
        yield f'<article class="report"{self.identity()}>'
        yield from self.header()
        yield from self.findings()
        for heading, indices in words.sections(self.report):
            yield f"<section>{self.heading(1, escape(heading or 'Working'), 'part')}<div class=shelf>"
            for index in indices:
                yield from self.line(index)
            yield "</div></section>"
        for group in words.notes(self.report):
            kind = "notes care" if group.is_warning else "notes"
            yield f'<section class="{kind}">{self.heading(1, group.heading, "part")}<ul>'
            yield "".join(f"<li>{escape(sentence)}</li>" for sentence in group.sentences)
            yield "</ul></section>"
        yield from self.legend()
        yield "</article>"

    def header(self) -> Iterator[str]:
        """Yield the title, the student, the marks with their legend, and the summary."""
        report = self.report
        yield f"<header>{self.heading(0, escape(words.title_of(report)), 'title')}"
        if report.student:
            yield f"<p>Student: {escape(report.student)}</p>"
        marks, _, scaled = words.total(report).partition(" (")
        yield f'<p class="score">Marks: <b>{marks}</b>{f" ({scaled}" if scaled else ""}</p>'
        names = words.mark_names(report)
        if names:
            items = "".join(f"<span><b>{name}</b>: {meaning}</span> " for name, meaning in names)
            yield f'<p class="mark-names">{items.strip()}</p>'
        kind = "good" if report.exit_code == 0 else "bad"  # unreadable parts count as bad too
        if report.is_unsupported and not report.has_error:
            kind = "lacking"
        yield f'<p class="summary {kind}">{escape(words.summary(report))}</p>'
        yield from (f'<p class="beside">{escape(sentence)}</p>' for sentence in words.beside_marks(report))
        yield f"{_help([report]) if self.level == 1 else ''}</header>"

    def findings(self) -> Iterator[str]:
        """Yield every finding; the first one is open."""
        stories = words.stories(self.report)
        if not stories:
            return
        yield f"<section>{self.heading(1, 'What went wrong', 'part')}"
        for number, story in enumerate(stories):
            is_open = "" if number else " open"
            yield f'<details class="finding" data-finding="{number}"{self.identity(number)}{is_open}>'
            yield f"<summary><b>Error {story.number}</b> <span>{_maths(story.title)}</span></summary><dl>"
            paragraphs = {
                "What is wrong": story.what,
                "Where it started": story.started,
                "What it affects": story.follows,
                "How to correct it": story.remedy,
            }
            for name, text in paragraphs.items():
                if text:
                    yield f"<div><dt>{name}</dt><dd>{_maths(text)}</dd></div>"
            yield "</dl>"
            sums = {"Right calculation": (story.right_sum, "good"), "Your calculation": (story.student_sum, "bad")}
            if story.right_sum or story.student_sum:
                shown = [
                    f'<div class="{kind}"><b>{name}</b><p>{_maths(text)}</p></div>'
                    for name, (text, kind) in sums.items()
                    if text
                ]
                yield f'<div class="sums">{"".join(shown)}</div>'
            yield "</details>"
        yield "</section>"

    def line(self, index: int) -> Iterator[str]:
        """Yield a line: its equation and marks, remarks, and cells."""
        line = self.report.lines[index]
        role = role_at(line.where, line.step)
        symbol, equation = line.symbol, words.equation_of(line)
        title = f"<span><b>{_maths(symbol)}</b>{_maths(equation.removeprefix(symbol))}</span>"
        marks = ", ".join(
            f'<abbr title="{words.MARK_NAMES[name]}">{name}</abbr> {marks}'
            for name, marks in words.mark_parts(line.marks)
        )
        marks_span = f'<span class="marks">{marks}</span>' if marks else ""
        yield f'<article class="step {role.name if role else "plain"}">'
        yield self.heading(2, f"{tag(role) if role else ''}{title}{marks_span}", "line")
        for remark in words.remarks(line):
            yield f'<p class="sentence">{escape(remark)}</p>'
        if line.marked:
            yield from self.matrix(index, line)
        yield "</article>"

    def matrix(self, index: int, line: LineMark) -> Iterator[str]:
        """Yield the cells as a table in a scrolling box, then the errors in omitted cells."""
        window = self.marking.window(line, MAX_DRAWN, MAX_DRAWN)
        body = []
        for i in window.rows:
            cells = [self.cell(index, cell_at(line, i, j)) for j in window.columns]
            body.append([_header("row", line.row_name(i), is_name=bool(line.rows)), *cells])
        head = [_header("col", line.column_name(j), is_name=bool(line.columns)) for j in window.columns]
        _spread(window.columns, [head], f'<th scope="col" aria-label="omitted">{ELLIPSIS}</th>')
        _spread([-1, *window.columns], body, f"<td class=gap>{ELLIPSIS}</td>")
        widths = [sum(len(cell.text) + 4 for cell in row if cell) for row in line.cells]
        size = print_size(max(widths) + 8)
        yield f'<figure class="matrix{size}"><div class="box"><table aria-label="{escape(line.symbol)}">'
        yield f"<thead><tr><td></td>{''.join(head)}</tr></thead><tbody>"
        for position, cells in enumerate(body):
            if position and window.rows[position] > window.rows[position - 1] + 1:
                gap = f"<td class=gap>{ELLIPSIS}</td>" * (len(cells) - 1)
                yield f'<tr><th scope="row" aria-label="omitted">{ELLIPSIS}</th>{gap}</tr>'
            yield f"<tr>{''.join(cells)}</tr>"
        yield "</tbody></table></div>"
        if window.note:
            yield f'<p class="note">{escape(window.note)}</p>'
        if window.hidden:
            items = "".join(f"<li>{escape(self.marking.describe(line, cell))}</li>" for cell in window.hidden)
            yield f'<ul class="hidden-errors">{items}</ul>'
        yield '<div class="story" role="status"></div></figure>' if self.number is not None else "</figure>"

    def cell(self, index: int, cell: CellMark | None) -> str:
        """Return one cell: text, symbol, the right value of an error, and the findings that start in or affect it."""
        if cell is None:
            return f'<td class="blank" data-at title="nothing was written here"><span>{words.BLANK}</span></td>'
        roots, above = self.marking.roots(index, cell), self.marking.above(index, cell)
        is_wrong = self.marking.is_wrong(cell)
        classes = ["wrong" if is_wrong else _CLASSES[cell.verdict]]
        if roots:
            classes.append("root")
        elif above:
            self.has_hatch = True
            classes.append(f"hatch h{above[0] % _NUM_HATCHES}")
        joins = {"data-root": roots, "data-below": above}
        links = "".join(f' {name}="{_numbers(numbers)}"' for name, numbers in joins.items() if numbers)
        # with several errors, each affected cell shows their numbers, so that hatching is not the only sign
        numbered = [number + 1 for number in [*roots, *above]] if len(self.report.findings) > 1 else []
        of = f' data-of="{",".join(map(str, numbered))}"' if numbered else ""
        right = f" <small>({escape(cell.right)})</small>" if is_wrong and cell.right else ""
        sentence = escape(self.marking.sentence(index, cell))
        return (
            f'<td class="{" ".join(classes)}" data-at{links} title="{sentence}">'
            f"{escape(label(cell.text, _MAX_CELL))} <i{of}>{cell.verdict.symbol}</i>{right}</td>"
        )

    def legend(self) -> Iterator[str]:
        """Yield the symbols that occur and their meanings."""
        keys = words.legend(self.report)
        if not keys:
            return
        yield f'<section class="keys">{self.heading(1, "Symbols", "part")}<ul>'
        for key in keys:
            kind = "empty" if key.verdict is None else _CLASSES.get(key.verdict, "wrong")
            yield _swatch(kind, key.symbol, key.name, key.meaning)
        if self.has_hatch:
            yield _swatch("hatch h0", "&nbsp;", "hatched", "affected by an earlier error")
        yield "</ul></section>"


def _maths(text: str) -> str:
    return html_maths(escape(text))


def _swatch(kind: str, symbol: str, name: str, meaning: str) -> str:
    return f'<li><span class="swatch {kind}">{symbol}</span> <span><b>{name}:</b> {meaning}</span></li>'


def _header(scope: str, name: str, *, is_name: bool) -> str:
    return f'<th scope="{scope}" dir="auto"{"" if is_name else " class=number"}>{escape(label(name))}</th>'


def _numbers(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


def _spread(shown: Sequence[int], lines: Sequence[list[str]], gap: str) -> None:
    """Insert a gap into every line where numbers are omitted."""
    for position in range(len(shown) - 1, 0, -1):
        if shown[position] > shown[position - 1] + 1:
            for line in lines:
                line.insert(position, gap)

"""Render a marked class as self-contained HTML: an index with names and links, and a page without names to project.

Both use the stylesheets of a marked working; `class.css` adds bars and tables. The pages have no script of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from clearhead.check.class_summary import LineState, LineTally, MarkBands, QuizSummary, SlipTally, mark_bands, summarise
from clearhead.check.classroom import ClassReport, StudentResult
from clearhead.check.render.words import score
from clearhead.worksheet.render.page import document, escape, minified, package_file
from clearhead.worksheet.render.scripts import html_maths

_STATES: Mapping[LineState, tuple[str, str]] = {  # the colour of a state, and the symbol beside its number
    LineState.RIGHT: ("well", "✓"),
    LineState.CARRIED: ("carried", "→"),
    LineState.UNJUDGED: ("unread", "?"),
    LineState.WRONG: ("wrong", "✗"),
    LineState.ABSENT: ("absent", "–"),
}
_MAX_SLIPS = 10  # errors of one exercise that are listed
_MAX_NAMES = 40  # students that are named beside an error
_BAR = 240  # width of a bar, in the units of its drawing
_HEIGHT = 90  # height of the distribution of marks


class _Page:
    """The parts that both pages share; `has_names` says whether students are named."""

    def __init__(self, marked: ClassReport, *, has_names: bool) -> None:
        self.marked, self.has_names = marked, has_names
        self.quizzes = summarise(marked)
        self.num_marked = sum(bool(result.reports) for result in marked.results)

    def title(self, name: str) -> str:
        """Return the title: the exercise where there is one, else the name of the folder."""
        return self.quizzes[0].title if len(self.quizzes) == 1 else name

    def overview(self) -> Iterator[str]:
        """Yield how many workings were marked, and the distribution of their marks."""
        num_workings = len(self.marked.results)
        counted = _count(num_workings, "working")
        marked = "all marked" if self.num_marked == num_workings else f"{self.num_marked} marked"
        yield f'<p class="score">{counted}, {marked}.'
        bands = mark_bands(self.marked)
        if bands is None:
            yield "</p>"
            return
        yield f" Mean <b>{bands.mean:.0f}&nbsp;%</b>, median <b>{bands.median:.0f}&nbsp;%</b>.</p>"
        yield from _distribution(bands)

    def lines(self, quiz: QuizSummary, level: int) -> Iterator[str]:
        """Yield how many students had each line right, as a table with bars."""
        shown = [state for state in LineState if any(tally.counts[state] for tally in quiz.lines)]
        if not quiz.lines:
            return
        yield f'<section><h{level} class="part">How many had each line right</h{level}>'
        yield '<div class="box" tabindex="0" role="region" aria-label="Lines"><table class="lines"><thead><tr>'
        yield '<th scope="col">Line</th><th scope="col"><span class="unseen">Bar</span></th>'
        for state in shown:
            name = state.value
            yield f'<th scope="col" class="count">{_sign(state)} {name}</th>'
        yield "</tr></thead><tbody>"
        for tally in quiz.lines:
            yield f'<tr><th scope="row" dir="auto">{_maths(tally.heading)}</th>'
            yield f"<td>{_bar(tally, quiz.num_workings)}</td>"
            yield "".join(f'<td class="count">{tally.counts[state] or "·"}</td>' for state in shown)
            yield "</tr>"
        yield "</tbody></table></div></section>"

    def slips(self, quiz: QuizSummary, level: int) -> Iterator[str]:
        """Yield the commonest errors, each with one example."""
        yield f'<section><h{level} class="part">Commonest errors, with one example each</h{level}>'
        if not quiz.slips:
            yield "<p>No working has an error.</p></section>"
            return
        yield '<ol class="slips">'
        for slip in quiz.slips[:_MAX_SLIPS]:
            yield from self.slip(slip, quiz.num_workings)
        yield "</ol>"
        if len(quiz.slips) > _MAX_SLIPS:
            yield f"<p>{len(quiz.slips) - _MAX_SLIPS} more kinds of errors are in the reports.</p>"
        yield "</section>"

    def slip(self, slip: SlipTally, num_workings: int) -> Iterator[str]:
        """Yield one error: how often, what, who, and the calculation of one student."""
        number, what = len(slip.students), f"{slip.what[:1].upper()}{slip.what[1:]}"
        yield f'<li><p class="what"><b>{number} of {num_workings}</b> {_maths(what)}</p>'
        if self.has_names:
            more = number - _MAX_NAMES
            names = ", ".join(slip.students[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
            yield f'<p class="names" dir="auto">{escape(names)}</p>'
        example, whose = slip.example, f" ({escape(slip.example_student)})" if self.has_names else ""
        yield f'<p class="example"><span>Example{whose}:</span> {_maths(_sentence(example.what))}</p>'
        sums = (("Right calculation", example.right_sum, "good"), ("As it was done", example.student_sum, "bad"))
        shown = [f'<div class="{kind}"><b>{name}</b><p>{_maths(text)}</p></div>' for name, text, kind in sums if text]
        if shown:
            yield f'<div class="sums">{"".join(shown)}</div>'
        yield "</li>"

    def exercises(self) -> Iterator[str]:
        """Yield the lines and the errors of every exercise; several of them get headings."""
        is_one = len(self.quizzes) == 1
        for quiz in self.quizzes:
            if not is_one:
                variants = f", {len(quiz.sheets)} variants" if len(quiz.sheets) > 1 else ""
                yield f'<h2 class="quiz">{escape(quiz.title)} ({_count(quiz.num_workings, "working")}{variants})</h2>'
            yield from self.lines(quiz, 2 if is_one else 3)
            yield from self.slips(quiz, 2 if is_one else 3)


class ClassFiles:
    """The files that the index links to: the report of every working, and others under a name."""

    def __init__(self, reports: Mapping[Path, str], others: Mapping[str, str]) -> None:
        self.reports, self.others = reports, others

    def report_link(self, result: StudentResult) -> str:
        """Return the name of a student as a link to the report."""
        name = escape(result.student)
        target = self.reports.get(result.path)
        return f'<a href="{quote(target)}">{name}</a>' if target else name


def class_page(marked: ClassReport, name: str, files: ClassFiles, remarks: Sequence[str] = ()) -> str:
    """Return the index page of a class; `name` is that of its folder, `remarks` are about the folder."""
    page = _Page(marked, has_names=True)
    return _document(page, name, _index(page, name, files, remarks))


def projected_page(marked: ClassReport) -> str:
    """Return a page to show to a class: no name, no file and no number of a sheet is on it."""
    page = _Page(marked, has_names=False)
    return _document(page, "Results of the class", _projected(page))


def _document(page: _Page, name: str, body: Iterator[str]) -> str:
    style = "".join(
        [package_file("sheet.css")] + [package_file(f, "clearhead.check.render") for f in ("report.css", "class.css")]
    )
    kind = "index" if page.has_names else "projected"
    return document(page.title(name), minified(style), "", f'class="clearhead check class {kind}"', body)


def _index(page: _Page, name: str, files: ClassFiles, remarks: Sequence[str]) -> Iterator[str]:
    marked = page.marked
    yield f'<header><h1 dir="auto">{escape(page.title(name))}</h1>'
    yield from page.overview()
    links = [f'<li><a href="{quote(target)}">{escape(text)}</a></li>' for text, target in files.others.items()]
    yield f'<nav aria-label="Files"><ul class="files">{"".join(links)}</ul></nav></header><main>'
    yield from _questions(marked, remarks)
    yield from _marks(marked, files)
    yield from page.exercises()
    yield from _alike(marked)
    yield "</main>"


def _projected(page: _Page) -> Iterator[str]:
    yield f'<header><h1 dir="auto">{escape(page.title("Results of the class"))}</h1>'
    yield from page.overview()
    yield "</header><main>"
    yield from page.exercises()
    yield "</main>"


def _questions(marked: ClassReport, remarks: Sequence[str]) -> Iterator[str]:
    """Yield what the teacher must settle: files without marks, two files of one student, files that were left out."""
    items = [
        f"<b>{escape(result.path.name)}</b> {escape(result.remark)}" for result in marked.results if not result.reports
    ]
    items += [
        f"<b>{escape(name)}</b> handed in {len(paths)} files: {escape(', '.join(paths))}. Decide which one counts, or "
        "give the students different names."
        for name, paths in marked.repeated_names.items()
    ]
    items += [escape(remark) for remark in remarks]
    if items:
        yield '<section class="notes care"><h2 class="part">To be settled</h2><ul>'
        yield "".join(f'<li dir="auto">{item}</li>' for item in items)
        yield "</ul></section>"


def _marks(marked: ClassReport, files: ClassFiles) -> Iterator[str]:
    results = [result for result in marked.results if result.reports]
    if not results:
        return
    has_sheets = any(result.sheet for result in results)
    heads = ["Student", *(["Sheet"] if has_sheets else []), "Marks", "%", "Errors", "First error"]
    yield '<section><h2 class="part">Marks</h2><div class="box" tabindex="0" role="region" aria-label="Marks">'
    yield '<table class="students"><thead><tr>'
    yield "".join(f'<th scope="col"{_class_of(head)}>{head}</th>' for head in heads) + "</tr></thead><tbody>"
    for result in results:
        percent = f"{100 * result.earned / result.out_of:.0f}" if result.out_of else "–"
        yield f'<tr><th scope="row" dir="auto">{files.report_link(result)}</th>'
        yield f'<td class="number">{escape(result.sheet)}</td>' if has_sheets else ""
        yield f'<td class="count">{score(result.earned, result.out_of)}</td><td class="count">{percent}</td>'
        remark = "".join(f"<p>{_maths(line)}</p>" for line in result.remark.split("\n") if line)
        yield f'<td class="count">{result.num_errors}</td><td class="remark">{remark}</td></tr>'
    yield "</tbody></table></div></section>"


def _class_of(head: str) -> str:
    classes = {"Marks": "count", "%": "count", "Errors": "count", "Sheet": "number"}
    return f' class="{classes[head]}"' if head in classes else ""


def _alike(marked: ClassReport) -> Iterator[str]:
    yield '<section class="notes"><h2 class="part">Look-alikes</h2>'
    if marked.alike:
        yield "".join(["<ul>", *(f"<li>{escape(pair.sentence)}.</li>" for pair in marked.alike), "</ul>"])
        yield "<p>Equal wrong numbers are a reason to ask, not a proof.</p></section>"
    else:
        yield "<p>No two workings have nearly the same wrong numbers.</p></section>"


def _distribution(bands: MarkBands) -> Iterator[str]:
    """Yield the distribution of marks as a drawing, which a screen reader reads as one sentence."""
    most = max(bands.counts)
    spoken = ", ".join(f"{count} from {bands.label(band)} %" for band, count in enumerate(bands.counts) if count)
    width = 40
    yield (
        f'<figure class="bands"><svg role="img" aria-label="Marks: {spoken}" '
        f'viewBox="0 0 {width * len(bands.counts)} {_HEIGHT + 40}">'
    )
    for band, count in enumerate(bands.counts):
        height = _HEIGHT * count / most
        x, y = band * width, 18 + _HEIGHT - height
        yield f'<rect x="{x + 3}" y="{y:.1f}" width="{width - 6}" height="{height:.1f}" rx="2"/>' if count else ""
        yield f'<text x="{x + width / 2}" y="{y - 4:.1f}">{count}</text>' if count else ""
        yield f'<text class="axis" x="{x + width / 2}" y="{_HEIGHT + 34}">{bands.label(band)}</text>'
    yield f'<path d="M0 {18 + _HEIGHT}H{width * len(bands.counts)}"/></svg>'
    yield "<figcaption>Number of workings by marks, in percent</figcaption></figure>"


def _bar(tally: LineTally, total: int) -> str:
    """Return the counts of a line as a bar; the numbers beside it say the same."""
    x, parts = 0.0, []
    for state, (kind, _) in _STATES.items():
        width = _BAR * tally.counts[state] / max(total, 1)
        if width:
            parts.append(f'<rect class="{kind}" x="{x:.1f}" width="{width:.1f}" height="16"/>')
        x += width
    return (
        f'<svg class="bar" aria-hidden="true" viewBox="0 0 {_BAR} 16" preserveAspectRatio="none">{"".join(parts)}</svg>'
    )


def _count(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def _sign(state: LineState) -> str:
    kind, symbol = _STATES[state]
    return f'<span class="swatch {kind}" aria-hidden="true">{symbol}</span>'


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _maths(text: str) -> str:
    return html_maths(escape(text))

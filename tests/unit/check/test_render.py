"""A marked working for the terminal, as Markdown and as a page: the same words, and no text of the student is interpreted as markup."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from clearhead.check.render import words
from clearhead.check.render.cells import Marking, cells_place
from clearhead.check.render.html import to_fragment, to_html
from clearhead.check.render.markdown import to_markdown
from clearhead.check.render.terminal import STYLES, show
from clearhead.check.render.words import MEANINGS
from clearhead.check.report import CellMark, Finding, LineMark, LineMarks, Report
from clearhead.check.verdict import ERRORS, Verdict
from clearhead.check.working import Note
from tests.unit.check import reports_by_hand as by_hand
from tests.unit.check.reports_by_hand import cells, line
from tests.unit.worksheet.render.test_html import contrast, mixed

REPORTS = [
    by_hand.faultless,
    by_hand.slipped,
    by_hand.misconceived,
    by_hand.hostile,
    by_hand.large,
    by_hand.unsupported,
]


def terminal(report: Report, width: int = 80, **options: bool) -> str:
    text = StringIO()
    show(report, Console(file=text, width=width, highlight=False, **options))
    return text.getvalue()


def report_of(*lines: object, findings: tuple[Finding, ...] = (), **facts: object) -> Report:
    report = Report("T", "self-attention", "", "rows", lines, findings, (), 1, 1)  # type: ignore[arg-type]
    return replace(report, **facts)  # type: ignore[arg-type]


# ---- words ----


@pytest.mark.parametrize(
    ("value", "text"),
    [(7.5, "7½"), (0.5, "½"), (0, "0"), (12.0, "12"), (2 / 3, "⅔"), (11 + 1 / 3, "11⅓"), (3.75, "3¾"), (2.999, "3"),
     (1.43, "1.43"), (1 / 6 + 2, "2⅙"), (0.875, "⅞")],
)  # fmt: skip
def test_marks_are_written_as_on_paper(value: float, text: str) -> None:
    assert words.number_of_marks(value) == text


@pytest.mark.parametrize(
    ("marks", "text"),
    [(LineMarks(1, 1, 2 / 3, 1), "M 1/1, A ⅔/1"), (LineMarks(0, 1, 1, 1, is_follow_through=True), "M 0/1, A-ft 1/1"),
     (LineMarks(0, 0, 1, 2), "A 1/2"), (LineMarks(0, 0, 0, 0), "")],
)  # fmt: skip
def test_a_line_has_its_method_and_accuracy_marks(marks: LineMarks, text: str) -> None:
    assert words.line_score(marks) == text


SUMMARIES = [
    (by_hand.slipped, "1 error. 7 later cells are affected by it and still earn their marks. 1 number was truncated instead of rounded; 1 number differs by a rounding error; 1 number is plausible, but not confirmed; 1 cell could not be read; 1 line was not marked (see below)."),
    (by_hand.misconceived, "2 errors. 3 later cells are affected by error 1 and still earn their marks. 1 line has a wrong shape."),
    (by_hand.unsupported, "Not enough working: 9 numbers of Z cannot be judged, because Q, K, V and 3 other lines were not written."),
    (by_hand.faultless, "No error. 3 numbers were truncated instead of rounded; 1 number differs by a rounding error; 3 numbers are plausible, but not confirmed."),
]  # fmt: skip


@pytest.mark.parametrize(("make", "sentence"), SUMMARIES)
def test_the_summary_is_one_plain_sentence(make: Callable[[], Report], sentence: str) -> None:
    assert words.summary(make()) == sentence


def test_the_summary_knows_the_rare_cases() -> None:
    assert words.summary(report_of()) == "Nothing could be marked: no line was recognised as a step of the exercise."
    assert words.summary(report_of(line("Q", "X W_Q", cells("1 2", "c")))) == "No error."
    cut = report_of(line("Q", "X W_Q", cells("1 2", "t")), is_strict=True)
    assert words.summary(cut) == "No error except in rounding. 2 numbers were truncated instead of rounded."
    slip = Finding(0, ((0, 1),), Verdict.SLIP, "", "", "", "")
    alone = report_of(line("Q", "X W_Q", cells("1 2", "cS;", {(0, 1): (0,)})), findings=(slip,))
    assert words.summary(alone) == "1 error. No later cell is affected."
    missing = replace(line("Z", "A V", (), marks=LineMarks(0, 1, 0, 1)), is_missing=True)
    assert words.summary(report_of(line("Q", "X W_Q", cells("1 2", "c")), missing)) == (
        "No error. 1 line of the mark scheme is missing."
    )
    shape = Finding(0, (), Verdict.INVARIANT, "", "", "", "")
    entire = report_of(line("Z", "A V", ()), findings=(shape,))
    assert words.stories(entire)[0].title == "impossible value in Z, the entire line"
    unread = report_of(
        line("Q", "X W_Q", cells("1 2", "cS;", {(0, 1): (0,)})),
        line("S", "Q Kᵀ", cells("1 2", "?f;", {(0, 0): (0,), (0, 1): (0,)})),
        findings=(slip,),
    )
    assert "2 later cells are affected by it; 1 of them still earns its marks. 1 cell could not" in words.summary(
        unread
    )


@pytest.mark.parametrize(
    ("places", "text"),
    [
        ([(1, 2)], "row 2 (x2), column 3"),
        ([(1, 0), (1, 1), (1, 2)], "row 2 (x2)"),
        ([(1, 0), (1, 2)], "row 2 (x2), columns 1 and 3"),
        ([(0, 1), (1, 1), (2, 1)], "column 2"),
        ([(0, 1), (2, 1)], "column 2, rows 1 and 3"),
        ([(0, 1), (2, 2)], "2 cells starting at row 1 (x1), column 2"),
        ([(i, j) for i in range(3) for j in range(3)], "all 9 cells"),
        ([], "the entire line"),
    ],
)
def test_a_place_is_written_as_briefly_as_possible(places: list[tuple[int, int]], text: str) -> None:
    assert cells_place(by_hand.projections()[0], places) == text


def test_a_cell_has_a_complete_description() -> None:
    report = by_hand.slipped()
    marking = Marking(report)
    scores, weights = report.lines[4].cells, report.lines[6].cells
    assert scores[1][2] is not None
    assert weights[1][1] is not None
    assert marking.sentence(4, scores[1][2]) == (
        "row 2 (x2), column 3 (x3): 18, arithmetic slip; your own lines give 12.36; the true value is 12.358"
    )
    assert marking.tail(scores[1][2]) == "✗ (12.36)"
    assert marking.sentence(6, weights[1][1]) == (
        "row 2 (x2), column 2 (x2): 0.81, carried forward; the true value is 0.9858; affected by error 1"
    )
    second = by_hand.misconceived()
    cell = second.lines[2].cells[0][1]
    assert cell is not None
    assert Marking(second).sentence(2, cell) == (
        'row 1 (The), column 2 (cat): 0.00, misconception "softmax down the columns"; your own lines give 0.89; '
        "affected by error 1"
    )


def test_a_finding_without_a_sentence_on_what_follows_gets_one() -> None:
    swap, rule = words.stories(by_hand.misconceived())
    assert swap.title == "copying error (two digits swapped) in K, row 2 (cat), column 2"
    assert swap.follows == "6 cells are affected by it, in S′ and A."
    assert rule.title == 'misconception "softmax down the columns" in A, all 9 cells'
    assert rule.follows == "Nothing that could be marked."


def test_every_verdict_has_words_and_a_style() -> None:
    assert set(MEANINGS) == set(STYLES) == set(Verdict)


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_not_enough_working_is_neither_an_error_nor_no_error(form: str) -> None:
    report = by_hand.unsupported()
    assert (report.exit_code, report.has_error) == (1, False)
    text = plain(form, report)
    assert "no error" not in text.casefold()
    assert "Not enough working: write Q, K, V and 3 other lines too, so that these numbers can be judged." in text
    assert "-3 …" in text
    assert "cannot be judged, because too many lines before it were not written" in text.partition("Symbols")[2]


def test_the_page_shows_not_enough_working_in_its_own_colour() -> None:
    page = to_html([by_hand.unsupported(), by_hand.faultless()])
    assert '<p class="summary lacking">' in page
    assert '<td class="lacking"' in page
    assert "<b>0 / 2</b>, not enough working</li>" in page


def test_the_summary_names_every_line_without_enough_working_beside_the_errors() -> None:
    slip = Finding(0, ((0, 1),), Verdict.SLIP, "", "", "", "")
    weights, output = (line(symbol, "", cells("0.5 0.5", "n")) for symbol in "AZ")
    report = report_of(line("Q", "X W_Q", cells("1 2", "cS;", {(0, 1): (0,)})), weights, output, findings=(slip,))
    assert words.summary(report) == (
        "1 error. No later cell is affected. Not enough working: 4 numbers in 2 lines cannot be judged."
    )
    one = report_of(replace(output, unwritten=("A",)))
    assert words.summary(one) == "Not enough working: 2 numbers of Z cannot be judged, because A was not written."
    assert words.summary(report_of(output)).endswith("because the lines before were not written.")


def test_the_legend_has_only_what_occurs() -> None:
    names = [key.name for key in words.legend(by_hand.misconceived())]
    assert names == ["correct", "carried forward", "copying error", "misconception"]
    assert words.legend(by_hand.slipped())[-1].name == "blank"


# ---- all three formats ----

FORMS = {"terminal": lambda report: terminal(report, 200), "markdown": to_markdown, "html": lambda r: to_html([r])}


def plain(form: str, report: Report) -> str:
    """The text of a format as a reader sees it."""
    text = FORMS[form](report)
    if form == "html":
        text = re.sub(r"<[^>]*>", "", text.partition("<main>")[2].partition("</main>")[0])
    text = re.sub(r"\\([^a-z0-9\s])", r"\1", text) if form == "markdown" else text
    return re.sub(r"\s+", " ", html.unescape(text).replace("**", ""))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("make", [by_hand.faultless, by_hand.slipped, by_hand.misconceived])
def test_every_format_has_everything_in_order(form: str, make: Callable[[], Report]) -> None:
    report = make()
    text = plain(form, report)
    expected = [report.title, report.student, words.score(report.earned, report.out_of), words.summary(report)]
    for finding in report.findings:
        expected += [finding.what, finding.follows, finding.remedy, finding.right_sum, finding.student_sum]
    for line_mark in (one for one in report.lines if not one.is_good_copy):  # those are reported in one sentence
        expected += [words.equation_of(line_mark), words.line_score(line_mark.marks), *words.remarks(line_mark)]
        expected += [f"{cell.text} {Marking(report).tail(cell)}" for cell in line_mark.marked]
    expected += [sentence for group in words.notes(report) for sentence in group.sentences]
    for key in words.legend(report):
        expected += [key.symbol, key.name, key.meaning]
    assert len(expected) > 40
    position = 0
    for piece in expected:
        start = text.find(piece, position)
        assert start >= 0, f"{piece!r} is not in its place in {form}"
        position = start + len(piece)


@pytest.mark.parametrize("form", FORMS)
def test_with_strict_rounding_the_right_value_of_a_truncated_number_is_shown(form: str) -> None:
    grid = ((CellMark(0, 0, "0.06", Verdict.TRUNCATED, right="0.065"),),)
    report = report_of(line("A", "softmax", grid))
    assert "0.06 ⌊ (0.065)" not in plain(form, report)
    assert "0.06 ⌊ (0.065)" in plain(form, replace(report, is_strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_no_error_is_lost_in_a_matrix_that_is_shown_in_part(form: str) -> None:
    report = by_hand.large(47, "QS")
    text = plain(form, report)
    assert "cells are shown" in text
    assert "0.1234 ✗ (0.12345)" in text


@pytest.mark.parametrize("form", FORMS)
def test_a_ragged_line_is_shown_with_blanks(form: str) -> None:
    text = plain(form, report_of(line("Q", "X W_Q", (*cells("1 2 3", "c"), *cells("4", "c")))))
    assert text.count(words.BLANK) == 3, "two blanks and their entry in the legend"


EVIL = '"><evil>[b]\x1b|\n'


def poisoned() -> Report:
    """A report with hostile texts everywhere, and with errors in more columns than are drawn."""
    size = 43
    grid = tuple(
        tuple(CellMark(i, j, EVIL, Verdict.SLIP, EVIL, EVIL, (0,), EVIL) for j in range(size)) for i in range(2)
    )
    marks = LineMarks(0, 1, 0, 1, because=EVIL)
    line_mark = LineMark(EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, (EVIL,) * 2, (EVIL,) * size, grid, marks, "", EVIL)
    finding = Finding(0, ((0, 0),), Verdict.MISCONCEPTION, EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, (0,))
    lines = (line_mark, replace(line_mark, copy_of=EVIL, cells=()))
    notes = tuple(Note(kind, EVIL, EVIL) for kind in ("read", "unplaced", "warning"))
    return Report(EVIL, EVIL, EVIL, EVIL, lines, (finding,), notes, 0, 4)


def test_no_text_of_a_report_is_interpreted_on_a_page() -> None:
    for page in (to_html([poisoned()]), to_html([poisoned(), poisoned()], EVIL), to_fragment(poisoned())):
        assert page.count("&quot;&gt;&lt;evil&gt;") > 100
        assert "evil" not in {name for name, _ in Tags(page).found}
        assert "\x1b" not in page


def test_no_text_of_a_report_is_interpreted_in_markdown() -> None:
    text = to_markdown(poisoned())
    assert text.count('"&gt;&lt;evil&gt;\\[b\\]\\\\x1b\\|\\\\n') > 100
    assert "<evil" not in text
    assert not re.search(r"(?<!\\)\[", text)


def test_no_text_of_a_report_is_interpreted_in_the_terminal() -> None:
    text = terminal(poisoned(), 120)
    assert text.count('"><evil>[b]') > 100
    assert "\x1b" not in text


# ---- the terminal ----


@pytest.mark.parametrize("make", REPORTS)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_wider_than_the_window(make: Callable[[], Report], width: int) -> None:
    lines = terminal(make(), width).splitlines()
    assert len(lines) > 10
    assert max(cell_len(text) for text in lines) <= width


def test_errors_that_do_not_fit_are_listed_below() -> None:
    size = 12
    wrong = {(0, j): (0,) for j in range(size)}
    grid = cells(" ".join(["0.12345"] * size), "S", wrong, dict.fromkeys(wrong, "0.54321"))
    finding = Finding(0, tuple(wrong), Verdict.SLIP, "", "All of it.", "", "")
    text = terminal(report_of(line("S", "Q Kᵀ", grid), findings=(finding,)))
    assert "…" in text
    assert text.count("0.12345 ✗ (0.54321)") == size
    assert "- row 1 (x1), column 7: 0.12345 ✗ (0.54321)" in text


def test_colour_is_never_the_only_sign() -> None:
    report = by_hand.slipped()
    coloured = terminal(report, force_terminal=True)
    assert "\x1b[1;31m" in coloured
    bare = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert bare == terminal(report), "without colour the very same text is printed"
    assert "18 ✗ (12.36)" in bare


def test_the_variable_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = terminal(by_hand.slipped(), force_terminal=True)
    assert not re.search(r"\x1b\[[\d;]*3\dm", text)
    assert "18 ✗ (12.36)" in text


def test_the_terminal_prints_the_students_text_literally() -> None:
    text = terminal(by_hand.hostile(), 200)
    assert "\x1b" not in text
    assert "\u202e" not in text
    for piece in (
        "[bold]1[/bold]|`x`\\n<b> ✗ (2<3)",
        'Your line "[red]S[/red]" (line [1])',
        "[i]T[/i]",
        "[/bold] www",
    ):
        assert piece in text


def test_names_of_doubtful_width_do_not_shift_the_cells() -> None:
    tokens = ("आइसक्रीम", "है", "咖啡")
    report = report_of(line("S", "Q Kᵀ", cells("1 2 3; 4 5 6; 7 8 9", "c"), rows=tokens, columns=tokens))
    assert re.search(r"\x1b\[\d+G", terminal(report, force_terminal=True)), "every column jumps to its place"
    rows = [text for text in terminal(report).splitlines() if re.search("[⎡⎢⎣]", text)]
    assert len({cell_len(re.split("[⎡⎢⎣]", text)[0]) for text in rows}) == 1


# ---- Markdown ----


def test_markdown_escapes_all_text() -> None:
    text = to_markdown(by_hand.hostile())
    assert not re.search(r"<\w|</", text), "no tag"
    assert not re.search(r"(?<!\\)[`\[\]]", text), "no code, no link"
    assert "http:" not in text
    assert "www." not in text
    assert "@" not in text
    tables = [row for row in text.splitlines() if row.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", row)) for row in tables}
    assert widths == {3, 4}, "one column and a name, two sums, three columns of the legend"
    assert "$" not in to_markdown(by_hand.slipped()), "no LaTeX"


@pytest.mark.parametrize("note", ["- x", "+ x", "---", "===", "12. x", "3) x", "    x", "# x", "> x"])
def test_a_remark_starts_no_list_rule_or_block(note: str) -> None:
    text = to_markdown(report_of(line("Z", "A V", (), note=note)))
    shown = text.partition("**Z = A V** — M 1/1, A 1/1\n\n")[2].splitlines()[0]
    assert re.match(r"x|&#|&gt;|\\#|1&#", shown), shown


def test_a_table_follows_the_syntax_of_github() -> None:
    text = to_markdown(by_hand.slipped())
    assert "|  | x1 | x2 | x3 |\n|---|---:|---:|---:|\n| x1 | 6.40 ✓ | 11.32 ✓ | 6.81 ✓ |\n" in text
    assert "| **18 ✗ (12.36)** |" in text


# ---- the page ----


class Tags(HTMLParser):
    """Every tag with its attributes, and whether they are nested correctly."""

    VOID = ("meta", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        assert len(dict(attributes)) == len(attributes), f"an attribute of {name} stands twice"
        self.found.append((name, dict(attributes)))
        if name not in self.VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def named(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag == name]


@pytest.mark.parametrize("make", REPORTS)
def test_a_page_is_well_formed_and_self_contained(make: Callable[[], Report]) -> None:
    tags = Tags(to_html([make()]))
    names = {name for name, _ in tags.found}
    assert not names & {"img", "link", "svg", "iframe", "base", "object"}
    assert len(tags.named("script")) == len(tags.named("style")) == 1
    attributes = {name for _, values in tags.found for name in values}
    assert not attributes & {"src", "style"}
    assert not any(name.startswith("on") for name in attributes)
    policy = tags.named("meta")[1]["content"]
    assert policy is not None
    assert re.fullmatch(r"default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'", policy)
    Tags(to_fragment(make()))


def test_every_cell_has_its_symbol_and_its_sentence() -> None:
    for make in REPORTS:
        report = make()
        drawn = [(index, line_mark) for index, line_mark in enumerate(report.lines) if not line_mark.is_good_copy]
        cells = [(index, cell) for index, line_mark in drawn for cell in line_mark.marked]
        page = to_html([report])
        shown = [attributes["title"] for attributes in Tags(page).named("td") if "data-at" in attributes]
        sentences = [text for text in shown if text and not text.startswith("nothing was written")]
        assert len(sentences) == len(cells)
        assert re.findall(r"<i(?: data-of=\"[\d,]+\")?>(.)</i>", page) == [cell.verdict.symbol for _, cell in cells]
    assert "row 2 (x2), column 3 (x3): 18, arithmetic slip; your own lines give 12.36" in to_html([by_hand.slipped()])


def test_exactly_the_cells_below_an_error_are_hatched() -> None:
    report = by_hand.misconceived()
    tags = [attributes for attributes in Tags(to_html([report])).named("td") if "data-at" in attributes]
    hatched = [attributes for attributes in tags if "hatch" in (attributes["class"] or "").split()]
    roots = [attributes for attributes in tags if "root" in (attributes["class"] or "").split()]
    assert [attributes["data-below"] for attributes in hatched] == ["0"] * 3, "the scores of the miscopied key"
    assert [attributes["data-root"] for attributes in roots] == ["0"] + ["1"] * 9
    assert [attributes.get("data-below") for attributes in roots[1:4]] == [None, "0", None], (
        "an error can stand below another"
    )
    assert all("hatch" not in (attributes["class"] or "") for attributes in roots)


def test_the_first_finding_is_open_and_the_sums_are_side_by_side() -> None:
    page = to_html([by_hand.misconceived()])
    assert ["open" in attributes for attributes in Tags(page).named("details")] == [True, False]
    assert page.count('<div class="sums"><div class="good">') == 2


def test_several_exercises_have_a_table_of_contents() -> None:
    page = to_html([by_hand.slipped(), by_hand.misconceived()], "Homework <3>")
    tags = Tags(page)
    assert [attributes["href"] for attributes in tags.named("a")] == ["#r0", "#r1"]
    ids = [attributes["id"] for _, attributes in tags.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"r0", "r1", "r0f0", "r1f0", "r1f1"} <= set(ids)
    assert len(tags.named("h1")) == 1
    assert "<title>Homework &lt;3&gt;</title>" in page
    assert "Marks: <b>15 / 21</b>" in page
    assert "Second exercise · Ada L.</a>: <b>3⅔ / 8</b>, 2 errors" in page
    assert "Marked working" in to_html([])


def test_the_table_of_contents_claims_no_error_only_where_all_was_marked() -> None:
    lost = replace(by_hand.faultless(), notes=(Note("unplaced", "It is not a line of this exercise.", "line 3"),))
    empty = replace(by_hand.faultless(), lines=(), earned=0, out_of=0)
    page = to_html([by_hand.faultless(), lost, empty])
    states = re.findall(r"</b>, ([^<]*)</li>", page)
    assert states == ["no error", "no error in what could be marked", "nothing could be marked"]


def test_the_help_mentions_errors_only_where_there_are_some() -> None:
    assert "Point at an error" in to_html([by_hand.slipped()])
    page = to_html([by_hand.unsupported()])
    assert "Point at an error" not in page
    assert "Click a cell to see its details." in page


def test_a_fragment_can_be_in_a_notebook_twice() -> None:
    fragment = to_fragment(by_hand.slipped())
    tags = Tags(fragment)
    assert not tags.named("script")
    assert not any("id" in attributes for _, attributes in tags.found)
    assert fragment == by_hand.slipped()._repr_html_()
    outer = re.sub(
        r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", "", fragment.partition("<style>")[2].partition("</style>")[0]
    )
    selectors = [selector.strip() for selector in re.split(r"[;}]|(?<=\S) (?=[.@h])", outer) if selector.strip()]
    assert selectors
    assert all(
        "clearhead" in selector or "check" in selector or selector.startswith("@media") for selector in selectors
    ), selectors


def test_ten_tokens_stay_under_300_kilobytes() -> None:
    assert len(to_html([by_hand.large()]).encode()) < 300_000


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_every_tint_has_the_contrast_of_wcag_aa(theme: int) -> None:
    style = to_html([by_hand.slipped()]).partition("<style>")[2]
    palette = re.findall(r"\{([^{}]*--paper: [^{}]*)\}", style)[theme]
    verdicts = re.findall(r"\{([^{}]*--tint: [^{}]*)\}", style)[theme]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", palette + verdicts))
    tint = int(re.findall(r"--tint: (\d+)%", verdicts)[0]) / 100
    for name in ("well", "carried", "loose", "maybe", "lacking", "wrong", "unread", "unchecked"):
        ground = mixed(colours[name], colours["card"], tint)
        assert contrast(colours[name], ground) >= 4.5, f"the symbol of {name}"
        assert contrast(colours["ink"], ground) >= 4.5, f"the number of {name}"
        stroke = mixed(colours["carried"], ground, 0.34)
        assert contrast(colours["ink"], stroke) >= 4.5, f"the number of {name} on a hatch"
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    lit = mixed(colours["frame"], colours["card"], 0.30)
    assert contrast(colours["ink"], lit) >= 4.5
    for tone in ("well", "wrong", "lacking"):
        assert contrast(colours["ink"], mixed(colours[tone], colours["paper"], 0.08)) >= 4.5


def test_all_errors_look_like_errors() -> None:
    for verdict in ERRORS:
        report = report_of(line("S", "Q Kᵀ", ((CellMark(0, 0, "1", verdict, right="2"),),)))
        assert re.search(r'<td class="wrong"[^>]*>1 <i>✗</i> <small>\(2\)</small>', to_html([report])), verdict


def test_the_marks_are_explained_where_they_are_given() -> None:
    report = by_hand.slipped()
    legend = (
        "M: method mark: the right step with the right inputs; "
        "A: accuracy mark: right numbers, divided equally among the rows; "
        "A-ft: accuracy mark with follow-through: right for your earlier numbers, although one of them is wrong"
    )
    assert words.mark_legend(report) == legend
    assert "  A-ft  accuracy mark with follow-through" in terminal(report, 120)
    assert "*M: method mark: the right step with the right inputs; A: " in report.to_markdown().replace("\\", "")
    page = report.to_html()
    assert '<abbr title="method mark: the right step with the right inputs">M</abbr> 1/1' in page
    assert '<abbr title="accuracy mark with follow-through: right for your earlier numbers' in page
    assert words.mark_names(report_of(line("Z", "A V", (), marks=LineMarks(0, 0, 0, 0)))) == []


@pytest.mark.parametrize(
    ("name", "place", "sentence"),
    [
        ("output", "written: output", 'Your line "output" was taken to be Z.'),
        ("output", "written: self: output", 'Your line "self: output" was taken to be Z.'),
        ("z[1], out", "written: z[1], written: out", 'Your lines "z[1]", "out" were taken to be Z.'),
        ("context", "line 12", 'Your line "context" (line 12) was taken to be Z.'),
        ("Z", "line 12", 'Your line "Z" (line 12).'),
        ("Z", "written: Z", ""),
        ("Z[1], Z[2]", "written: Z[1], written: Z[2]", ""),
    ],
)
def test_a_report_says_which_line_a_name_was_taken_for(name: str, place: str, sentence: str) -> None:
    assert words.remarks(line("Z", "A V", (), name=name, place=place)) == ([sentence] if sentence else [])


def test_a_line_that_was_not_written_is_not_called_a_line_of_the_student() -> None:
    missing = replace(line("A", "softmax", (), name="weights", place="", note="Not written."), is_missing=True)
    assert words.remarks(missing) == ["Not written."]


def test_a_sentence_names_the_line_as_the_student_does() -> None:
    assert words.your_line(line("Q", "X W_Q", (), name="Q", place="written: Q")) == 'Your line "Q"'
    assert words.your_line(line("S", "Q Kᵀ", (), name="scores", place="written: self: scores")) == (
        'Your line "self: scores"'
    )
    assert words.your_line(line("A", "", (), name="A[1], A[2]", place="written: A[1], written: A[2]")) == (
        'Your lines "A[1]", "A[2]"'
    )
    assert words.your_line(line("S", "Q Kᵀ", (), name="E", place="line 12")) == 'Your line "E" (line 12)'
    assert words.your_line(line("Q", "X W_Q", (), name="Q", place="")) == ""
    rows = [f"a long name of a line[{number}]" for number in range(1, 6)]
    many = words.your_line(line("A", "", (), name=rows[0], place=", ".join(f"written: {row}" for row in rows)))
    assert many == 'Your lines "a long name of a line[1]", "a long name of a line[2]" and 3 more'

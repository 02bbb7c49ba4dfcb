"""The page of a practice sheet in a real browser: its script beside the marker, the keyboard, phones, files, and faults."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clearhead import Worksheet
from clearhead.check.graph import Graph
from clearhead.check.marker import mark
from clearhead.check.working import Working, WrittenLine
from clearhead.exercises.check.read.number import is_blank, read_cell
from clearhead.quiz import QuizRequest, QuizSheet, draw_sheet, quiz_kinds
from clearhead.quiz.page import to_page
from clearhead.quiz.page.markup import marking_script
from clearhead.quiz.page.sheet_data import NUMERIC_INPUTS, script_data
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView
from tests.command import run
from tests.integration.browser import IN_BROWSER, SCREENS, Desk, serious_faults

pytestmark = IN_BROWSER
BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
COMPUTED = """sheets => sheets.map(sheet => {
  const values = [];
  for (const record of sheet.records) values.push(compute(sheet, record, values, PLAIN_NUMBERS, PLAIN_STEPS));
  return values.map(matrix => matrix.map(row => row.map(String)));
})"""
VERDICTS = """jobs => jobs.map(({sheet, texts}) => judge(sheet, texts).records.map(
  record => record.verdicts.map(row => row.map(cell => cell && cell.verdict))))"""
FAILED = ("wrong", "unreadable")
ACCEPTED = ("correct", "rounded", "carried", "truncated", "rounding", "plausible")


@pytest.fixture(scope="module")
def students() -> Iterator[Any]:
    """The students of the benchmarks, at the page of a sheet."""
    sys.path.insert(0, BENCHMARKS)
    try:
        import page_students

        yield page_students
    finally:
        sys.path.remove(BENCHMARKS)


@pytest.fixture(scope="module")
def script(browser: Any) -> Iterator[Any]:
    """An empty page that has only the marking script."""
    page = browser.new_page()
    page.add_script_tag(content=marking_script())
    yield page
    page.close()


def practice_sheet(kind: str = "self-attention", difficulty: int = 2, seed: int = 7, blanks: str = "all") -> QuizSheet:
    return draw_sheet(QuizRequest(kind, difficulty, seed, blanks=blanks))


def key_texts(sheet: QuizSheet) -> list[str]:
    """Return the answers of the blank cells, in the order of the fields on the page (tokens are rows)."""
    return [
        key.matrix.digits.text(i, j)
        for step, key in zip(sheet.view.steps, sheet.key_view.steps, strict=True)
        for i in range(step.matrix.value.shape[0])
        for j in range(step.matrix.value.shape[1])
        if step.matrix.digits.is_hidden(i, j)
    ]


def all_blank(sheet: Worksheet) -> Any:
    """Return a solved problem as a practice sheet on which every cell is to be filled in."""
    view = SheetView(sheet)
    for step in view.steps:
        for cell in step.cells("*", "*"):
            step.hide(*cell)
    return SimpleNamespace(worksheet=sheet, view=view, number="every cell")


# The script beside the code that it must agree with


def test_the_script_computes_every_step_of_every_example_as_the_reference_does(
    script: Any, all_sheets: dict[str, Worksheet]
) -> None:
    sheets = [sheet for sheet in all_sheets.values() if all(record.value.size < 2000 for record in sheet.trace)]
    steps = {record.step.name for sheet in sheets for record in sheet.trace}
    assert steps == set(NUMERIC_INPUTS), "every step occurs"
    results = script.evaluate(COMPUTED, [script_data(all_blank(sheet)) for sheet in sheets])
    for sheet, values in zip(sheets, results, strict=True):
        for record, value in zip(Graph(sheet).records, values, strict=True):
            computed = np.array([[float(text.replace("Infinity", "inf")) for text in row] for row in value])
            if sheet.rounding.lines == "exact":
                np.testing.assert_allclose(computed, record.value, rtol=1e-11, atol=1e-12, err_msg=record.step.name)


def test_the_script_and_the_page_data_agree_on_the_inputs_of_every_step(script: Any) -> None:
    assert script.evaluate("NUMERIC") == {name: list(inputs) for name, inputs in NUMERIC_INPUTS.items()}


CELLS = [
    *("0.5", ".5", "-.50", "−1.25", "– 3", "12", "0", "-0.00", "1e-3", "1.2e-3", "1.2×10^-3", "7.9×10⁻³²", "2.50%"),
    *("2/3", "1/(1+1)", "√2", "e^2/(e^2+1)", "½", "-∞", "-inf", "≈0.33", "3.", "", "?", "____", "0,5", "1.2.3", "abc"),
    *("1/0", "--", "(0.5)", "1 000", "0x10", "1e999", "2^3^2", "7\\times10^{-3}", "π/2", "Infinity"),
]


@pytest.mark.parametrize("has_comma", [False, True])
def test_a_typed_number_is_read_as_the_marker_reads_it(script: Any, has_comma: bool) -> None:
    results = script.evaluate("([texts, comma]) => texts.map(text => readNumber(text, comma))", [CELLS, has_comma])
    for text, result in zip(CELLS, results, strict=True):
        expected = read_cell(text, has_decimal_comma=has_comma)
        if is_blank(text):
            assert result is None, text
        elif expected.problem:
            assert result["problem"], text
        else:
            assert not result.get("problem"), (text, result)
            assert result["value"] == pytest.approx(expected.value, rel=1e-12), text
            if not text.startswith("("):  # brackets are part of an expression here
                assert result["unit"] == pytest.approx(expected.unit, rel=1e-9), text


# Q is W_Q, because X is the identity: 0.125, 1, -2 and 0.15. K is 1, 0, 0 and 2, so S = Q Kᵀ is 0.125, 2, -2 and 0.3.
BY_HAND = {
    "kind": "self-attention",
    "X": [[1, 0], [0, 1]],
    "W_Q": [[0.125, 1], [-2, 0.15]],
    "W_K": [[1, 0], [0, 2]],
    "W_V": [[3, 5], [7, 11]],
    "scale": "none",
    "rounding": {"decimals": 1},
}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("0.125", "correct"),
        ("1/8", "correct"),
        ("12.5%", "correct"),
        ("0.13", "correct"),  # half up
        ("0.12", "correct"),  # half to even, or cut
        ("0.1", "correct"),  # 0.125 is within 0.1 ± 0.05
        ("0.2", "rounding"),  # 0.075 off, less than its unit 0.1
        ("0.14", "wrong"),  # 0.015 off, more than its unit 0.01
        ("-0.13", "wrong"),
        ("0", "wrong"),  # in a line of 0 and 1 it means 0.00
        ("0,125", "unreadable"),
        ("one", "unreadable"),
    ],
)
def test_one_cell_worked_by_hand(script: Any, text: str, verdict: str) -> None:
    data = script_data(all_blank(solve(BY_HAND)))
    texts = [[[text, ""], ["", ""]], *[[] for _ in data["records"][1:]]]
    assert script.evaluate(VERDICTS, [{"sheet": data, "texts": texts}])[0][0] == [[verdict, None], [None, None]]


@pytest.mark.parametrize(
    ("text", "verdict"), [("0.1", "few"), ("0.2", "few"), ("0.13", "few"), ("0.125", "correct"), ("0.126", "wrong")]
)
def test_a_number_with_fewer_decimals_than_the_sheet_asks_for_is_questioned(
    script: Any, text: str, verdict: str
) -> None:
    data = script_data(all_blank(solve({**BY_HAND, "rounding": {"decimals": 3}})))
    texts = [[[text, ""], ["", ""]], *[[] for _ in data["records"][1:]]]
    assert script.evaluate(VERDICTS, [{"sheet": data, "texts": texts}])[0][0][0][0] == verdict


@pytest.mark.parametrize(
    ("queries", "scores", "verdicts"),
    [
        # the score of the wrong 0.5 is 0.5, that of the right 0.125 is 0.125 (only miscopied), and 0.9 is neither
        ("0.5", "0.5", ["wrong", "carried"]),
        ("0.5", "0.125", ["wrong", "from-right"]),
        ("0.5", "0.9", ["wrong", "wrong"]),
        ("0.13", "0.13", ["correct", "correct"]),
        ("0.13", "0.125", ["correct", "correct"]),
        ("0.13", "0.15", ["correct", "wrong"]),
        ("", "0.125", [None, "correct"]),
        ("", "0.5", [None, "wrong"]),
    ],
)
def test_a_line_is_marked_from_what_was_typed_above_it(
    script: Any, queries: str, scores: str, verdicts: list[str | None]
) -> None:
    data = script_data(all_blank(solve(BY_HAND)))
    assert [record["symbol"] for record in data["records"]] == ["Q", "K", "V", "S", "A", "Z"]
    keys = [["1", "0"], ["0", "2"]]
    texts = [[[queries, "1"], ["-2", "0.15"]], keys, [], [[scores, ""], ["", ""]], [], []]
    lines = script.evaluate(VERDICTS, [{"sheet": data, "texts": texts}])[0]
    assert [lines[0][0][0], lines[3][0][0]] == verdicts


def test_a_faultless_working_is_never_failed_however_it_is_rounded(script: Any, students: Any) -> None:
    jobs, labels = [], []
    for number, kind in enumerate(quiz_kinds()):
        blanks = ("all", "row", "hard")[number % 3]
        place = students.at_desk(practice_sheet(kind, 2 + number % 2, seed=number, blanks=blanks))
        for way, style in students.ten_ways(place.data["decimals"], number).items():
            desk = students.faultless_at(place, style, number)
            if desk is not None:
                jobs.append({"sheet": place.data, "texts": students.typed_texts(desk)})
                labels.append((place.sheet.number, way))
    verdicts = script.evaluate(VERDICTS, jobs)
    failed = [
        (*label, index, job["texts"][index][i][j])
        for label, job, lines in zip(labels, jobs, verdicts, strict=True)
        for index, rows in enumerate(lines)
        for i, row in enumerate(rows)
        for j, verdict in enumerate(row)
        if verdict in FAILED
    ]
    assert failed == []
    assert sum(verdict in ACCEPTED for lines in verdicts for rows in lines for row in rows for verdict in row) > 5000


def test_a_slip_is_failed_or_questioned_and_nothing_is_failed_that_the_marker_accepts(
    script: Any, students: Any
) -> None:
    jobs, faults = [], []
    for number, kind in enumerate(("self-attention", "masked-self-attention", "add-and-norm", "recurrent", "context")):
        for difficulty in (2, 3):
            place = students.at_desk(practice_sheet(kind, difficulty, seed=number))
            for turn, (way, style) in enumerate(students.ten_ways(place.data["decimals"], number).items()):
                if way in ("lines and rows left out", "any habit"):
                    continue
                outcome = students.slip(place, style, 100 * number + 10 * difficulty + turn)
                if outcome is not None:
                    jobs.append({"sheet": place.data, "texts": students.typed_texts(outcome[0])})
                    faults.append((place, *outcome))
    verdicts = script.evaluate(VERDICTS, jobs)
    assert len(faults) > 70
    num_caught = num_questioned = num_outside = 0
    for (place, desk, fault), lines in zip(faults, verdicts, strict=True):
        verdict = lines[fault.index][fault.place[0]][fault.place[1]]
        num_outside += fault.is_outside
        num_caught += fault.is_outside and verdict in FAILED
        num_questioned += fault.is_outside and verdict in ("coarse", "open")
        wrong = {
            (index, i, j)
            for index, rows in enumerate(lines)
            for i, row in enumerate(rows)
            for j, mark_of_cell in enumerate(row)
            if mark_of_cell in FAILED
        }
        assert wrong <= marker_errors(place.sheet, desk), (place.sheet.number, fault)
    assert num_caught >= 0.85 * num_outside
    assert num_caught + num_questioned >= 0.92 * num_outside


def marker_errors(sheet: QuizSheet, desk: Any) -> set[tuple[int, int, int]]:
    """Return the cells that the real marker calls an error."""
    lines = tuple(
        WrittenLine(line.record.symbol, tuple(tuple(map(str, row)) for row in line.texts), where=line.record.where)
        for line in desk.lines
        if line.is_written
    )
    numbers = {(line.record.symbol, line.record.where): number for number, line in enumerate(desk.lines)}
    report = mark(Working(problem=dict(sheet.problem), lines=lines))
    return {
        (numbers[line.symbol, line.where], cell.row, cell.column)
        for line in report.lines
        for cell in line.marked
        if cell.verdict.is_error
    }


# The page


def show(desk: Desk, sheet: QuizSheet, decimal: Any = "point", **options: Any) -> Any:
    """Open the page of a sheet, with time enough for a machine that is busy."""
    page = desk.show(to_page(sheet, decimal=decimal), **options)
    page.set_default_timeout(120_000)
    return page


def work_through(page: Any, texts: list[str]) -> None:
    """Type into all cells, by keyboard alone, starting from the first one."""
    for text in texts:
        page.keyboard.type(text)
        page.keyboard.press("Enter")


def press_button(page: Any, name: str) -> None:
    """Reach a button with Tab and press it."""
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == name:
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab never reaches {name}")


def test_a_sheet_is_worked_by_keyboard_alone_on_a_phone_in_the_dark_and_its_file_is_marked(
    desk: Desk, tmp_path: Path
) -> None:
    sheet = practice_sheet()
    page = show(desk, sheet, viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "student"
    page.keyboard.type("Ada")
    page.keyboard.press("Tab")
    answers = key_texts(sheet)
    slip = f"{float(answers[1]) + 0.07:.3f}"
    work_through(page, [answers[0], slip, *answers[2:]])
    press_button(page, "Check")
    result = page.locator("#result").inner_text()
    assert result.startswith("First line that goes wrong: Q, row birds, column 2 does not follow from the lines above")
    assert answers[1] not in result, "the answer is not told"
    assert page.locator("[data-mark=wrong]").count() >= 1
    assert page.locator("#line0.first-wrong").count() == 1
    field = page.locator("input[data-cell]").nth(1)
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("aria-label").endswith(": does not follow from the lines above")
    field.focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(answers[1])
    assert page.locator("[data-mark]").count() == 0, "old marks are gone"
    press_button(page, "Check")
    assert page.locator("#result").inner_text() == "All cells are right."
    assert page.locator("[data-mark=right]").count() == len(answers)
    with page.expect_download(timeout=120_000) as download:
        press_button(page, "Save working")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == f"{sheet.number}.json"
    assert json.loads(path.read_text())["student"] == "Ada"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    checked = run("check", str(path))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "carried forward" not in checked.stdout


def test_the_saved_file_of_a_slip_is_marked_with_the_error_carried_forward(desk: Desk, tmp_path: Path) -> None:
    sheet = practice_sheet()
    page = show(desk, sheet)
    answers = key_texts(sheet)
    page.locator("input[data-cell]").first.focus()
    work_through(page, [f"{float(answers[0]) + 1:.3f}", *answers[1:]])
    with page.expect_download(timeout=120_000) as download:
        page.locator("#save").click()
    path = tmp_path / "working.json"
    download.value.save_as(path)
    checked = run("check", str(path), "--json")
    assert checked.returncode == 1, checked.stdout + checked.stderr
    assert '"transcription"' in checked.stdout or '"arithmetic slip"' in checked.stdout


def test_arrow_keys_move_between_cells_and_within_the_text(desk: Desk) -> None:
    page = show(desk, practice_sheet())
    current = "document.activeElement.dataset.cell"
    page.locator("input[data-cell='0:0,0']").focus()
    for key, cell in [
        *(("ArrowRight", "0:0,1"), ("ArrowDown", "0:1,1"), ("ArrowDown", "0:2,1"), ("ArrowDown", "1:0,0")),
        *(("ArrowUp", "0:2,1"), ("ArrowLeft", "0:2,0"), ("ArrowUp", "0:1,0"), ("Enter", "0:1,1")),
    ]:
        page.keyboard.press(key)
        assert page.evaluate(current) == cell, key
    page.keyboard.type("12")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(current) == "0:1,1", "the first press moves inside the text"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(current) == "0:1,0"
    page.locator("input[data-cell='0:0,0']").focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate(current) == "0:0,0", "nothing is above the first line"


def test_work_is_kept_in_the_browser_and_clear_asks_first(desk: Desk) -> None:
    page = show(desk, practice_sheet())
    questions: list[str] = []
    answers = iter([False, True])

    def answer(dialog: Any) -> None:
        questions.append(dialog.message)
        if next(answers):
            dialog.accept()
        else:
            dialog.dismiss()

    page.on("dialog", answer)
    first = page.locator("input[data-cell]").first
    first.fill("0.75")
    page.locator("#student").fill("Grace")
    page.reload()
    assert page.locator("#no-storage").is_hidden()
    assert (first.input_value(), page.locator("#student").input_value()) == ("0.75", "Grace")
    page.locator("#clear").click()
    assert first.input_value() == "0.75"
    page.locator("#clear").click()
    assert first.input_value() == ""
    page.reload()
    assert (first.input_value(), page.locator("#student").input_value()) == ("", "Grace")
    assert questions == ["Clear everything that you typed on this sheet?"] * 2


def test_two_sheets_do_not_share_their_work(desk: Desk) -> None:
    page = show(desk, practice_sheet())
    page.locator("input[data-cell]").first.fill("0.75")
    other = desk.folder / "other.html"
    other.write_text(to_page(practice_sheet(seed=8)), encoding="utf-8")
    page.goto(other.as_uri())
    assert page.locator("input[data-cell]").first.input_value() == ""


def test_a_browser_that_keeps_nothing_is_said_and_the_page_works(desk: Desk) -> None:
    page = show(desk, practice_sheet())
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('denied', 'SecurityError'); }})"
    )
    page.reload()
    assert page.locator("#no-storage").inner_text().startswith("Note: this browser does not keep your work.")
    page.locator("input[data-cell]").first.fill("99")
    page.locator("#check").click()
    assert "First line that goes wrong" in page.locator("#result").inner_text()


def test_a_saved_working_is_loaded_again_and_other_files_are_refused(desk: Desk, tmp_path: Path) -> None:
    sheet = practice_sheet(blanks="row")
    page = show(desk, sheet)
    answers = key_texts(sheet)
    page.locator("input[data-cell]").first.focus()
    work_through(page, answers)
    with page.expect_download(timeout=120_000) as download:
        page.locator("#save").click()
    saved = tmp_path / "mine.json"
    download.value.save_as(saved)
    page.on("dialog", lambda dialog: dialog.accept())
    page.locator("#clear").click()
    result, chooser = page.locator("#result"), page.locator("#file")
    chooser.set_input_files(saved)
    result.get_by_text("Loaded mine.json.").wait_for(timeout=120_000)
    assert [field.input_value() for field in page.locator("input[data-cell]").all()] == answers
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"sheet": "self-attention-1-1-01-v1-A", "written": {"Q": [["1"]]}}))
    chooser.set_input_files(other)
    result.get_by_text("other.json is a working of sheet self-attention-1-1-01-v1-A, and this is").wait_for(
        timeout=120_000
    )
    for content in ("not JSON", "[]", "null", '{"written": 7}', ""):
        other.write_text(content)
        result.evaluate("element => (element.textContent = '')")
        chooser.set_input_files(other)
        result.get_by_text("other.json is not a working that this page saved.").wait_for(timeout=120_000)
    assert [field.input_value() for field in page.locator("input[data-cell]").all()] == answers, "nothing is lost"


def test_a_hint_is_the_rule_then_the_students_own_sum_then_the_answer(desk: Desk) -> None:
    sheet = practice_sheet()
    page = show(desk, sheet)
    for cell, text in (("0:0,0", "2.5"), ("0:0,1", "-4"), ("1:1,0", "0.5")):
        page.locator(f"input[data-cell='{cell}']").fill(text)
    page.locator("input[data-cell='3:0,1']").focus()
    hint, box = page.locator("button.hint[data-record='3']"), page.locator("#hints3")
    hint.click()
    assert box.inner_text() == "Rule: Take the dot product of every query with every key. S = Q Kᵀ"
    hint.click()
    assert box.locator("p").nth(1).inner_text().startswith("Your sum: S, row birds, column tea = 2.5×0.5 + (-4)×")
    assert "Answer" not in box.inner_text()
    hint.click()
    assert box.locator("p").nth(2).inner_text().startswith("Answer from your lines above: S, row birds, column tea is ")


def test_a_decimal_comma_is_read_where_the_sheet_has_it_and_explained_where_not(desk: Desk) -> None:
    sheet = practice_sheet()
    for decimal, expected in (("comma", "Everything typed so far follows"), ("point", "it has a comma")):
        page = show(desk, sheet, decimal)
        page.locator("input[data-cell]").first.fill(key_texts(sheet)[0].replace(".", ","))
        page.locator("#check").click()
        assert expected in page.locator("#result").inner_text()


def test_ones_in_all_cells_are_not_called_right(desk: Desk) -> None:
    page = show(desk, practice_sheet("softmax", 1, blanks="hard"))
    for field in page.locator("input[data-cell]").all():
        field.fill("1")
    page.locator("#check").click()
    assert page.locator("#result").inner_text().startswith('Nothing is wrong so far. 3 marked "?"')


def test_cells_below_empty_lines_are_not_called_wrong_and_an_empty_page_says_so(desk: Desk) -> None:
    sheet = practice_sheet()
    page = show(desk, sheet)
    page.locator("#check").click()
    assert page.locator("#result").inner_text() == "Nothing is typed yet."
    last = page.locator("input[data-cell]").last
    last.fill(key_texts(sheet)[-1])
    page.locator("#check").click()
    assert page.locator("[data-mark=wrong]").count() == 0
    assert page.locator(".words").count() == 0
    last.focus()
    name = "Z, row falls, column 2: "
    assert page.locator(".words").inner_text().startswith(name), "the mark in words, beside the matrix"
    assert last.get_attribute("aria-label") == page.locator(".words").inner_text()
    assert "50 of 51 cells are empty." in page.locator("#result").inner_text()


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_axe_finds_no_serious_fault_before_and_after_a_check(desk: Desk, width: int, scheme: str) -> None:
    sheet = practice_sheet()
    page = show(desk, sheet, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert serious_faults(page) == []
    answers = key_texts(sheet)
    page.locator("input[data-cell]").first.focus()
    work_through(page, [answers[0], "7.5", *answers[2:9], "x"])
    page.locator("button.hint").first.click()
    page.locator("#check").click()
    assert page.locator("[data-mark=right]").count() > 0
    assert page.locator("[data-mark=wrong]").count() > 0
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_the_sheet_has_boxes_and_no_buttons(desk: Desk) -> None:
    page = show(desk, practice_sheet())
    page.emulate_media(media="print")
    assert page.locator("#check").is_hidden()
    assert page.locator("button.hint").first.is_hidden()
    assert page.locator("input[data-cell]").first.is_visible()

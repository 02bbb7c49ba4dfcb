"""The task Practice in a real browser, before a real server: a sheet that marks itself in a frame, and the marker's report."""

from typing import Any

import pytest

from clearhead.quiz.draw import quiz_kinds, sheet_of_number
from tests.integration.browser import IN_BROWSER
from tests.integration.served_pages import SECONDS, Visitor, faults_in, frame_of, tab_to
from tests.quiz_keys import answer_lines

pytestmark = IN_BROWSER
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
ATTENTION = "self-attention-2h-7-01-v1-M"  # the weights A and the output Z are blank


def answers(number: str) -> list[str]:
    """Return the numbers that belong into the blank cells, in the order of the page."""
    return [cell for line in answer_lines(sheet_of_number(number)) for row in line.cells for cell in row if cell]


def opened(visitor: Visitor, number: str = ATTENTION, **options: Any) -> tuple[Any, Any]:
    """Open the page with a sheet, and return the page and the document of the sheet."""
    page = visitor.open(f"/exercises#number={number}", **options)
    return page, frame_of(page, "#practice-sheet")


def fill(page: Any, sheet: Any, numbers: list[str]) -> None:
    """Type numbers into the cells from the first one on, by keyboard; Enter goes to the next cell."""
    sheet.locator("[data-cell]").first.focus()
    for number in numbers:
        page.keyboard.type(number)
        page.keyboard.press("Enter")


def test_a_sheet_is_drawn_and_worked_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open("/exercises")
    tab_to(page, "tab-solve")
    page.keyboard.press("End")
    expect(page.locator("#sheet-kind option")).to_have_count(len(quiz_kinds()), timeout=SECONDS)
    tab_to(page, "sheet-kind")
    page.keyboard.press("Home")
    for _ in range(quiz_kinds().index("softmax")):
        page.keyboard.press("ArrowDown")
    tab_to(page, "draw")
    page.keyboard.press("Enter")
    sheet = frame_of(page, "#practice-sheet")
    number = page.locator("#practice-sheet iframe").get_attribute("title")
    assert number.startswith("softmax-1-")
    assert page.url.endswith(f"#number={number}")
    fill(page, sheet, answers(number))
    sheet.get_by_role("button", name="Check").press("Enter")
    expect(sheet.locator("#result")).to_have_text("All cells are right.")


def test_the_marker_reports_on_what_was_typed_with_errors_carried_forward(visitor: Visitor) -> None:
    page, sheet = opened(visitor)
    numbers = answers(ATTENTION)
    fill(page, sheet, ["0.9", *numbers[1:]])
    sheet.get_by_role("button", name="Marks with report").click()
    report = frame_of(page, "#practice-marks").locator("body")
    expect(report).to_contain_text("Error 1")
    expect(report).not_to_contain_text("Error 3")
    sheet.locator("[data-cell]").first.fill(numbers[0])
    sheet.get_by_role("button", name="Marks with report").click()
    expect(frame_of(page, "#practice-marks", 2).locator("body")).to_contain_text("Marks: 4 / 4")


def test_what_was_typed_survives_a_reload_and_is_cleared_after_a_question(visitor: Visitor) -> None:
    page, sheet = opened(visitor)
    fill(page, sheet, ["0.5", "0.25"])
    page.goto(f"{visitor.base}/models")
    page.goto(f"{visitor.base}/exercises")
    sheet = frame_of(page, "#practice-sheet")
    expect(sheet.locator("[data-cell]").nth(1)).to_have_value("0.25")
    assert sheet.locator("#no-storage").is_hidden()
    questions: list[str] = []
    page.on("dialog", lambda dialog: (questions.append(dialog.message), dialog.accept()))
    sheet.get_by_role("button", name="Clear").click()
    expect(sheet.locator("#result")).to_have_text("Cleared.")
    assert questions == ["Clear everything that you typed on this sheet?"]
    page.reload()
    expect(frame_of(page, "#practice-sheet").locator("[data-cell]").first).to_have_value("")
    assert page.context.cookies() == []
    assert page.evaluate("Object.keys(localStorage)") == [f"clearhead-quiz:{ATTENTION}"]


def test_a_number_that_does_not_exist_and_an_empty_sheet_are_one_sentence(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/exercises#number=softmax-1-0-01-v1-Q")
    expect(page.locator("#practice-error")).to_contain_text("'softmax-1-0-01-v1-Q'", timeout=SECONDS)
    assert page.locator("#practice-sheet").is_hidden()
    page, sheet = opened(visitor)
    sheet.get_by_role("button", name="Marks with report").click()
    expect(page.locator("#practice-error")).to_contain_text("Fill in a cell.", timeout=SECONDS)


@pytest.mark.parametrize(("width", "scheme", "language"), [(360, "dark", "hi"), (1280, "light", "es")])
def test_a_marked_sheet_fits_the_screen_and_axe_finds_no_serious_fault(
    visitor: Visitor, width: int, scheme: str, language: str
) -> None:
    size = {"width": width, "height": 740}
    page, sheet = opened(visitor, viewport=size, color_scheme=scheme, locale=language)
    fill(page, sheet, answers(ATTENTION))
    sheet.locator(".buttons button").last.click()
    frame_of(page, "#practice-marks")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert sheet.evaluate("document.documentElement.scrollWidth") <= width
    assert faults_in(page) == []
    assert faults_in(sheet) == []

"""The page Practice in a real browser, before a real server: worked by keyboard, marked, and nothing kept unasked."""

import json
from typing import Any

import pytest

from clearhead.quiz.draw import quiz_kinds, sheet_of_number
from clearhead.quiz.working import answer_lines, printed_lines
from tests.integration.browser import IN_BROWSER
from tests.integration.served_pages import SECONDS, Visitor, faults_in, frame_of, tab_to

pytestmark = IN_BROWSER
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
ATTENTION = "self-attention-2h-7-01-v1-M"  # the weights A and the output Z are blank


def answers(number: str) -> list[str]:
    """Return the numbers that belong into the blank cells, in the order of the page."""
    return [cell for line in answer_lines(sheet_of_number(number)) for row in line.cells for cell in row if cell]


def opened(visitor: Visitor, number: str, **options: Any) -> Any:
    page = visitor.open(f"/practice#number={number}", **options)
    expect(page.locator("#sheet-number")).to_have_text(number, timeout=SECONDS)
    return page


def fill(page: Any, numbers: list[str]) -> None:
    """Type numbers into the cells from the first one on, by keyboard; Enter goes to the next cell."""
    page.locator("#lines input").first.focus()
    for number in numbers:
        page.keyboard.type(number)
        page.keyboard.press("Enter")
    page.keyboard.press("Tab")


def wait_for_marks(page: Any, number: int) -> None:
    """Wait until this number of cells has a verdict: every line is marked by itself, and the last answer comes last."""
    expect(page.locator("#lines .verdict > [aria-hidden]")).to_have_count(number, timeout=SECONDS)


def base_two(number: str) -> list[str]:
    """Return the weights by powers of 2 instead of e, and the output that follows from them."""
    lines = {
        line.name: [[float(cell) for cell in row] for row in line.cells]
        for line in printed_lines(sheet_of_number(number))
    }
    powers = [[2.0**cell for cell in row] for row in lines["S′"]]
    weights = [[round(cell / sum(row), 3) for cell in row] for row in powers]
    output = [[sum(a * row[j] for a, row in zip(line, lines["V"], strict=True)) for j in range(2)] for line in weights]
    return [f"{cell:.3f}" for matrix in (weights, output) for row in matrix for cell in row]


def test_a_sheet_is_drawn_worked_by_keyboard_and_the_next_one_is_harder(visitor: Visitor) -> None:
    page = visitor.open("/practice")
    tab_to(page, "kind")
    page.keyboard.press("Home")
    for _ in range(quiz_kinds().index("softmax")):
        page.keyboard.press("ArrowDown")
    tab_to(page, "draw")
    page.keyboard.press("Enter")
    expect(page.locator("#sheet-kind")).to_have_text("softmax", timeout=SECONDS)
    number = page.locator("#sheet-number").inner_text()
    assert page.evaluate("document.activeElement.id") == "sheet-title"
    assert f"number={number}" in page.url
    fill(page, answers(number))
    wait_for_marks(page, len(answers(number)))
    expect(page.locator("#result")).to_contain_text("Everything is right:", timeout=SECONDS)
    assert page.locator("td.right").count() == page.locator("#lines input").count()
    tab_to(page, "next")
    page.keyboard.press("Enter")
    expect(page.locator("#because")).to_have_text("No error. The next sheet has difficulty 2.", timeout=SECONDS)
    assert page.locator("#sheet-number").inner_text() != number
    assert page.locator("#difficulty").input_value() == "2"


def test_an_error_is_named_with_a_hint_carried_forward_and_decides_what_comes_next(visitor: Visitor) -> None:
    page = opened(visitor, ATTENTION)
    fill(page, base_two(ATTENTION))
    wait_for_marks(page, 15)
    expect(page.locator("#result")).to_contain_text("The first error is in A.", timeout=SECONDS)
    fault = page.locator(".faults li")
    expect(fault).to_contain_text("misconception: base 2", timeout=SECONDS)
    assert page.locator("td.wrong").count() == 9
    assert page.locator("td.carried").count() == 6
    assert page.locator("td.wrong input").first.get_attribute("aria-invalid") == "true"
    assert not fault.locator("details p").is_visible()
    fault.locator("summary").click()
    assert fault.locator("details p").is_visible()
    assert faults_in(page) == []
    page.get_by_role("button", name="Next exercise").click()
    because = "Another sheet of the same kind, which shows the difference to this rule: base 2."
    expect(page.locator("#because")).to_have_text(because, timeout=SECONDS)
    rules = {rule.misconception for rule in sheet_of_number(page.locator("#sheet-number").inner_text()).told_apart}
    assert "base 2" in rules


def test_answers_reach_the_browser_only_when_the_solution_is_requested(visitor: Visitor) -> None:
    bodies: list[str] = []
    page = visitor.open("/practice")

    def watch(route: Any) -> None:
        answer = route.fetch()
        bodies.append(answer.text())
        route.fulfill(response=answer)

    page.route("**/v1/quiz**", watch)
    page.evaluate(f"location.hash = 'number={ATTENTION}'")
    expect(page.locator("#sheet-number")).to_have_text(ATTENTION, timeout=SECONDS)
    fill(page, ["7.77"] * 15)
    wait_for_marks(page, 15)
    expect(page.locator("#result")).to_contain_text("The first error is in A.", timeout=SECONDS)
    printed = {cell for line in printed_lines(sheet_of_number(ATTENTION)) for row in line.cells for cell in row}
    secret = [cell for cell in answers(ATTENTION) if cell not in printed]
    assert bodies
    assert [cell for cell in secret if any(f'"{cell}"' in body for body in bodies)] == []
    assert page.locator(".answer").count() == 0
    page.get_by_role("button", name="Show the solution").click()
    expect(page.locator(".answer")).to_have_count(15, timeout=SECONDS)
    assert page.locator(".answer").first.inner_text() == f"right: {answers(ATTENTION)[0]}"
    assert "Marks" in frame_of(page, "#report").locator("body").inner_text()


def test_what_went_wrong_stays_in_the_page_unless_the_box_is_ticked(visitor: Visitor) -> None:
    page = opened(visitor, ATTENTION)
    fill(page, base_two(ATTENTION))
    wait_for_marks(page, 15)
    assert page.locator(".faults li").count() == 1
    assert page.evaluate("localStorage.length") == 0
    assert page.context.cookies() == []
    page.get_by_label("Remember in this browser").check()
    stored = json.loads(page.evaluate("localStorage.getItem('clearhead-practice')"))
    assert [(one["kind"], one["difficulty"], one["rule"]) for one in stored] == [("self-attention", 2, "base 2")]
    page.get_by_label("Remember in this browser").uncheck()
    assert page.evaluate("localStorage.length") == 0


def test_what_was_typed_survives_a_reload_and_another_language(visitor: Visitor) -> None:
    page = opened(visitor, ATTENTION)
    fill(page, ["0.5", "0,25"])
    page.reload()
    expect(page.locator("#sheet-number")).to_have_text(ATTENTION, timeout=SECONDS)
    assert page.locator("#lines input").nth(0).input_value() == "0.5"
    page.get_by_label("Language of this site").select_option("es")
    expect(page.locator("h1")).to_have_text("Practicar a mano", timeout=SECONDS)
    expect(page.locator("#lines input").nth(1)).to_have_value("0.25", timeout=SECONDS)


def test_a_number_that_does_not_exist_and_an_empty_sheet_are_one_sentence(visitor: Visitor) -> None:
    visitor.are_errors_expected = True
    page = visitor.open("/practice#number=softmax-1-0-01-v1-Q")
    expect(page.locator("#practice-error")).to_contain_text("'softmax-1-0-01-v1-Q'", timeout=SECONDS)
    assert page.locator("#sheet").is_hidden()
    page = opened(visitor, ATTENTION)
    page.get_by_role("button", name="Check").click()
    expect(page.locator("#result")).to_have_text("Fill in at least one cell first.", timeout=SECONDS)


@pytest.mark.parametrize(("width", "scheme", "language"), [(360, "dark", "hi"), (1280, "light", "es")])
def test_a_marked_sheet_fits_the_screen_and_axe_finds_no_serious_fault(
    visitor: Visitor, width: int, scheme: str, language: str
) -> None:
    size = {"width": width, "height": 740}
    page = opened(visitor, ATTENTION, viewport=size, color_scheme=scheme, locale=language)
    fill(page, base_two(ATTENTION))
    wait_for_marks(page, 15)
    page.locator("#solution").click()
    expect(page.locator(".answer")).to_have_count(15, timeout=SECONDS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    frame_of(page, "#report")
    assert faults_in(page) == []

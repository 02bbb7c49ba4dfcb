"""The page of a marked working in a real browser: pointing, keyboard, phones, dark mode, printing, and hostile input."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clearhead.check.render.html import to_fragment, to_html
from tests.integration.browser import IN_BROWSER, Desk, serious_faults
from tests.unit.check import reports_by_hand as by_hand

pytestmark = IN_BROWSER
LIT = "[...document.querySelectorAll('td.lit')].map(td => td.getAttribute('aria-label').split(';')[0])"
STORY = "figure.matrix .story:not(:empty)"


def both() -> str:
    return to_html([by_hand.slipped(), by_hand.misconceived()], "Homework")


def test_pointing_at_an_error_highlights_exactly_the_cells_that_depend_on_it(desk: Desk) -> None:
    page = desk.show(both())
    below = [
        "row 2 (x2), column 3 (x3): 10.39, carried forward",
        *(f"row 2 (x2), column {j} (x{j}): {text}, carried forward" for j, text in enumerate(["0.00", "0.81", "0.18"], 1)),
        "row 2 (x2), column 1: 3.39, carried forward",
        "row 2 (x2), column 2: 3.67, carried forward",
        "row 2 (x2), column 3: 1.87, plausible",
    ]  # fmt: skip
    assert page.evaluate(LIT) == []
    page.locator("#r0f0 summary").hover()
    assert page.evaluate(LIT) == below
    assert page.locator("td.source").count() == 1
    page.locator("h1").hover()
    assert page.evaluate(LIT) == []
    page.locator("#r0 td[data-root='0']").hover()
    assert page.evaluate(LIT) == below
    page.locator("#r1 td[data-root='0']").hover()
    assert len(page.evaluate(LIT)) == 6, "three scores and a column of weights, and nothing of the other exercise"
    page.locator("#r1 td.hatch").first.hover()
    assert page.evaluate(LIT) == [], "a cell below shows only where its error starts"
    assert page.locator("td.source").count() == 1


def test_keyboard_focus_highlights_them_too(desk: Desk) -> None:
    page = desk.show(both())
    page.locator("#r0f0 summary").focus()
    assert len(page.evaluate(LIT)) == 7
    page.keyboard.press("Tab")
    assert page.evaluate(LIT) == []


def test_a_click_shows_the_details_of_a_cell(desk: Desk) -> None:
    page = desk.show(both())
    page.locator("#r1 td[data-below='0'][data-root='1']").first.click()
    story = page.locator(STORY)
    assert story.inner_text().splitlines()[0].startswith('row 1 (The), column 2 (cat): 0.00, misconception "softmax')
    assert story.locator("a").all_text_contents() == [
        'Error 2 misconception "softmax down the columns" in A, all 9 cells',
        "Error 1 copying error (two digits swapped) in K, row 2 (cat), column 2",
    ]
    assert not page.locator("#r1f1").evaluate("each => each.open")
    story.locator("a").first.click()
    assert page.locator("#r1f1").evaluate("each => each.open")
    assert page.evaluate("document.activeElement.parentElement.id") == "r1f1"
    page.locator("#r0 td").nth(5).click()
    assert page.locator(STORY).count() == 1, "one story at a time"


def test_the_keyboard_reaches_every_cell_and_its_details(desk: Desk) -> None:
    page = desk.show(to_html([by_hand.slipped()]))
    stops = page.evaluate(
        "[...document.querySelectorAll('figure')].map(f => f.querySelectorAll('td[tabindex=\"0\"]').length)"
    )
    assert stops == [1] * 7, "one figure for every line but the copy that is right"
    active = "document.activeElement.getAttribute('aria-label')"
    page.locator("table[aria-label=S] td[tabindex='0']").focus()
    for key in ("ArrowDown", "End", "ArrowRight"):  # stays at the edge
        page.keyboard.press(key)
    assert page.evaluate(active).startswith("row 2 (x2), column 3 (x3): 18, arithmetic slip; your own lines give 12.36")
    assert page.locator("#status").inner_text() == page.evaluate(active)
    assert len(page.evaluate(LIT)) == 7
    page.keyboard.press("Enter")
    assert page.locator(STORY).inner_text().startswith("row 2 (x2), column 3 (x3): 18")
    page.keyboard.press("Tab")
    assert (
        page.evaluate("document.activeElement.textContent") == "Error 1 arithmetic slip in S, row 2 (x2), column 3 (x3)"
    )
    page.keyboard.press("Escape")
    assert page.locator(STORY).count() == 0
    assert page.evaluate(active).startswith("row 2 (x2), column 3 (x3): 18"), "the focus goes back to the cell"
    page.locator("table[aria-label=Z] td[tabindex='0']").focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(active) == "nothing was written here"


def test_text_of_a_student_is_never_executed(desk: Desk) -> None:
    for text in (to_html([by_hand.hostile()]), to_html([by_hand.hostile(), by_hand.hostile()], "<script>alert(3)</script>"),
                 f"<!DOCTYPE html><title>notebook</title>{to_fragment(by_hand.hostile())}"):  # fmt: skip
        page = desk.show(text)
        page.on("dialog", lambda dialog: desk.complaints.append(dialog.message))
        page.reload()
        assert page.locator("img, svg, iframe, script:not(body > script)").count() == 0
        assert page.locator("td[data-at]").count() >= 2
        for cell in page.locator("td[data-at]").all():
            cell.hover()
            cell.click()
        assert "<script>alert(1)<…" in page.locator("table").first.inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_a_phone_and_a_desktop_in_light_and_dark_mode(desk: Desk, width: int, scheme: str) -> None:
    page = desk.show(both(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    boxes = [page.locator("#r0f0 .sums > div").nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0] is not None
    assert boxes[1] is not None
    is_beside = abs(boxes[0]["y"] - boxes[1]["y"]) < 1
    assert is_beside == (width == 1280), "the sums stand side by side on a desk, one above the other on a telephone"
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")
    tints = page.evaluate(
        "[...document.querySelectorAll('#r0 td.well, #r0 td.wrong')].map(td => getComputedStyle(td).backgroundColor)"
    )
    assert len(set(tints)) == 2, "right and wrong have each their own colour"
    assert "hatch" in page.locator("#r0 td.hatch").first.get_attribute("class")
    assert "gradient" in page.locator("#r0 td.hatch").first.evaluate("td => getComputedStyle(td).backgroundImage")


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_every_finding_is_open_when_printed(desk: Desk, tmp_path: Path) -> None:
    page = desk.show(both(), color_scheme="dark")
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True, print_background=True)
    done = subprocess.run(["pdftotext", "-layout", tmp_path / "report.pdf", "-"], capture_output=True, check=True)
    text = done.stdout.decode()
    for finding in (*by_hand.slipped().findings, *by_hand.misconceived().findings):
        assert finding.remedy[:30] in text
    assert "Point at an error" not in text
    size = subprocess.run(["pdfinfo", tmp_path / "report.pdf"], capture_output=True, check=True).stdout.decode()
    assert "A4" in size


def test_a_finding_can_be_linked_to(desk: Desk) -> None:
    page = desk.show(both())
    page.goto(page.url + "#r1f1")
    page.reload()
    assert page.locator("#r1f1").evaluate("each => each.open")


def test_without_javascript_all_the_text_is_still_shown(desk: Desk) -> None:
    page = desk.show(both(), java_script_enabled=False)
    assert page.locator("#r0 td[data-root='0']").get_attribute("title").startswith("row 2 (x2), column 3 (x3): 18")
    assert page.locator(".help").is_hidden()


def test_a_phone_shows_no_keyboard_help(desk: Desk) -> None:
    page = desk.show(both(), viewport={"width": 360, "height": 800}, has_touch=True, is_mobile=True)
    assert page.locator(".help").inner_text().startswith("Tap an error")
    assert "By keyboard" not in page.locator("body").inner_text()
    page = desk.show(both(), viewport={"width": 1280, "height": 800})
    assert "By keyboard" in page.locator(".help").inner_text()


def test_weights_have_a_subscript_and_are_copied_as_plain_text(desk: Desk) -> None:
    page = desk.show(to_html([by_hand.slipped()]))
    title = page.locator(".line > span", has_text="W_Q").first
    assert title.locator("sub").inner_text() == "Q"
    assert title.inner_text() == "Q = X W_Q"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_serious_fault(desk: Desk, width: int, scheme: str) -> None:
    page = desk.show(both(), viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator("#r1 td[data-root='0']").first.click()
    assert serious_faults(page) == []

"""The atlas of heads in a real browser: colours by a measure, the keyboard, sorting, phones, dark mode, and axe."""

from typing import Any

import pytest

from clearhead.explain.page.heads_page import heads_page
from tests.integration.browser import IN_BROWSER, SCREENS, Desk, serious_faults
from tests.unit.explain.page.report_by_hand import report

pytestmark = IN_BROWSER


def show(desk: Desk, **options: Any) -> Any:
    page = desk.show(heads_page(report(), "en-de"), **options)
    page.wait_for_selector("body[data-ready]")
    return page


def heats(page: Any) -> list[int]:
    values = page.locator(".field").evaluate_all("all => all.map(one => Number(one.style.getPropertyValue('--heat')))")
    return [int(value) for value in values]


def test_fields_are_coloured_by_the_chosen_measure_and_significant_changes_are_marked(desk: Desk) -> None:
    page = show(desk)
    assert page.locator(".sheet").count() == 3
    assert heats(page) == [6, 50, 13, 25, 19, 31, 100, 44]
    assert page.locator(".measure").nth(6).text_content() == "0.1600"
    page.get_by_label("Measure", exact=True).select_option("bleu_change")
    assert heats(page) == [0, 34, 0, 3, 4, 6, 100, 7], "a better score without the head is no worth"
    assert page.locator(".measure").all_text_contents() == [
        "0.00", "−2.50*", "+0.10", "−0.20", "−0.30", "−0.40", "−7.25*", "−0.50",
    ]  # fmt: skip
    page.get_by_label("Measure", exact=True).select_option("alignment_error")
    assert heats(page)[:6] == [0] * 6
    assert page.locator(".measure").first.text_content() == "–"


def test_a_head_is_opened_with_the_keyboard_and_shows_all_its_numbers(desk: Desk) -> None:
    page = show(desk)
    assert page.locator("#head h3").inner_text().startswith("Cross-attention, layer 1, head 1")
    page.locator(".sheet").first.locator(".thumbnail[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    label = "Encoder self-attention, layer 1, head 2: previous token, confidence 0.35, importance 0.0800"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == label
    assert page.locator("#status").inner_text() == label
    page.keyboard.press("Enter")
    assert page.locator("#head code").inner_text() == "encoder.0.self_attention.head.1"
    facts = page.locator("#head dd").all_text_contents()
    assert facts == [
        "previous token", "0.35", "−1 (95 %, positional)", "0.20", "0.10", "0.0800", "+0.3000 (p = 0.001, significant)",
        "+0.1000", "−2.50 (p = 0.001, significant)",
    ]  # fmt: skip
    assert page.locator(".thumbnail[aria-pressed='true']").count() == 1


def test_the_table_is_sorted_by_a_heading_and_missing_values_come_last(desk: Desk) -> None:
    page = show(desk)

    def column(number: int) -> list[str]:
        texts: list[str] = page.locator(f".report tbody tr > :nth-child({number})").all_text_contents()
        return texts

    heading = page.get_by_role("button", name="AER %")
    heading.focus()
    page.keyboard.press("Enter")
    assert column(8) == ["27.0", "26.0", *["–"] * 6]
    assert page.locator("th[aria-sort]").evaluate_all("all => all.map(one => one.ariaSort)") == ["descending"]
    page.keyboard.press("Enter")
    assert column(8) == ["26.0", "27.0", *["–"] * 6]
    page.get_by_role("button", name="Importance", exact=True).click()
    assert column(9)[:3] == ["0.1600", "0.0800", "0.0700"]
    page.get_by_role("button", name="Head", exact=True).click()
    assert column(1)[0] == "decoder.0.cross_attention.head.0"


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_page_fits_every_screen_and_axe_finds_no_serious_fault(desk: Desk, width: int, scheme: str) -> None:
    page = show(desk, viewport={"width": width, "height": 844}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_faults(page) == []

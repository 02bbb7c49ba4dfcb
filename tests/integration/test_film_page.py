"""The page of a film in a real browser: with the keyboard, on a phone, in dark mode."""

import re
from typing import Any

import pytest

from clearhead.explain.film.page import film_page
from clearhead.explain.film.scenes import read_film
from clearhead.worksheet.render.svg import contrast
from tests.integration.browser import IN_BROWSER, SCREENS, Desk, serious_faults
from tests.unit.explain.film.films import STEPS, write_film

pytestmark = IN_BROWSER


class Cinema:
    """Opens the page of a film."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def film(self, **options: Any) -> Any:
        return self.desk.show(film_page(read_film(self.desk.folder / "run")), **options)


@pytest.fixture
def cinema(desk: Desk) -> Cinema:
    write_film(desk.folder / "run")
    return Cinema(desk)


def cells(page: Any) -> list[str]:
    texts: list[str] = page.locator("#map td[data-at]").all_text_contents()
    return texts


def test_the_slider_moves_through_the_updates_with_the_keyboard(cinema: Cinema) -> None:
    page = cinema.film()
    translation = page.locator(".translation").first
    assert page.locator("#now").text_content() == "update 30 of 30 · loss 2 · validation loss 2.5 · BLEU 17"
    assert translation.text_content() == "el gato rojo"
    assert "right" in translation.get_attribute("class")
    page.locator("#time").focus()
    page.keyboard.press("Home")
    assert translation.text_content() == "el el"
    assert page.locator("#time").get_attribute("aria-valuetext").startswith("update 10 of 30")
    page.keyboard.press("ArrowRight")
    assert translation.text_content() == "el gato <b>", "text, not an element"
    assert translation.locator("mark").all_text_contents() == ["gato", "<b>"], "what the frame before did not have"
    assert "right" not in translation.get_attribute("class")


def test_the_mark_of_the_curves_moves_with_the_slider(cinema: Cinema) -> None:
    page = cinema.film()

    def places() -> list[float]:
        marks = page.locator(".curve .mark").evaluate_all("marks => marks.map(mark => mark.getBoundingClientRect().x)")
        return [float(mark) for mark in marks]

    last = places()
    page.locator("#back").click()
    page.locator("#back").click()
    assert len(last) == 3
    assert all(now < before for now, before in zip(places(), last, strict=True))
    assert page.locator(".curve b").all_text_contents() == ["5", "4", "3"]


def test_the_map_shows_the_weights_of_the_frames(cinema: Cinema) -> None:
    page = cinema.film()
    # layer 3 of 3, where a token is the input: the weight of the diagonal is (1 + 2 + 2) / 8
    assert cells(page)[0] == "0.63"
    page.locator("#layer").select_option("1")
    rows = [cells(page)[4 * row : 4 * row + 4] for row in range(3)]
    assert rows == [["0.50" if j == i else "0.17" for j in range(4)] for i in range(3)]
    page.locator("#layer").select_option("2")
    page.locator("#rows").select_option("0")
    assert len(cells(page)) == 16, "the end token is predicted too"
    assert cells(page)[4] == "0.63", "a row later"
    assert page.locator("#tokens li").all_text_contents() == ["▁el0.25", "▁gato0.50", "▁rojo0.75", "</s>1.00"]


def test_the_arrow_keys_move_between_the_cells(cinema: Cinema) -> None:
    page = cinema.film()
    assert page.locator("#map td[tabindex='0']").count() == 1
    page.locator("#map td[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.locator("#cell").text_content() == "▁gato attends to ▁red: 0.625"
    assert page.evaluate("document.activeElement.dataset.at") == "1,1"


def test_the_film_plays_and_the_first_right_frame_can_be_chosen(cinema: Cinema) -> None:
    page = cinema.film()
    page.locator("#play").press("Enter")
    assert page.locator("#play").text_content() == "Pause"
    assert page.locator("#time").input_value() == "0", "from the start"
    page.locator("#play", has_text="Play").wait_for(timeout=10_000)
    assert page.locator("#time").input_value() == str(len(STEPS) - 1)
    page.locator("#time").press("Home")
    page.locator("button[data-frame='2']").press("Enter")
    assert page.locator(".translation").first.text_content() == "el gato rojo"


def test_another_sentence_is_chosen_with_the_keyboard(cinema: Cinema) -> None:
    page = cinema.film()
    page.locator("input[name=sentence]").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("input[name=sentence]:checked").input_value() == "1"
    assert page.locator(".sentence-card").nth(1).locator(".reference").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_and_is_readable(cinema: Cinema, width: int, scheme: str) -> None:
    page = cinema.film(viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    colours = """element => {
        let behind = element;
        const isClear = (colour) => colour === "rgba(0, 0, 0, 0)";
        while (isClear(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
        return [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor];
    }"""
    for selector in ("h1", "#now", "#play", ".source", ".translation", ".reference", ".tokens b", "figcaption"):
        ink, paper = page.locator(selector).first.evaluate(colours)
        assert contrast(numbers(ink), numbers(paper)) >= 4.5, selector
    targets = page.locator("button, select, input[type=range]").evaluate_all(
        "all => all.map(element => element.getBoundingClientRect().height)"
    )
    assert min(targets) >= 24


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_axe_finds_no_serious_fault(cinema: Cinema, width: int, scheme: str) -> None:
    page = cinema.film(viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert serious_faults(page) == []
    page.locator("#time").press("Home")  # the first frame marks nothing as new or right
    assert serious_faults(page) == []


def numbers(colour: str) -> tuple[int, int, int]:
    red, green, blue = (round(float(part)) for part in re.findall(r"[\d.]+", colour)[:3])
    return red, green, blue

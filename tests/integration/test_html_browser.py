"""The page in a real browser: with the keyboard, at any precision, on a phone, in dark mode and printed."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead import Rounding, Worksheet, solve
from clearhead.worksheet.part import load_sheet
from clearhead.worksheet.render.svg import contrast
from clearhead.worksheet.rounding import Digits
from tests.integration.browser import IN_BROWSER, Desk, serious_faults

ROOT = Path(__file__).parents[2]
MULTI_HEAD = str(ROOT / "examples" / "multi-head-attention.yaml")

pytestmark = IN_BROWSER


def large(width: int = 13) -> Worksheet:
    draw = np.random.default_rng(3)
    weights = {name: draw.normal(size=(width, width)).tolist() for name in ("W_Q", "W_K", "W_V")}
    return solve({"kind": "self-attention", "X": draw.normal(size=(29, width)).tolist(), **weights})


def test_the_arrow_keys_move_between_cells_and_the_sum_is_announced(desk: Desk) -> None:
    page = desk.open(solve("lets-go-encoder"))
    stops = page.evaluate(
        "[...document.querySelectorAll('figure')].map(f => f.querySelectorAll('td[tabindex=\"0\"]').length)"
    )
    assert set(stops) == {1}
    page.locator("figure[data-symbol=W_V] td[tabindex='0']").focus()
    page.keyboard.press("Tab")  # from one matrix to the next
    active = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(active) == "Q[Let's, 1] -0.995 = 1.87×1.1 + 1.09×(-2.8)"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")  # stays at the edge
    sentence = "Q[Let's, 2] 3.738 = 1.87×0.6 + 1.09×2.4"
    assert page.evaluate(active) == sentence
    assert page.locator("#status").inner_text() == sentence
    parents = page.evaluate("[...document.querySelectorAll('td.parent')].map(td => td.textContent)")
    assert parents == ["1.87", "1.09", "0.6", "2.4"]
    page.keyboard.press("Enter")
    assert page.locator("figure[data-symbol=Q] .sum").inner_text() == sentence
    page.keyboard.press("Escape")
    assert page.locator("figure[data-symbol=Q] .sum").text_content() == ""
    page.keyboard.press("Escape")
    assert page.locator("figure[data-symbol=Q]").get_attribute("data-zoom") == "heat"
    page.keyboard.press("Enter")
    assert page.locator("figure[data-symbol=Q]").get_attribute("data-zoom") == "digits"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    assert page.evaluate(active).startswith("Q[go, 1]")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")  # past the list of sums and back: the matrix remembers its cell
    assert page.evaluate(active).startswith("Q[go, 1]")


def test_pointing_at_a_cell_outlines_its_parents(desk: Desk) -> None:
    page = desk.open(solve("lets-go-encoder"), "matrices")
    page.locator("figure[data-symbol=A] td[data-at='1,0']").hover()
    frames = page.locator("td.parent").all_text_contents()
    assert frames == ["19.0769", "-7.0353"]
    assert page.locator("#status").inner_text().startswith("A[go, Let's] 1.0000")
    page.locator("h1").hover()
    assert page.locator("td.parent").count() == 0
    assert page.locator("#status").is_hidden()


@pytest.mark.parametrize("ties", ["half-up", "half-even"])
def test_any_precision_rounds_as_the_sheet_does(desk: Desk, ties: Any) -> None:
    halves = [
        [2.675, -2.675, 0.125, -0.375],
        [1.005, 0.5, -2.5, 0.1 + 0.2],
        [0.12499999999999999, 1e-9, 1 / 3, 123456.7],
        [9.999999e-10, 3e15, -4.5e25, 2.5e-7],
    ]
    page = desk.open(solve({"kind": "context", "X": halves}, Rounding(ties=ties)))
    for decimals in range(7):
        page.select_option("#decimals", str(decimals))
        cells = page.evaluate(
            "[...document.querySelectorAll('td[data-value]')].map(td => [td.dataset.value, td.textContent])"
        )
        assert len(cells) > 20
        for value, text in cells:
            beside = [[float(value), 1 / 3]]  # a third needs every decimal
            style = Digits(np.asarray(beside), Rounding(decimals=decimals, ties=ties))
            assert text == style.text(0, 0), value
    page.select_option("#decimals", "")
    assert page.locator("figure[data-symbol=X] td[data-value]").first.inner_text() == "2.6750"


@pytest.mark.parametrize("problem", ["lets-go-encoder", MULTI_HEAD, "numerical-masked-self-attention"])
def test_the_page_shows_the_numbers_of_the_json(desk: Desk, problem: str) -> None:
    sheet = solve(problem)
    page = desk.open(sheet)
    page.select_option("#decimals", "6")
    shown = page.evaluate(
        "[...document.querySelectorAll('.worked')].map(f => [...f.querySelectorAll('tbody tr')]"
        ".map(tr => [...tr.querySelectorAll('td')].map(td => td.textContent)))"
    )
    again = Worksheet.from_json(sheet.to_json())
    assert len(shown) == len(again.steps)
    for texts, record in zip(shown, again.steps, strict=True):
        for text, number in zip(np.ravel(texts), np.ravel(record.value), strict=True):
            if "×10" in text or "∞" in text:
                assert abs(number) < 1e-6 or number == -np.inf
            else:
                assert float(text) == pytest.approx(number, abs=5.0001e-7)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_matrices_scroll_and_the_page_does_not(desk: Desk, scheme: Any) -> None:
    page = desk.open(large(), viewport={"width": 360, "height": 640}, color_scheme=scheme)
    page.locator("figure.worked td[tabindex='0']").first.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    cell, status = (page.locator(name).bounding_box() for name in ("td:focus", "#status"))
    assert cell["x"] >= 0
    assert cell["x"] + cell["width"] <= 360
    assert cell["y"] + cell["height"] <= status["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("[...document.querySelectorAll('.box')].some(box => box.scrollWidth > box.clientWidth)")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 28)")


def test_without_javascript_everything_is_still_shown(desk: Desk) -> None:
    page = desk.open(solve("lets-go-encoder"), java_script_enabled=False)
    assert page.locator("figure").count() == 14
    assert page.locator(".controls").is_hidden()
    page.locator("summary").nth(1).click()
    assert page.get_by_text("-0.995 = 1.87×1.1 + 1.09×(-2.8)").is_visible()


def test_blanks_stay_blank_at_every_precision(desk: Desk) -> None:
    page = desk.open(solve("lets-go-encoder"), blanks=("A",))
    page.select_option("#decimals", "2")
    page.select_option("#zoom", "heat")
    cell = page.locator("figure[data-symbol=A] td.blank").first
    assert cell.inner_text() == "____"
    assert cell.get_attribute("aria-label") == "A[Let's, Let's] is to be filled in"


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
def test_no_matrix_is_cut_off_when_printed(desk: Desk, tmp_path: Path) -> None:
    page = desk.open(large(width=3), color_scheme="dark")
    page.pdf(path=tmp_path / "sheet.pdf", prefer_css_page_size=True, print_background=True)
    done = subprocess.run(["pdftotext", "-layout", tmp_path / "sheet.pdf", "-"], capture_output=True, check=True)
    pages = [" ".join(text.split()) for text in done.stdout.decode().split("\f")]
    assert len(pages) > 5
    assert not any("Decimals" in text for text in pages)
    page.emulate_media(media="print")
    for figure in page.locator("figure").all():
        rows = [" ".join(row.split()) for row in figure.locator("tbody tr").all_inner_texts()]
        on = {number for number, text in enumerate(pages) for row in (rows[0], rows[-1]) if row in text}
        assert len(on) == 1, (rows[0], on)
    widths = page.evaluate("[...document.querySelectorAll('table')].map(table => table.getBoundingClientRect().width)")
    assert max(widths) < 186 / 25.4 * 96  # the width of A4 between its margins
    assert any(
        "Calculation of every cell of" in text and " = " in text for text in pages
    )  # a closed list is printed too


def test_a_notebook_and_a_sheet_do_not_affect_each_other(desk: Desk) -> None:
    theme = ".theme tr:nth-child(odd) { background: red } .theme td { color: blue }"
    fragment = solve("lets-go-encoder")._repr_html_()
    notebook = f"<style>{theme}</style><div class=theme><table><tr><td>x</table>{fragment}{fragment}</div>"
    page = desk.show(notebook)
    look = "name => { const s = getComputedStyle(document.querySelector(name)); return [s.color, s.backgroundColor] }"
    assert page.evaluate(look, ".clearhead tbody td")[0] == "rgb(27, 31, 36)"
    assert page.evaluate(look, ".clearhead tbody tr")[1] == "rgba(0, 0, 0, 0)"
    assert page.evaluate(look, "td") == ["rgb(0, 0, 255)", "rgba(0, 0, 0, 0)"]
    assert page.evaluate(look, "tr")[1] == "rgb(255, 0, 0)"


def head_of_a_model() -> Worksheet:
    """Return one head of a trained model: 12 × 12 tokens, and a mask that hides nothing."""
    return load_sheet(ROOT / "docs" / "inside" / "sentence-1-head.json")


def test_the_page_of_a_head_opens_with_its_attention(desk: Desk) -> None:
    sheet = head_of_a_model()
    assert len(sheet.to_html("matrices").encode()) < 300_000
    page = desk.open(sheet, "matrices")
    assert page.locator("h2").all_inner_texts()[:2] == [
        "Attention weights",
        "Decoder layer 1 · Cross-attention · Head 4",
    ]
    assert page.locator(".path code").all_inner_texts() == ["decoder.0.cross_attention.head.3"]
    weights = sheet.value("A₄")
    shown = page.evaluate(
        "[...document.querySelectorAll('.map tbody tr')].map(tr => [...tr.querySelectorAll('td')].map(td => td.textContent))"
    )
    assert shown == [[f"{weight:.2f}" for weight in row] for row in weights]
    # it is on the first screen, before any table of digits
    assert page.locator(".map tbody td").first.bounding_box()["y"] < 600
    assert not page.locator("figure.given td").first.is_visible()
    page.get_by_text("Given: Q₄").click()
    assert page.locator("figure.given td").first.is_visible()
    page.get_by_role("link", name="all digits and calculations").click()
    assert page.locator("figure[data-symbol=A₄]").bounding_box()["y"] < 400


def test_a_mask_that_hides_nothing_is_one_line(desk: Desk) -> None:
    page = desk.open(head_of_a_model(), "matrices")
    assert page.locator("figure[data-symbol='M'], figure[data-symbol='S″₄']").count() == 0
    assert page.get_by_text("The mask hides no key here, so the scores stay as they are.").is_visible()
    page.locator("figure[data-symbol=A₄] td[data-at='1,1']").hover()
    framed = page.evaluate("[...document.querySelectorAll('td.parent')].map(td => td.closest('figure').dataset.symbol)")
    assert set(framed) == {"S′₄"}


def test_pointing_at_the_attention_map_shows_the_sum_of_the_weight(desk: Desk) -> None:
    page = desk.open(head_of_a_model(), "matrices")
    page.locator(".map tbody tr").nth(2).locator("td").nth(3).hover()
    cell = page.locator("figure[data-symbol=A₄] td[data-at='2,3']")
    assert page.locator("#status").inner_text() == cell.get_attribute("aria-label")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_digits_of_the_attention_map_are_readable(desk: Desk, scheme: Any) -> None:
    weights = "".join(f"<td class=h{level}>0.5</td>" for level in range(11))
    text = head_of_a_model().to_html("matrices").replace("</th><td class=h", f"</th>{weights}<td class=h", 1)
    page = desk.show(text, color_scheme=scheme)
    colours = page.evaluate(
        """[...document.querySelectorAll('.map tbody td')].slice(0, 11).map(td => {
            const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
            const style = getComputedStyle(td);
            return [style.color, style.backgroundColor].map(colour => {
                canvas.fillStyle = colour;
                canvas.fillRect(0, 0, 1, 1);
                return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
            });
        })"""
    )
    assert len({tuple(background) for _, background in colours}) == 11, "every level has its own colour"
    for level, (ink, background) in enumerate(colours):
        assert contrast(tuple(ink), tuple(background)) >= 4.5, level


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="pdftotext is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_heat_map_is_printed_with_its_digits(desk: Desk, tmp_path: Path, scheme: Any) -> None:
    page = desk.open(solve("lets-go-encoder"), "matrices", color_scheme=scheme)
    page.select_option("#zoom", "heat")
    look = "getComputedStyle(document.querySelector('figure[data-symbol=Q] td[data-value]')).color"
    assert page.evaluate(look) == "rgba(0, 0, 0, 0)"
    page.pdf(path=tmp_path / "sheet.pdf", prefer_css_page_size=True, print_background=True)
    done = subprocess.run(["pdftotext", "-layout", tmp_path / "sheet.pdf", "-"], capture_output=True, check=True)
    assert "-0.995" in done.stdout.decode()
    page.emulate_media(media="print", color_scheme=scheme)
    assert page.evaluate(look) == "rgb(27, 31, 36)"  # dark digits on a light tint


def test_keyboard_help_is_shown_on_a_desktop_and_not_on_a_phone(desk: Desk) -> None:
    sheet = solve("lets-go-encoder")
    assert "By keyboard: Tab" in desk.open(sheet).locator(".controls").inner_text()
    narrow = desk.open(sheet, viewport={"width": 360, "height": 640}).locator(".controls").inner_text()
    touch = desk.open(sheet, viewport={"width": 800, "height": 600}, has_touch=True, is_mobile=True)
    for text in (narrow, touch.locator(".controls").inner_text()):
        assert "keyboard" not in text
        assert "Tap a cell" in text


def test_a_tap_shows_the_sum(desk: Desk) -> None:
    page = desk.open(solve("lets-go-encoder"), viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    page.locator("figure[data-symbol=Q] td[data-at='0,0']").tap()
    assert page.locator("#status").inner_text() == "Q[Let's, 1] -0.995 = 1.87×1.1 + 1.09×(-2.8)"


def test_subscripts_and_exponents_are_real_and_copied_as_plain_text(desk: Desk) -> None:
    page = desk.open(solve("lets-go-encoder"))
    query = page.locator("article", has=page.locator("figure[data-symbol=Q]"))
    assert query.locator("h3 sub").inner_text() == "Q"
    copied = "article => { getSelection().selectAllChildren(article); return getSelection().toString() }"
    assert query.locator("h3 > span:last-child").evaluate(copied) == "Q = X′ W_Q"
    weights = page.locator("article", has=page.locator("figure[data-symbol=A]"))
    weights.locator("summary").click()
    line = weights.locator("li").first
    assert line.locator("sup").all_inner_texts() == ["11.9519", "11.9519", "-2.7277"]
    assert line.evaluate(copied).endswith("1.0000 = e^11.9519 / (e^11.9519 + e^(-2.7277))")


@pytest.mark.parametrize(
    "problem", ["lets-go-encoder", "bank", str(ROOT / "examples" / "context-kernel.yaml"), MULTI_HEAD]
)
def test_the_script_formats_a_sum_as_the_page_does(desk: Desk, problem: str) -> None:
    page = desk.open(solve(problem), blanks=("A",) if problem == "lets-go-encoder" else ())
    lines = page.evaluate(
        """[...document.querySelectorAll('details li')].map(line => {
            const cell = line.closest('article').querySelector(`td[data-at="${line.dataset.at}"]`);
            cell.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
            return [document.getElementById('status').innerHTML, line.innerHTML.replace(/<\\/?b>/g, '')];
        })"""
    )
    assert len(lines) > 10
    for by_script, by_page in lines:
        assert by_script == by_page


@pytest.mark.parametrize("problem", ["lets-go", "positions", MULTI_HEAD])
def test_a_page_has_no_hints_for_the_command_line(desk: Desk, problem: str) -> None:
    text = desk.open(solve(problem)).locator("body").inner_text()
    assert not re.search(r"clearhead |(?<!\S)--[a-z]|JSON", text)


def test_a_picture_follows_dark_mode_on_a_screen_and_is_light_on_paper(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text(head_of_a_model().picture("S₄"), encoding="utf-8")
    colours = """[...document.querySelectorAll('text')].map(text => {
        const below = text.previousElementSibling;
        const cell = /^t/.test(text.getAttribute('class')) ? below : document.querySelector('.paper');
        return [text, cell].map(part => getComputedStyle(part).fill.match(/\\d+/g).map(Number));
    })"""
    papers = {}
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        page = browser.new_page(color_scheme=scheme)
        page.goto(path.as_uri())
        page.emulate_media(media=media, color_scheme=scheme)
        pairs = page.evaluate(colours)
        assert len(pairs) > 100
        for ink, background in pairs:
            assert contrast(tuple(ink), tuple(background)) >= 4.5
        papers[scheme, media] = tuple(pairs[0][1])
        page.close()
    assert papers == {
        ("light", "screen"): (255, 255, 255),
        ("dark", "screen"): (20, 23, 28),
        ("dark", "print"): (255, 255, 255),
    }


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_no_serious_fault(desk: Desk, width: int, scheme: Any) -> None:
    page = desk.open(solve("lets-go-encoder"), viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.locator("figure[data-symbol=Q] td").first.click()
    assert serious_faults(page) == []

"""The page: self-contained, escaped, every number in full, and no blank given away."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from clearhead import Worksheet, solve
from clearhead.worksheet.render.html import to_fragment, to_html
from clearhead.worksheet.render.roles import ROLES
from clearhead.worksheet.view import SheetView
from tests.conftest import ROOT, SHIPPED

HOSTILE = ["<script>alert(1)</script>", "</script><b>", '" onfocus="x', "a & b", "'quoted'", "</style>", "\u202eabc"]
VOID = {"meta", "br", "input"}


class Reader(HTMLParser):
    """Reads a page strictly: every tag is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def ten_tokens() -> Worksheet:
    draw = np.random.default_rng(7)
    weights = {name: draw.normal(size=(8, 8)).tolist() for name in ("W_Q", "W_K", "W_V")}
    x = draw.normal(size=(10, 8)).tolist()
    return solve({"kind": "self-attention", "tokens": [f"word{n}" for n in range(10)], "X": x, **weights})


@pytest.mark.parametrize("detail", ["results", "matrices", "products"])
@pytest.mark.parametrize("name", SHIPPED)
def test_every_sheet_becomes_a_well_formed_page(name: str, detail: Any, all_sheets: dict[str, Worksheet]) -> None:
    sheet = all_sheets[name]
    page = read(sheet.to_html(detail))
    names = [tag for tag, _ in page.tags]
    assert names.count("h1") == 1
    assert names.count("caption") == names.count("table") >= 1
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in page.tags if tag == "th")
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    last = SheetView(sheet).steps[-1].matrix
    assert last.digits.text(0, 0) in page.texts
    assert "details" not in names or detail == "products"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_cell_has_its_number_in_full(name: str, all_sheets: dict[str, Worksheet]) -> None:
    view = SheetView(all_sheets[name])
    cells = [
        attributes["data-value"] for tag, attributes in read(to_html(view.sheet)).tags if "data-value" in attributes
    ]
    matrices = [matrix for step in view.steps for matrix in (*step.givens, step.matrix)]
    numbers = [
        repr(float(matrix.value[i, j])) for matrix in matrices for i in matrix.shown()[0] for j in matrix.shown()[1]
    ]
    assert sorted(cells) == sorted(numbers)


def test_a_page_of_ten_tokens_is_small() -> None:
    sheet = ten_tokens()
    assert len(sheet.to_html("products").encode()) < 300_000
    assert len(sheet._repr_html_().encode()) < 60_000


def test_a_page_needs_nothing_from_outside() -> None:
    text = solve("lets-go-encoder").to_html()
    assert not re.search(r"https?:|[\"'(=]//|@import|url\(|\bsrc=|\bhref=", text)
    assert not any(tag in ("link", "img", "iframe", "object") for tag, _ in read(text).tags)
    assert "default-src 'none'" in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    problem = {"kind": "context", "title": name, "X": [[1.0, 1.0], [2.0, 3.0]], "tokens": [name, "b"]}
    plain = read(solve({**problem, "title": "a", "tokens": ["a", "b"]}).to_html())
    sheet = solve(problem)
    for text, fewer in ((sheet.to_html(), plain.tags), (to_fragment(sheet), None)):
        page = read(text)
        assert "\u202e" not in text
        if fewer is not None:
            assert [tag for tag, _ in page.tags] == [tag for tag, _ in fewer]
            assert page.texts.count("b") == plain.texts.count("b")
        assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)


def test_blanks_are_empty_boxes_and_nowhere_given_away() -> None:
    draw = np.random.default_rng(11)
    matrices = {name: draw.normal(size=(4, 4)).tolist() for name in ("W_Q", "W_K", "W_V", "W_O")}
    x = draw.normal(size=(3, 4)).tolist()
    sheet = solve({"kind": "multi-head-attention", "num_heads": 2, "mask": "causal", "X": x, **matrices})
    # the first token sees only itself, so that its outputs are its values, which are not hidden
    hidden = {"Q": sheet.value("Q"), "Z₁": sheet.value("Z₁")[1:], "A₂": sheet.value("A₂")[1:, :2]}
    for symbol, value in hidden.items():
        for detail in ("matrices", "products"):
            text = sheet.to_html(detail, [symbol])  # type: ignore[arg-type]
            assert text.count('class="blank"') + text.count("class=blank") >= value.size
            for number in value.flat:
                assert repr(float(number)) not in text
                assert f"{number:.4f}" not in text
    for form in (sheet.to_markdown("products", ["Q"]), sheet.to_html("products", ["Q"])):
        assert f"{sheet.value('Q')[0, 0]:.4f}" not in form


def test_a_large_matrix_is_elided_with_a_note() -> None:
    text = solve({"kind": "positions", "positions": 30, "d_model": 16}).to_html()
    assert "24 × 12 of 30 × 16 cells are shown.<" in text
    assert text.count("data-value=") == 24 * 12


def test_roles_have_a_letter_beside_their_colour() -> None:
    text = solve("lets-go-encoder").to_html()
    for name in ("query", "key", "value", "attention", "residual"):
        tag = next(role.tag for role in ROLES if role.name == name)
        assert f'<span class="tag"><b>{tag}</b> {name}</span>' in text
        assert f'<article class="step {name}">' in text


def test_only_products_show_the_sums() -> None:
    sheet = solve("lets-go-encoder")
    line = "-0.995 = 1.87×1.1 + 1.09×(-2.8)"
    assert line in sheet.to_html("products")
    assert "<details>" not in sheet.to_html("matrices")
    assert line not in sheet._repr_html_()


def test_a_notebook_gets_no_script_no_ids_and_its_own_styles() -> None:
    text = solve("lets-go-encoder")._repr_html_()
    assert not re.search(r"<script|\sid=|data-", text.partition("</style>")[2])
    style = re.sub(r"/\*.*?\*/", "", text.partition("<style>")[2].partition("</style>")[0])
    outer, depth = "", 0
    for sign in style:  # every selector outside braces names the sheet
        depth += (sign == "{") - (sign == "}")
        outer += sign if depth == 0 else ""
    selectors = [
        selector.strip() for selector in outer.split("}") if selector.strip() and not selector.strip().startswith("@")
    ]
    assert selectors
    assert all("clearhead" in selector for selector in selectors)


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(colour: str, paper: str, share: float) -> str:
    pairs = [(int(colour[n : n + 2], 16), int(paper[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(theme: int) -> None:
    style = solve("lets-go-encoder").to_html().partition("<style>")[2]
    themes = re.findall(r"\{([^{}]*--paper: [^{}]*)\}", style)
    assert len(themes) == 2
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", themes[theme]))
    roles = [role.name for role in ROLES] + ["plain"]
    for name in ["ink", "soft", "frame", *roles]:
        for ground in ("paper", "card"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for name in roles:
        assert contrast(colours["on-role"], colours[name]) >= 4.5, name
        assert contrast(colours["ink"], mixed(colours[name], colours["card"], 0.24)) >= 4.5, name


def test_only_a_trace_omits_a_mask_that_hides_nothing() -> None:
    weights = {name: [[1.0, 0.0], [0.0, 1.0]] for name in ("W_Q", "W_K", "W_V")}
    sheet = solve({"kind": "masked-self-attention", "X": [[1.0, 2.0]], **weights})
    note = "The mask hides no key here"
    assert note not in sheet.to_html()
    assert "S″" in [attributes.get("data-symbol") for _, attributes in read(sheet.to_html()).tags]
    trace = replace(sheet, kind="trace")
    assert note in trace.to_html()
    assert note in trace.to_markdown()
    assert note in trace.to_latex()
    assert note in trace._repr_html_()
    drawn = [attributes.get("data-symbol") for _, attributes in read(trace.to_html()).tags]
    assert "S″" not in drawn
    assert "M" not in drawn
    assert note not in trace.to_html(blanks=["S″"]), "a blank must be there to be filled in"


def test_a_decoder_head_says_which_token_its_rows_predict() -> None:
    head = Worksheet.from_json((ROOT / "docs/inside/sentence-1-head.json").read_text(encoding="utf-8"))
    assert "the row of a token is used to predict the next token" in head.to_html()

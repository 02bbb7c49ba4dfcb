"""Pictures of matrices: valid self-contained SVG, readable on every colour, that does not reveal blanks."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from clearhead import Rounding, Worksheet, solve
from clearhead.errors import ProblemError
from clearhead.worksheet.render.svg import (
    DARK_DIVERGING,
    DARK_SEQUENTIAL,
    DIVERGING,
    SEQUENTIAL,
    _Scale,
    contrast,
    ink_on,
    matrix_svg,
)
from clearhead.worksheet.rounding import Digits
from clearhead.worksheet.view import MatrixView, SheetView
from tests.conftest import SHIPPED

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def masked(tokens: list[str] | None = None, **more: Any) -> Worksheet:
    tokens = tokens or ["a", "b", "c"]
    x = [[1.5 * i - 2, 1.0] for i in range(len(tokens))]
    eye = [[1, 0], [0, 1]]
    return solve({"kind": "masked-self-attention", "tokens": tokens, "X": x,
                  "W_Q": eye, "W_K": eye, "W_V": eye, **more})  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_matrix_is_a_picture(name: str, all_sheets: dict[str, Worksheet]) -> None:
    for step in SheetView(all_sheets[name]).steps:
        for matrix in (step.matrix, *step.givens):
            svg = matrix_svg(matrix)
            root = ElementTree.fromstring(svg)
            assert root.get("role") == "img"
            ids = {element.get("id") for element in root.iter() if element.get("id")}
            assert set((root.get("aria-labelledby") or "").split()) <= ids
            assert root.find(f"{SVG}title") is not None
            assert root.find(f"{SVG}desc") is not None
            assert "href" not in svg
            assert svg.count("http") == 1, "the name of SVG itself"
            if step.matrix.value.size < 50:
                assert matrix.digits.text(0, 0) in texts(svg)


def test_names_and_digits_are_in_the_picture() -> None:
    svg = solve("lets-go-encoder").picture("Q")
    assert {"Q (2 × 2)", "Let's", "go", "-0.995", "3.738"} <= set(texts(svg))
    assert "Let&#x27;s: 1 -0.995, 2 3.738" in svg


def test_digits_can_be_omitted() -> None:
    matrix = SheetView(solve("lets-go-encoder")).matrix("Q")
    assert "-0.995" not in texts(matrix_svg(matrix, numbers=False))


def test_masked_scores_are_hatched_and_weights_are_on_the_scale_from_0_to_1() -> None:
    scores, weights = masked().picture("S″"), masked().picture("A")
    hatched = re.findall(r'fill="url\(#(c\w+-hatch)\)"', scores)
    assert len(hatched) == 3
    assert f'<pattern id="{hatched[0]}"' in scores
    assert texts(scores).count("-∞") == 3
    assert "-hatch)" not in weights
    assert {"0", "0.5", "1"} <= set(texts(weights))
    assert "#54278f" in weights


def test_zero_is_white_and_both_sides_reach_equally_far() -> None:
    scale = _Scale(-2.0, 2.0, DIVERGING)
    assert scale.colour(0.0) == (247, 247, 247)
    assert scale.colour(-2.0) == DIVERGING[0]
    assert scale.colour(2.0) == DIVERGING[-1]
    assert scale.colour(1.0) == DIVERGING[3]


@pytest.mark.parametrize("colours", [DIVERGING, SEQUENTIAL, DARK_DIVERGING, DARK_SEQUENTIAL])
def test_digits_are_readable_on_every_colour(colours: Any) -> None:
    scale = _Scale(0.0, 1.0, colours)
    for value in np.linspace(0, 1, 211):
        colour = scale.colour(float(value))
        assert contrast(colour, ink_on(colour)) >= 4.5


def test_a_scale_keeps_its_order_in_grey() -> None:
    def darkness(scale: _Scale, value: float) -> float:
        return contrast((255, 255, 255), scale.colour(value))

    for scale in (_Scale(0.0, 1.0, SEQUENTIAL), _Scale(-1.0, 1.0, DIVERGING)):
        steps = [darkness(scale, value) for value in np.linspace(0, 1, 41)]
        assert steps == sorted(steps)


def test_dark_mode_has_a_rule_for_every_class_and_paper_has_none() -> None:
    for svg in (masked().picture("S″"), masked().picture("A", blanks=["A[1, *]"])):
        root = ElementTree.fromstring(svg)
        style = root.find(f"{SVG}style")
        assert style is not None
        text = style.text or ""
        assert text.startswith("@media screen and (prefers-color-scheme:dark){")
        names = {name for element in root.iter() for name in (element.get("class") or "").split()}
        assert names == set(re.findall(rf"#{root.get('id')} \.(\w+){{", text))
        assert all(element.get("class") for element in root.iter(f"{SVG}text"))


def test_a_dark_scale_gets_lighter_from_the_background() -> None:
    for scale, values in (
        (_Scale(0.0, 1.0, SEQUENTIAL, DARK_SEQUENTIAL), np.linspace(0, 1, 41)),
        (_Scale(-1.0, 1.0, DIVERGING, DARK_DIVERGING), np.linspace(0, 1, 41)),
        (_Scale(-1.0, 1.0, DIVERGING, DARK_DIVERGING), -np.linspace(0, 1, 41)),
    ):
        steps = [contrast((0, 0, 0), scale.dark_colour(scale.level(float(value)))) for value in values]
        assert steps == sorted(steps)


def test_a_blank_is_empty_and_nothing_reveals_it() -> None:
    svg = solve("lets-go-encoder").picture("Q", blanks=["Q[go, *]"])
    assert "-3.724" not in svg
    assert "0.600" not in svg
    assert "3.72" not in svg, "the scale must not tell the largest number"
    assert "1 blank, 2 blank" in svg


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a&b", '"x"', "\x1b[31m", "\u202e", "]]>", '"here:hatch"', "हम", "👩‍🚀"]
)
def test_hostile_names_stay_text(name: str) -> None:
    svg = masked([name, "b", "c"]).picture("A")
    root = ElementTree.fromstring(svg)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags == {"svg", "title", "desc", "style", "defs", "pattern", "linearGradient", "stop", "g", "rect", "text"}
    assert "\x1b" not in svg
    assert "\u202e" not in svg


def test_a_large_matrix_is_small_squares_without_digits() -> None:
    svg = solve("positions").picture("P", "part.6*")
    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}rect"))) > 50 * 128
    assert float(root.get("width") or 0) < 1300
    assert "0.8415" not in texts(svg)


def test_a_huge_matrix_is_drawn_in_part_with_a_note() -> None:
    svg = solve({"kind": "positions", "d_model": 300, "positions": 3}).picture("P")
    assert "The first 3 × 256 of 3 × 300 cells are shown." in texts(svg)


def test_numbers_at_the_end_of_the_range_have_a_colour() -> None:
    value = np.array([[1e308, -1e308], [0.0, 1.0]])
    svg = matrix_svg(MatrixView("X", value, (), (), Digits(value, Rounding())))
    ElementTree.fromstring(svg)
    assert "#2166ac" in svg
    assert "#b35806" in svg


def test_a_given_matrix_has_a_picture_too() -> None:
    assert "W_Q (2 × 2)" in texts(solve("lets-go-encoder").picture("W_Q"))


def test_an_unknown_symbol_is_reported_with_the_closest_one() -> None:
    with pytest.raises(
        ProblemError, match=r"'W_q' is not a matrix of this sheet\. Did you mean 'W_Q'\? Matrices: E, X, P"
    ):
        solve("lets-go-encoder").picture("W_q")


def test_a_symbol_at_several_places_needs_a_place() -> None:
    sheet = solve("lets-go-decoder-vamos")
    with pytest.raises(
        ProblemError,
        match=r"'A' matches 2 matrices of this sheet: decoder\.0\.self_attention.*Add the part of the model",
    ):
        sheet.picture("A")
    assert "A (2 × 2)" in texts(sheet.picture("A", "*cross*"))


def test_a_matrix_given_to_several_parts_is_chosen_by_its_part() -> None:
    sheet = solve("norms")
    with pytest.raises(ProblemError, match=r"'X' matches 5 matrices of this sheet: part\.0\..*as in 'part\.0\.\S*:X'"):
        sheet.picture("X")
    assert any(text.startswith("X (") for text in texts(sheet.picture("X", "part.1*")))

"""Subscripts and exponents: real ones for the eye, plain text for copying, searching and screen readers."""

import re

import pytest

from clearhead import Worksheet
from clearhead.worksheet.render.markdown import escape
from clearhead.worksheet.render.scripts import html_maths, markdown_maths
from clearhead.worksheet.view import SheetView
from tests.conftest import SHIPPED


def tagged(text: str) -> str:
    """Return the HTML without its invisible signs: what one sees."""
    return re.sub("<i class=x>.*?</i>", "", html_maths(text))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("W_Q", "W<sub>Q</sub>"),
        ("X W_Q₁ + b_1", "X W<sub>Q₁</sub> + b<sub>1</sub>"),
        ("S′₄ = Q₄ K₄ᵀ", "S′₄ = Q₄ K₄ᵀ"),
        ("e^11.95 / (e^11.95 + e^(-7.0353))", "e<sup>11.95</sup> / (e<sup>11.95</sup> + e<sup>-7.0353</sup>)"),
        ("e^(-(0.3 - 0.5)² / (2×0.1)) / √(2×π×0.1)", "e<sup>-(0.3 - 0.5)² / (2×0.1)</sup> / √(2×π×0.1)"),
        ("sin(pos / 10000^(2i/d)) at dim 2i", "sin(pos / 10000<sup>2i/d</sup>) at dim 2i"),
        ("e^(3.1×10⁻⁵)", "e<sup>3.1×10⁻⁵</sup>"),
        ("e^(2^(1/2))", "e<sup>2<sup>1/2</sup></sup>"),
        ("e^____ / (e^____ + e^0.5)", "e<sup>____</sup> / (e<sup>____</sup> + e<sup>0.5</sup>)"),
        ("____ = 2×____", "____ = 2×____"),
        ("a ^ b, x^, y^(", "a ^ b, x^, y^("),
        ("(x - μ)²", "(x - μ)²"),
    ],
)
def test_scripts_are_real_and_the_text_stays_plain(text: str, seen: str) -> None:
    assert tagged(text) == seen
    assert re.sub("<.*?>", "", html_maths(text)) == text
    assert markdown_maths(text, lambda part: part) == seen


def test_markdown_escapes_the_text_between_the_tags() -> None:
    assert markdown_maths("W_Q*[x] <b>", escape) == r"W<sub>Q</sub>\*\[x\] &lt;b&gt;"


@pytest.mark.parametrize("name", SHIPPED)
def test_no_sum_or_equation_loses_a_sign(name: str, all_sheets: dict[str, Worksheet]) -> None:
    for step in SheetView(all_sheets[name]).steps:
        for text in (step.matrix.symbol, step.equation, step.cell_line(0, 0) or ""):
            assert re.sub("<.*?>", "", html_maths(text)) == text
            assert not re.search(r"[\w)]\^|[A-Za-z]_\w", tagged(text)), text

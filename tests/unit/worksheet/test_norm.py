"""RMS norm, worked by hand: no mean is taken away, and each token is divided by the root of its mean square."""

import math
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from clearhead import Rounding, solve
from clearhead.check import check
from clearhead.errors import ProblemError
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.norm import NormRule, work_residual
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.shapes import Shapes
from clearhead.worksheet.view import SheetView
from tests.conftest import ROOT
from tests.tolerances import assert_close

EXAMPLE = str(ROOT / "examples" / "rms-norm.yaml")


def test_the_numbers_are_those_worked_by_hand() -> None:
    # R = [[3, 4], [6, 0]]; mean squares (9 + 16)/2 = 12.5 and (36 + 0)/2 = 18; γ = [1, 2]
    expected = [[3 / math.sqrt(12.5), 2 * 4 / math.sqrt(12.5)], [6 / math.sqrt(18), 0.0]]
    assert_close(solve(EXAMPLE).answer, expected)
    assert [round(cell, 4) for cell in expected[0]] == [0.8485, 2.2627]


def test_epsilon_is_inside_the_root() -> None:
    sheet = solve({"kind": "add-and-norm", "X": [[1, 7]], "norm": "rms", "epsilon": 11})
    assert_close(sheet.answer, [[1 / 6, 7 / 6]])  # (1 + 49)/2 + 11 = 36


def test_every_form_shows_the_root_of_the_mean_square() -> None:
    sheet = solve(EXAMPLE)
    text = StringIO()
    sheet.show("products", Console(file=text, highlight=False, width=120))
    assert "N = γ × R / √(mean of R²)" in text.getvalue()
    assert "2.2627 = 2×(4 / √((3² + 4²) / 2))" in text.getvalue()
    assert r"2 \cdot \dfrac{4}{\sqrt{\dfrac{3^{2} + 4^{2}}{2}}} = 2.2627" in sheet.to_latex("products")
    assert "2×(4 / √((3² + 4²) / 2))" in sheet.to_markdown("products")
    assert "√(mean of R²)" in sheet.to_html("products")


def test_a_cell_depends_on_its_entire_row_and_its_gain() -> None:
    step = SheetView(solve(EXAMPLE)).steps[-1]
    assert {(cell.matrix.symbol, cell.row, cell.column) for cell in step.parents(0, 1)} == {
        ("R", 0, 0),
        ("R", 0, 1),
        ("γ", 0, 1),
    }


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"shift": [1, 2]}, "norm rms does not use shift"),
        ({"epsilon_place": "outside"}, "norm rms does not use epsilon_place: outside"),
        ({"X": [[0, 0]], "epsilon": 0}, "epsilon is 0, so normalising would divide by zero"),
    ],
)
def test_keys_that_a_norm_does_not_use_are_reported(extra: dict[str, object], sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        solve({"kind": "add-and-norm", "X": [[1, 2]], "norm": "rms", **extra})


@pytest.mark.parametrize(
    ("name", "second", "is_right"), [("N", "2.26", True), ("rms norm", "2.26", True), ("N", "1.60", False)]
)
def test_a_students_rms_norm_is_marked(name: str, second: str, is_right: bool) -> None:
    problem = {"kind": "add-and-norm", "X": [[3, 4]], "norm": "rms", "epsilon": 0, "gain": [1, 2]}
    (report,) = check({"problem": problem, "written": {name: [["0.85", second]]}})
    assert (report.earned == report.out_of) is is_right, report.findings


def normalised(x: list[list[float]], **fields: object) -> Array:
    return NormRule.model_validate({"epsilon": 0, **fields}).work_norm(Pen("rows", Rounding()), np.array(x))


def test_a_norm_is_over_the_features_the_tokens_or_all_numbers() -> None:
    # Rows (1, 3) and (5, 7): a row's deviation is 1, a column's is 2, and all four have mean 4 and variance 5.
    x = [[1.0, 3.0], [5.0, 7.0]]
    assert normalised(x, norm="layer").tolist() == [[-1, 1], [-1, 1]]
    assert normalised(x, norm="batch").tolist() == [[-1, -1], [1, 1]]
    assert_close(
        normalised(x, norm="all"), [[-3 / math.sqrt(5), -1 / math.sqrt(5)], [1 / math.sqrt(5), 3 / math.sqrt(5)]]
    )
    assert normalised(x, norm="none").tolist() == x
    assert normalised(x, gain=[2, 3], shift=[10, 20]).tolist() == [[8, 23], [8, 23]]


def test_a_variance_of_zero_needs_an_epsilon_and_the_message_names_its_owner() -> None:
    with pytest.raises(ProblemError, match="the variance of feature 2 is 0 and epsilon is 0"):
        normalised([[1.0, 7.0], [3.0, 7.0]], norm="batch")


def test_padding_must_leave_a_token() -> None:
    shapes = Shapes("rows")
    NormRule.model_validate({"padding": 3, "gain": [1]}).norm_mistakes(shapes, 3, 2)
    assert [mistake.sentence for mistake in shapes.mistakes] == [
        "gain has 1 number, but tokens are 2 wide. Give gain 2 numbers.",
        "padding = 3, but there are 3 tokens, and at least one must not be padding. Give a number from 0 to 2.",
    ]


def test_a_residual_adds_what_went_in() -> None:
    pen = Pen("rows", Rounding())
    assert work_residual(pen, np.array([[1.0, 2.0]]), np.array([[10.0, 20.0]])).tolist() == [[11.0, 22.0]]

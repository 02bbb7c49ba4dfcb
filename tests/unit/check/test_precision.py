"""How precisely a number was written, and what that allows: halves, truncated numbers, integers, per cent, fractions, infinities."""

import math

import numpy as np
import pytest

from clearhead.check.statement import fit, make_statement
from clearhead.check.style import Style, evidence, line_style, sheet_style
from clearhead.exercises.check.read.number import read_cell
from tests.unit.check.desk import marked, roots, verdicts

ROWS = {"layout": "rows"}


def judged(reference, text, style=None):
    """How one written number compares with a reference: half, cut, near or nothing."""
    statement = make_statement(0, 0, [[read_cell(text)]], style or Style(decimals=2), turned=False, is_telling=True)
    comparison = fit(statement, np.array([[float(reference)]]))
    for name in ("half", "cut", "near"):
        if getattr(comparison, name)[0, 0]:
            return name
    return "no"


@pytest.mark.parametrize(
    ("reference", "text", "expected"),
    [
        (0.125, "0.13", "half"),  # exact halves: up
        (0.125, "0.12", "half"),  # and to the even digit
        (-0.125, "-0.13", "half"),
        (-0.125, "-0.12", "half"),
        (2.675, "2.68", "half"),  # stored as 2.67499…
        (0.1251, "0.12", "cut"),
        (0.1249, "0.13", "near"),
        (0.1351, "0.12", "no"),
        (-0.15, "-0.1", "half"),
        (-0.15, "-0.2", "half"),
        (-0.16, "-0.1", "cut"),  # towards 0
        (-0.14, "-0.2", "near"),
        (-0.19, "-0.1", "cut"),
        (-0.21, "-0.1", "no"),
        (-0.004, "-0.00", "half"),
        (0.004, "-0.00", "half"),
        (-0.009, "-0.00", "cut"),
        (0.0, "0", "half"),
        (12.0, "12", "half"),
        (12.0, "13", "no"),  # the value is an integer, so an integer is exact
        (12.0, "12.0", "half"),
        (1 / 3, "1/3", "half"),  # fractions are exact
        (0.3333, "1/3", "no"),
        (0.26, "26%", "half"),
        (0.264, "26%", "half"),
        (0.266, "26%", "cut"),
        (0.28, "26%", "no"),
        (1.234e-3, "1.23e-3", "half"),
        (1.239e-3, "1.23×10^-3", "cut"),
        (1.25e-3, "1.23e-3", "no"),
        (7.86e-32, "7.9\\times10^{-32}", "half"),
        (-math.inf, "-∞", "half"),
        (-math.inf, "-1e9", "half"),
        (-math.inf, "-1000000000", "half"),
        (-math.inf, "-5", "no"),
        (math.inf, "-∞", "no"),
        (5.0, "-∞", "no"),
    ],
)
def test_a_number_is_compared_with_a_reference(reference, text, expected):
    assert judged(reference, text) == expected


def test_a_truncated_number_is_nearer_to_0():
    assert judged(0.199, "0.1") == "cut"
    assert judged(-0.199, "-0.1") == "cut"
    assert judged(0.05, "-0.1") == "no", "0.05 is not cut to -0.1"
    assert judged(-0.001, "0.01") == "no"


# Integers


def cells(*texts):
    return [read_cell(text) for text in texts]


def style_of(texts, truths, sheet="", around=()):
    return line_style(evidence(cells(*texts), truths), sheet, cells(*texts), around)


def test_a_0_beside_two_decimals_means_0_00():
    style = style_of(["0", "0.99", "0.01"], [0.0021, 0.9889, 0.009])
    assert style.unit(np.array([0.0])) == 0.01
    assert judged(0.0049, "0", style) == "half"
    assert judged(0.0057, "0", style) == "cut"
    assert judged(0.0123, "0", style) == "no"


def test_12_beside_3_4_and_0_56_has_two_figures():
    """Two figures each: 12.4 is written 12, 12.6 is not."""
    style = style_of(["12", "3.4", "0.56"], [12.4, 3.38, 0.5633])
    assert style.figures == 2
    assert judged(12.4, "12", style) == "half"
    assert judged(12.6, "12", style) == "cut"
    assert judged(13.4, "12", style) == "no"


def test_a_line_of_only_0_and_1_is_exact_to_two_decimals():
    style = style_of(["0", "1"], [0.003, 0.997], "decimals")
    assert style.unit(np.array([0.0])) == pytest.approx(0.01)
    assert judged(0.003, "0", style) == "half"
    assert judged(0.997, "1", style) == "half"
    assert judged(0.02, "0", style) == "no"


def test_a_sheet_with_fixed_decimals_and_one_with_significant_figures_are_distinguished():
    decimals = evidence(cells("12.35", "0.12", "3.46"), [12.351, 0.118, 3.456])
    figures = evidence(cells("12.3", "0.118", "3.46"), [12.351, 0.1181, 3.456])
    assert sheet_style([decimals]) == "decimals"
    assert sheet_style([figures]) == "figures"
    assert sheet_style([decimals, figures]) == ""
    assert sheet_style([]) == ""


def test_short_lines_show_the_precision_of_a_sheet_together():
    """One line of 0.69 and 0.08 can be two figures with a slip, or one; three lines of two decimals are not."""
    lines = [evidence(cells(f"0.{one}", f"0.0{two}"), [0.4, 0.02]) for one, two in ((69, 8), (75, 3), (31, 1))]
    assert sheet_style(lines[:1]) == ""
    assert sheet_style(lines) == "decimals"
    figures = evidence(cells("12.3", "0.118", "3.46"), [12.351, 0.1181, 3.456])
    assert sheet_style([*lines, figures]) == "figures", "a line that decides alone comes first"
    rest = evidence(cells("0.693", "0.12"), [0.4, 0.02])
    assert sheet_style([*lines, rest]) == "", "its numbers have two and three decimals"


def test_a_tie_between_numbers_of_figures_is_decided_by_the_sheet():
    line, other = evidence(cells("0.69", "0.08"), [0.4, 0.02]), evidence(cells("0.61", "0.66"), [0.4, 0.5])
    own = cells("0.69", "0.08")
    assert line_style(line, "", own, [line]) == Style(decimals=2, figures=1)
    assert line_style(line, "", own, [line, other]) == Style(decimals=2, figures=2)


def test_a_power_of_ten_in_figures_has_ten_times_finer_neighbours_below():
    """To two figures 0.99 comes before 1.0, so 1.0 means 0.995 … 1.05."""
    style = Style(figures=2)
    assert style.unit(np.array([1.0])) == pytest.approx(0.1)
    assert style.unit_inwards(np.array([1.0])) == pytest.approx(0.01)
    assert style.unit_inwards(np.array([2.0])) == pytest.approx(0.1)


def test_figures_of_a_zero_are_its_decimals():
    assert Style(figures=3, zero=2).unit(np.array([0.0])) == pytest.approx(0.01)


# On complete sheets

DOTS = {"kind": "seq2seq-attention", "score": "dot", "s": [1], "h": [[0], [0]], **ROWS}


def test_ties_give_equal_weights():
    """Scores 2, 2, 2: each weight is 1/3, written 0.33 or 1/3."""
    problem = {**DOTS, "h": [[2], [2], [2]]}
    assert verdicts(marked(problem, {"e": "2 2 2", "α": "0.33 0.33 0.33"})) == ["e ccc", "α ccc"]
    assert verdicts(marked(problem, {"e": "2 2 2", "α": "1/3 1/3 1/3"})) == ["e ccc", "α ccc"]


def test_a_saturated_row_is_0_and_1():
    """Scores 40, 0: weights 1 − 4e−18 and 4e−18."""
    problem = {**DOTS, "h": [[40], [0]]}
    for weights in ("1 0", "1.00 0.00", "1.0 0", "1 4.2e-18", "100% 0%"):
        assert verdicts(marked(problem, {"e": "40 0", "α": weights})) == ["e cc", "α cc"], weights
    assert roots(marked(problem, {"e": "40 0", "α": "0.98 0.02"})), "0.98 is not 1"


def test_a_weight_written_0_beside_0_99_is_truncated():
    """Scores 5, 0: weights 0.9933, 0.0067; "0" means 0.00, so 0.0067 was truncated."""
    problem = {**DOTS, "h": [[5], [0]]}
    assert verdicts(marked(problem, {"e": "5 0", "α": "0.99 0"})) == ["e cc", "α ct"]
    assert verdicts(marked(problem, {"e": "5 0", "α": "0.993 0.007"})) == ["e cc", "α cc"]


def test_a_line_of_0_and_1_for_weights_that_are_not_is_wrong():
    """Scores 2, 0: weights 0.8808, 0.1192; 1 and 0 are 0.12 off."""
    assert roots(marked({**DOTS, "h": [[2], [0]]}, {"e": "2 0", "α": "1 0"}))


def test_an_integer_where_the_value_is_an_integer_is_exact():
    """3·4 = 12: 13 is an error, although an integer could mean 12.5 … 13.5."""
    problem = {**DOTS, "s": [3], "h": [[4], [1]]}
    assert verdicts(marked(problem, {"e": "12 3"})) == ["e cc"]
    assert len(marked(problem, {"e": "13 3"}).findings) == 1
    assert len(marked(problem, {"e": "13 3", "α": "1.00 0.00"}).findings) == 1, "also where the sheet has decimals"


def test_integers_without_written_parents_are_as_exact_as_the_numbers_they_come_from():
    """S = [[1, 2], [3, 1]] without Q and K above it: 0.33, 0.67 is not softmax(1, 2) = 0.27, 0.73, whatever was skipped."""
    unit = [[1, 0], [0, 1]]
    problem = {"kind": "self-attention", "X": unit, "W_Q": [[1, 2], [3, 1]], "W_K": unit, "W_V": unit, "scale": "none",
               "mask": "none", "normaliser": "softmax", **ROWS}  # fmt: skip
    assert marked(problem, {"S": "1 2 / 3 1", "A": "0.33 0.67 / 0.75 0.25"}).has_error
    assert not marked(problem, {"S": "1 2 / 3 1", "A": "0.27 0.73 / 0.88 0.12"}).has_error


def test_halves_can_be_rounded_up_or_down():
    """0.5·0.25 = 0.125: 0.13 and 0.12 are both its rounding; −0.5·0.3 = −0.15 is −0.2 or −0.1."""
    problem = {**DOTS, "s": [0.5], "h": [[0.25], [-0.3]]}
    for scores in ("0.13 -0.15", "0.12 -0.15", "0.125 -0.15"):
        assert verdicts(marked(problem, {"e": scores})) == ["e cc"], scores
    for scores in ("0.1 -0.1", "0.1 -0.2"):
        assert verdicts(marked(problem, {"e": scores})) == ["e cc"], scores


def test_minus_0_00_is_0():
    assert verdicts(marked({**DOTS, "s": [0.5], "h": [[-0.004], [1]]}, {"e": "-0.00 0.50"})) == ["e cc"]


def test_percentages_scientific_notation_and_fractions_are_accepted():
    """Scores ln 2 ≈ 0.6931 and 0: weights 2/3 and 1/3 to four digits."""
    problem = {**DOTS, "h": [[2], [0]]}
    for weights in ("88% 12%", "88.1% 11.9%", "8.81e-1 1.19e-1", "0.881 0.119", "e^2/(e^2+1) 1/(e^2+1)"):
        assert verdicts(marked(problem, {"e": "2 0", "α": weights})) == ["e cc", "α cc"], weights
    assert roots(marked(problem, {"e": "2 0", "α": "78% 22%"}))


@pytest.mark.parametrize("hidden", ["-∞", "-inf", "-1e9", "-1000000000", "\\infty"])
def test_what_can_be_written_for_a_masked_score(hidden):
    """Row 1 sees only itself."""
    unit = [[1, 0], [0, 1]]
    problem = {"kind": "self-attention", "X": unit, "W_Q": [[1, 2], [3, 1]], "W_K": unit, "W_V": unit, "scale": "none",
               "mask": "causal", "normaliser": "softmax", **ROWS}  # fmt: skip
    report = marked(problem, {"S": "1 2 / 3 1", "masked scores": f"1 {hidden} / 3 1", "A": "1 0 / 0.88 0.12"})
    expected = "cc cc" if hidden != "\\infty" else "cS cc"
    assert verdicts(report)[1].split(" ", 1)[1].replace("T", "S") == expected
    assert verdicts(report)[2] == "A cc cc"

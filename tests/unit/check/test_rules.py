"""The seven rules, each on a sheet that is worked by hand.

The sheet is self-attention without scaling: X = W_K = the identity, so that Q = W_Q, K = I, V = W_V and S = Q.
"""

import math

import numpy as np
import pytest

from clearhead.check.interval import Range, add, around, exactly, hull, low_of, multiply, product, without_nan
from clearhead.check.marker import mark
from clearhead.check.verdict import Verdict
from clearhead.check.working import Working, WrittenLine
from tests.unit.check.desk import cell, letters, marked, roots, verdicts

UNIT = [[1, 0], [0, 1]]
ATTENTION = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip
SCALED = {**ATTENTION, "X": UNIT, "W_Q": [[1, 2, 0], [3, 1, 0]], "W_K": [[1, 0, 0], [0, 1, 0]], "scale": "sqrt(d_k)"}
# softmax(1, 2) = 0.26894, 0.73106; softmax(3, 1) = 0.88080, 0.11920; Z = 1 + 2·0.73106 = 2.46212 …, 1.23841, 2.23841
FAULTLESS = {
    "Q": "1 2 / 3 1",
    "K": "1 0 / 0 1",
    "V": "1 2 / 3 4",
    "S": "1 2 / 3 1",
    "A": "0.27 0.73 / 0.88 0.12",
    "Z": "2.46 3.46 / 1.24 2.24",
}
SEQ2SEQ = {"kind": "seq2seq-attention", "score": "dot", "h": [[1, 0], [0, 1]], "s": [1, 2]}
CONTEXT = {"kind": "context", "X": [[1, 2], [3, 4]], "weights": [[0.125, 0.875], [0.5, 0.5]]}


def with_lines(**changed):
    return {**FAULTLESS, **changed}


def found(problem, lines, **more):
    return verdicts(marked(problem, lines, **more))


def test_rule_1_a_number_within_half_a_unit_of_what_its_parents_mean_is_correct():
    report = marked(ATTENTION, FAULTLESS)
    assert verdicts(report) == ["Q cc cc", "K cc cc", "V cc cc", "S cc cc", "A cc cc", "Z cc cc"]
    assert not report.has_error
    assert report.exit_code == 0


def test_rule_1_below_an_error_it_is_carried_forward():
    """S₂₁ is 3, written 4: softmax(4, 1) = 0.9526, 0.0474; Z = 1 + 2·0.0474 = 1.0949, 2.0949; from 0.05: 1.10, 2.10."""
    lines = with_lines(S="1 2 / 4 1", A="0.27 0.73 / 0.95 0.05", Z="2.46 3.46 / 1.09 2.10")
    report = marked(ATTENTION, lines)
    assert verdicts(report)[3:] == ["S cc Sc", "A cc ff", "Z cc ff"]
    assert roots(report) == ["S 2,1 arithmetic slip"]


def test_rule_2_a_number_that_follows_from_the_rounded_digits_is_correct_rounded_working():
    """From 0.3, 0.7: 1 + 2·0.7 = 2.4 and 3.4, where the unrounded weights give 2.46 and 3.46; 1.2 and 2.2 fit both."""
    assert found(ATTENTION, with_lines(A="0.3 0.7 / 0.9 0.1", Z="2.4 3.4 / 1.2 2.2"))[4:] == ["A cc cc", "Z rr cc"]


def test_rule_3_a_number_cut_off_at_its_unit_is_truncated():
    """0.26894 cut to two decimals is 0.26, 0.11920 is 0.11; 2.46212 cut to one is 2.4."""
    assert found(ATTENTION, with_lines(A="0.26 0.73 / 0.88 0.11"))[4] == "A tc ct"
    assert found(ATTENTION, with_lines(Z="2.4 3.4 / 1.2 2.2"))[5] == "Z tt cc"


def test_rule_4_less_than_a_unit_off_is_only_rounding_and_an_error_only_if_strict():
    """0.73106 written 0.74 is 0.0089 off, less than 0.01 and on the far side; 0.75 is 0.019 off."""
    from clearhead.check.marks import Scheme

    report = marked(ATTENTION, with_lines(A="0.27 0.74 / 0.88 0.12"))
    assert verdicts(report)[4] == "A co cc"
    assert not report.has_error, "a fault of rounding is not an error"
    assert marked(ATTENTION, with_lines(A="0.27 0.74 / 0.88 0.12"), Scheme(strict_rounding=True)).has_error
    assert found(ATTENTION, with_lines(A="0.27 0.75 / 0.88 0.12"))[4] != "A co cc", "0.75 is two units off"


def test_rule_5_a_skipped_line_can_have_been_rounded():
    """Weights not written: Z₁₁ = 1 + 2·0.7311 = 2.462, but 0.27·1 + 0.73·3 = 2.460 from weights with two decimals.

    Scores written as 1.00 show that two decimals are kept. e⁻¹ = 0.3679 cut to 0.36 gives 1 + 2/1.36 = 2.471, but no
    faultless weights give 2.50.
    """
    lines = {name: text for name, text in FAULTLESS.items() if name not in ("A", "Z")}
    lines["S"] = "1.00 2.00 / 3.00 1.00"
    assert found(ATTENTION, {**lines, "Z": "2.460 3.462 / 1.238 2.238"})[-1] == "Z pc cc"
    assert found(ATTENTION, {**lines, "Z": "2.500 3.462 / 1.238 2.238"})[-1] != "Z pc cc"


def test_rule_5_the_root_of_3_can_be_taken_as_1_73():
    """S₂₁ = 3·1 = 3 and S₁₂ = 2: 3/√3 = 1.732051, but 3/1.73 = 1.734104; 2/1.73 = 1.156069; 1/1.73 = 0.578035.

    To four decimals these are 20 units from the exact ones. 3/1.7 = 1.7647 takes only one decimal of √3.
    """
    lines = {"S": "1 2 / 3 1", "S'": "0.5780 1.1561 / 1.7341 0.5780"}
    assert found(SCALED, lines) == ["S cc cc", "S′ pp pp"]
    wrong = found(SCALED, {**lines, "S'": "0.5774 1.1547 / 1.7647 0.5774"})
    assert wrong[1].startswith("S′ cc ")
    assert wrong[1][6] in "ST", "one decimal of √3 is not enough"


def test_rule_5_weights_that_were_shown_rounded_make_the_products_plausible():
    """W_Q = 1.0, 2.0 … to one decimal is ±0.05 in each: Q₁₁ = 1·1.0 + 1·3.0 = 4.0 ± 0.1, so 4.07 is possible."""
    problem = {**ATTENTION, "X": [[1, 1], [0, 1]], "W_Q": [[1.1, 2.2], [3.3, 1.4]]}
    # Q = [[4.4, 3.6], [3.3, 1.4]]
    right, near, far = "4.40 3.60 / 3.30 1.40", "4.47 3.60 / 3.30 1.40", "4.56 3.60 / 3.30 1.40"
    assert found(problem, {"Q": right}, rounded=("W_Q",)) == ["Q cc cc"]
    assert found(problem, {"Q": near}, rounded=("W_Q",)) == ["Q pc cc"]
    assert found(problem, {"Q": near})[0] != "Q pc cc", "numbers of the question are exact unless it says otherwise"
    assert found(problem, {"Q": far}, rounded=("W_Q",))[0][2] in "ST", "4.56 is beyond 4.4 ± 0.1"


def test_rule_5_gives_neither_correct_nor_an_error():
    """Z₁₁ = 0.27·1 + 0.73·3 = 2.46; 2.48 is two units off, but weights that are rounded allow 2.46 ± 0.005·(1 + 3)."""
    report = marked(ATTENTION, with_lines(Z="2.48 3.46 / 1.24 2.24"))
    assert verdicts(report)[5] == "Z pc cc"
    assert not report.has_error


def test_exact_scores_leave_only_one_right_weight():
    """softmax(3, 1) = 0.8808, 0.1192; e⁻² = 0.1353 kept as 0.13 or 0.14 gives 0.885, 0.115 or 0.877, 0.123, never 0.86."""
    for scores in ("1 2 / 3 1", "1.0 2.0 / 3.0 1.0", "1.00 2.00 / 3.00 1.00"):
        report = marked(ATTENTION, {"S": scores, "A": "0.27 0.73 / 0.86 0.14"})
        assert verdicts(report)[1] in ("A cc SS", "A cc TT"), scores
        report = marked(ATTENTION, {"S": scores, "A": "0.269 0.731 / 0.877 0.123"})
        assert verdicts(report)[1] == "A cc pp", scores


def test_rule_6_a_right_score_under_a_miscopied_query_shows_that_only_the_copy_is_wrong():
    """Q₂₁ is 3, written 2; S₂₁ = 3 follows from the right one, not from 2."""
    report = marked(ATTENTION, with_lines(Q="1 2 / 2 1"))
    assert verdicts(report) == ["Q cc Tc", "K cc cc", "V cc cc", "S cc cc", "A cc cc", "Z cc cc"]
    assert roots(report) == ["Q 2,1 transcription"]


def test_rule_6_the_query_is_wrong_if_the_work_continued_from_it():
    """Q₂₁ written 2, S₂₁ = 2·1 + 1·0 = 2 and S₂₂ = 2·0 + 1·1 = 1, which both depend on it: softmax(2, 1) = 0.7311, 0.2689; Z = 1 + 2·0.2689 = 1.5379, 2.5379."""
    report = marked(
        ATTENTION, with_lines(Q="1 2 / 2 1", S="1 2 / 2 1", A="0.27 0.73 / 0.73 0.27", Z="2.46 3.46 / 1.54 2.54")
    )
    assert verdicts(report) == ["Q cc Sc", "K cc cc", "V cc cc", "S cc ff", "A cc ff", "Z cc ff"]
    assert roots(report) == ["Q 2,1 arithmetic slip"]


def test_rule_6_a_number_that_only_fits_the_final_truth_is_true_but_not_from_your_line():
    """S₂₁ = 4 for 3, and A = 0.9526, 0.0474 follow; but Z₂ = 1.24, 2.24 is the result of the problem, and of none of the lines."""
    report = marked(ATTENTION, with_lines(S="1 2 / 4 1", A="0.27 0.73 / 0.95 0.05"))
    assert verdicts(report)[3:] == ["S cc Sc", "A cc ff", "Z cc !!"]
    assert cell(report, 6, 2, 1).verdict is Verdict.TRUE


def test_rule_7_otherwise_it_is_a_root_error():
    """Z₁₁ = 0.27·1 + 0.73·3 = 2.46, written 2.56: no rule fits."""
    report = marked(ATTENTION, with_lines(Z="2.59 3.46 / 1.24 2.24"))
    assert verdicts(report)[5] in ("Z Sc cc", "Z Tc cc")
    assert len(report.findings) == 1
    assert report.findings[0].right_sum, "the right sum is shown"


@pytest.mark.parametrize("weights", ["0.87 0.13", "0.86 0.14", "0.90 0.10"])
def test_truth_alone_never_accepts_a_weight_below_an_error(weights):
    """S₂₁ = 4 for 3 says 0.95, 0.05; the true weights are 0.8808, 0.1192: what is only near them is a slip."""
    report = marked(ATTENTION, {**{k: FAULTLESS[k] for k in "QKV"}, "S": "1 2 / 4 1", "A": f"0.27 0.73 / {weights}"})
    last = letters(report.lines[-1]).split()[1]
    assert set(last) <= set("STM!"), f"{weights} was called {last}"
    assert any(root.startswith("S 2,1") for root in roots(report)), "the score is wrong in any case"
    assert any(root.startswith("A 2") for root in roots(report)), "and so is the weight"


# A factor restated


def test_a_factor_is_compared_with_its_own_line_and_what_follows_from_a_wrong_copy_is_carried_forward():
    """K₂₂ = 1 restated as 2: S₁₂ = 2·2 = 4, S₂₂ = 1·2 = 2, both from the copy."""
    lines = (
        WrittenLine("Q", (("1", "2"), ("3", "1"))),
        WrittenLine("K", (("1", "0"), ("0", "1"))),
        WrittenLine("Q", (("1", "2"), ("3", "1")), copied_into="S"),
        WrittenLine("K", (("1", "0"), ("0", "2")), copied_into="S"),
        WrittenLine("S", (("1", "4"), ("3", "2"))),
    )
    report = mark(Working(ATTENTION, lines))
    assert verdicts(report) == ["Q cc cc", "K cc cc", "Q cc cc", "K cc cT", "S cf cf"]
    assert roots(report) == ["K 2,2 transcription"]
    assert [line.marks.out_of for line in report.lines] == [2, 2, 0, 0, 2], "a copy is worth nothing by itself"


def test_a_copy_of_a_wrong_line_is_no_second_error():
    lines = (
        WrittenLine("Q", (("1", "2"), ("5", "1"))),
        WrittenLine("Q", (("1", "2"), ("5", "1")), copied_into="S"),
        WrittenLine("S", (("1", "2"), ("5", "1"))),
    )
    report = mark(Working(ATTENTION, lines))
    assert verdicts(report) == ["Q cc Sc", "Q cc fc", "S cc ff"]


# Other kinds


def test_sequence_to_sequence_dot_scores():
    """e = (1, 2); α = 0.2689, 0.7311; a = α (h is the identity); s′ = [a; s]."""
    lines = {"e": "1 2", "α": "0.27 0.73", "a": "0.27 0.73", "s'": "0.27 0.73 1 2"}
    assert found(SEQ2SEQ, lines) == ["e cc", "α cc", "a cc", "s′ cccc"]
    wrong = marked(SEQ2SEQ, {**lines, "e": "1 3", "α": "0.12 0.88", "a": "0.12 0.88", "s'": "0.12 0.88 1 2"})
    assert verdicts(wrong) == ["e cS", "α ff", "a ff", "s′ ffcc"]


def test_context_from_given_weights():
    """0.125·1 + 0.875·3 = 2.75; 0.125·2 + 0.875·4 = 3.75; the second row is 2, 3."""
    assert found(CONTEXT, {"Z": "2.75 3.75 / 2 3"}) == ["Z cc cc"]
    report = marked(CONTEXT, {"Z": "2.75 3.57 / 2 3"})
    assert verdicts(report) == ["Z cS cc"]
    assert report.findings[0].name == "as if two digits were swapped"


# Several errors, and the cells that they affect


def test_two_independent_errors_are_both_root_errors_and_what_follows_is_not_wrong():
    """S₁₂ = 3 for 2: softmax(1, 3) = 0.1192, 0.8808. V₂₂ = 5 for 4: Z₁ = 0.12·1 + 0.88·3 = 2.76, 0.12·2 + 0.88·5 = 4.64.

    Z₂ = 0.88·1 + 0.12·3 = 1.24 and 0.88·2 + 0.12·5 = 2.36: only the second depends on V₂₂.
    """
    report = marked(
        ATTENTION, with_lines(V="1 2 / 3 5", S="1 3 / 3 1", A="0.12 0.88 / 0.88 0.12", Z="2.76 4.64 / 1.24 2.36")
    )
    assert verdicts(report) == ["Q cc cc", "K cc cc", "V cc cS", "S cS cc", "A ff cc", "Z ff cf"]
    assert sorted(roots(report)) == ["S 1,2 arithmetic slip", "V 2,2 arithmetic slip"]


def test_exactly_the_dependent_cells_are_contaminated():
    report = marked(
        ATTENTION, with_lines(V="1 2 / 3 5", S="1 3 / 3 1", A="0.12 0.88 / 0.88 0.12", Z="2.76 4.64 / 1.24 2.36")
    )
    number = {root.split()[0]: index for index, root in enumerate(roots(report))}
    shaded = {
        symbol: [
            (line.symbol, mark.row + 1, mark.column + 1)
            for line in report.lines
            for mark in line.marked
            if number[symbol] in mark.findings
        ]
        for symbol in "SV"
    }
    assert shaded["S"] == [("S", 1, 2), ("A", 1, 1), ("A", 1, 2), ("Z", 1, 1), ("Z", 1, 2)]
    assert shaded["V"] == [("V", 2, 2), ("Z", 1, 2), ("Z", 2, 2)]
    assert report.findings[number["S"]].below == (4, 5)
    assert report.findings[number["V"]].below == (5,)


def test_an_error_that_was_not_used_later_contaminates_nothing():
    report = marked(ATTENTION, with_lines(Q="1 2 / 2 1"))
    shaded = [(line.symbol, mark.row, mark.column) for line in report.lines for mark in line.marked if mark.findings]
    assert shaded == [("Q", 1, 0)]
    assert report.findings[0].below == ()


# Shapes, and what cannot be read


def test_a_wrong_shape_stops_only_its_own_branch():
    """V has three columns: V and what depends on it cannot be marked, the scores and weights can."""
    report = marked(ATTENTION, with_lines(V="1 2 3 / 3 4 5"))
    assert [letters(line) for line in report.lines] == ["cc cc", "cc cc", "", "cc cc", "cc cc", "cc cc"]
    wrong = report.lines[2]
    assert "2 × 3" in wrong.note
    assert "2 × 2" in wrong.note
    assert (wrong.marks.earned, wrong.marks.out_of) == (0, 2)


def test_a_line_written_once_more_in_the_right_shape_is_marked():
    lines = {"V": "1 2 3 / 3 4 5", "V ": "1 2 / 3 7", "A": FAULTLESS["A"], "Z": "2.46 5.65 / 1.24 2.60"}
    report = marked(ATTENTION, lines)
    assert [letters(line) for line in report.lines] == ["", "cc cS", "cc cc", "cf cf"], "0.27·2 + 0.73·7 = 5.65"


def test_below_a_wrong_shape_what_does_not_follow_from_the_truth_is_not_checked():
    """Z with another V: 5.1 … does not follow from V as it should be, and is not an error either."""
    report = marked(ATTENTION, with_lines(V="1 2 3 / 3 4 5", Z="2.50 3.46 / 1.24 2.24"))
    assert letters(report.lines[5]) == "uc cc"
    assert not report.has_error


def test_cells_that_depend_on_an_unreadable_cell_are_not_checked():
    """S₁₂ cannot be read: A₁ follows from the truth, or is not checked; row 2 is marked as usual."""
    report = marked(ATTENTION, with_lines(S="1 x? / 3 1"))
    assert letters(report.lines[3]) == "c? cc"
    assert letters(report.lines[4]) == "cc cc", "the true weights are right whatever stands there"
    other = marked(ATTENTION, with_lines(S="1 x? / 3 1", A="0.12 0.88 / 0.88 0.12", Z="2.76 3.76 / 1.24 2.24"))
    assert letters(other.lines[4]) == "uu cc"
    assert letters(other.lines[5]) == "cc cc", "0.12·1 + 0.88·3 = 2.76 follows from the weights as written"
    assert not other.has_error
    assert other.exit_code == 2, "part of it could not be read"
    untrue = marked(ATTENTION, with_lines(S="1 x? / 3 1", A="0.12 0.88 / 0.88 0.12"))
    assert set(letters(untrue.lines[5])[:2]) <= set("ST"), (
        "2.46 does not follow from 0.12 and 0.88, which are what was written"
    )


# ---- Ranges: their middle and radius, and the bounds of products and sums, worked by hand ----


def matrix(*rows: list[float]) -> np.ndarray:
    return np.array(rows)


def test_a_range_around_infinity_contains_only_infinity():
    masked = around(matrix([2.0, -math.inf]), 0.5)
    assert (masked.low[0, 0], masked.high[0, 0]) == (1.5, 2.5)
    assert masked.low[0, 1] == masked.high[0, 1] == masked.middle[0, 1] == -math.inf
    assert masked.radius[0, 1] == 0.0


def test_widened_adds_at_both_ends_and_turned_transposes():
    row = Range(matrix([1.0, 2.0, 3.0]), matrix([1.5, 2.0, 4.0])).widened(0.25)
    assert row.low.tolist() == [[0.75, 1.75, 2.75]]
    assert row.turned().high.tolist() == [[1.75], [2.25], [4.25]]


def test_the_bound_of_a_product_is_that_of_its_formula():
    """|a| r_b + |b| r_a + r_a r_b = 3 × 0.5 + 2 × 0.1 + 0.05 = 1.75 around -6."""
    bound = product(around(matrix([3.0]), 0.1), around(matrix([-2.0]), 0.5))
    assert (bound.low[0, 0], bound.high[0, 0]) == (pytest.approx(-7.75), pytest.approx(-4.25))


def test_a_factor_whose_range_contains_0_can_change_the_sign():
    """-1 … 2 times 3 … 5 lies between -5 and 10."""
    bound = multiply({"a": Range(matrix([-1.0]), matrix([2.0])), "b": Range(matrix([3.0]), matrix([5.0]))})
    assert (bound.low[0, 0], bound.high[0, 0]) == (-5.0, 10.0)


def test_the_ends_of_a_sum_add_up():
    total = add({"a": around(matrix([1.0]), 0.05), "b": around(matrix([2.0]), 0.005)})
    assert (total.low[0, 0], total.high[0, 0]) == (pytest.approx(2.945), pytest.approx(3.055))


def test_the_hull_goes_from_the_smallest_to_the_largest_value_cell_by_cell():
    corners = hull(matrix([1.0, 7.0]), matrix([5.0, 2.0]), matrix([3.0, 3.0]))
    assert (corners.low.tolist(), corners.high.tolist()) == ([[1.0, 2.0]], [[5.0, 7.0]])


def test_an_unknown_bound_becomes_infinite():
    bound = without_nan(Range(matrix([math.nan, 1.0]), matrix([2.0, math.nan])))
    assert (bound.low.tolist(), bound.high.tolist()) == ([[-math.inf, 1.0]], [[2.0, math.inf]])


def test_the_low_end_of_a_value_that_is_not_a_range_is_the_value():
    assert low_of("features") == "features"
    assert low_of(exactly(matrix([5.0])))[0, 0] == 5.0


def test_a_product_with_a_half_open_range_can_be_anything():
    """0 … ∞ is what ReLU leaves of an unknown number; its centre is infinite, but it is not known to be infinite."""
    bound = product(Range(matrix([0.0, 1.0]), matrix([math.inf, 1.0])), exactly(matrix([0.4], [0.2])))
    assert (bound.low[0, 0], bound.high[0, 0]) == (-math.inf, math.inf)

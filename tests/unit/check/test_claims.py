"""A cause is claimed only if it gives the student's own digits; otherwise the line does not follow."""

import numpy as np
import pytest

from clearhead.check.claims import best_claim
from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.report import Finding, Report
from clearhead.check.verdict import Verdict
from clearhead.check.wrong_line import wrong_line
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import marked, roots, verdicts, working

UNIT = [[1, 0], [0, 1]]
SCALED = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[3, 5], [4, 7]], "W_K": UNIT, "W_V": UNIT, "scale": "sqrt(d_k)",
    "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip
# S = Q = [[3, 5], [4, 7]]; S′ = S / 1.41421 = [[2.1213, 3.5355], [2.8284, 4.9497]]


def only(report: Report) -> Finding:
    assert len(report.findings) == 1, roots(report)
    return report.findings[0]


def names(report: Report) -> list[str]:
    return [finding.name for finding in report.findings]


# Shortened roots


def test_a_root_to_one_decimal_is_one_slip_of_the_line_and_keeps_its_method_mark():
    """30/1.4 = 21.4286, 50/1.4 = 35.7143, 40/1.4 = 28.5714, 70/1.4 = 50; 30/√2 = 21.2132."""
    problem = {**SCALED, "W_Q": [[30, 50], [40, 70]]}
    report = marked(problem, {"S": "30 50 / 40 70", "S′": "21.43 35.71 / 28.57 50.00"})
    finding = only(report)
    assert (finding.verdict, finding.name) == (Verdict.SLIP, "as if √2 were 1.4")
    assert len(finding.cells) == 4
    assert (finding.right_sum, finding.student_sum) == ("30 / √2 = 21.213", "30 / 1.4 = 21.43")
    assert finding.remedy == "Use at least two decimals of the square root."
    assert report.lines[1].marks.method == 1.0
    assert report.lines[1].marks.accuracy == 0.0


def test_a_shortened_root_is_seen_in_the_weights_if_the_scaled_scores_are_not_written():
    """The gaps of the scores, 3 and 4: 1/(1 + e^(3/1.7)) = 0.14620 and 1/(1 + e^(4/1.7)) = 0.08683.

    With √3 they would be 1/(1 + e^1.73205) = 0.15033 and 1/(1 + e^2.30940) = 0.09035.
    """
    wide = {"X": [[1, 0, 0], [0, 1, 0]], "W_K": np.eye(3).tolist(), "W_V": np.eye(3).tolist()}
    problem = {**SCALED, **wide, "W_Q": [[3, 6, 0], [1, 5, 0], [0, 0, 1]]}
    report = marked(problem, {"S": "3 6 / 1 5", "A": "0.1462 0.8538 / 0.0868 0.9132"})
    finding = only(report)
    assert (finding.verdict, finding.name) == (Verdict.SLIP, "as if √3 were 1.7")


def test_one_wrong_weight_is_enough_if_all_others_have_the_digits_of_the_shortened_root():
    """1/(1 + e^(2/1.4)) = 0.1933 and 1/(1 + e^(3/1.4)) = 0.1050; with √2 0.1956 and 0.1070.

    Only 0.807 (0.8044) is too far from the right weights to be plausible. With 0.196 beside it, the row has not the
    digits of 1.4, and no cause is seen.
    """
    report = marked(SCALED, {"S": "3 5 / 4 7", "A": "0.193 0.807 / 0.105 0.895"})
    assert verdicts(report)[1] == "A pS pp"
    assert names(report) == ["as if √2 were 1.4"]
    other = marked(SCALED, {"S": "3 5 / 4 7", "A": "0.196 0.807 / 0.105 0.895"})
    assert names(other) == [""]


def test_one_cell_by_a_shortened_root_is_a_slip_of_that_cell():
    problem = {**SCALED, "W_Q": [[30, 50], [40, 70]]}
    report = marked(problem, {"S": "30 50 / 40 70", "S′": "21.43 35.36 / 28.28 49.50"})
    assert names(report) == [""]
    assert verdicts(report)[1] == "S′ Sc cc"


# Misconceptions


def test_one_cell_of_a_line_is_not_a_misconception():
    """3 in S′ is the score without scaling; the other three cells were scaled."""
    report = marked(SCALED, {"S": "3 5 / 4 7", "S′": "3.00 3.54 / 2.83 4.95"})
    finding = only(report)
    assert (finding.verdict, finding.name) == (Verdict.SLIP, "")
    assert report.lines[1].marks.method == 1.0


def test_one_row_by_a_wrong_rule_is_a_misconception():
    report = marked(SCALED, {"S": "3 5 / 4 7", "S′": "3.00 5.00 / 2.83 4.95"})
    assert names(report) == ["no scaling"]
    assert verdicts(report)[1] == "S′ MM cc"


def test_the_sum_by_the_wrong_rule_stands_beside_the_right_one():
    """Down the first column: e³/(e³ + e⁴) = 1/(1 + e) = 0.2689; along the row 1/(1 + e²) = 0.1192."""
    problem = {**SCALED, "scale": "none"}
    finding = only(marked(problem, {"S": "3 5 / 4 7", "A": "0.27 0.12 / 0.73 0.88"}))
    assert finding.name == "softmax down the columns"
    assert finding.right_sum == "e^3 / (e^3 + e^5) = 0.119"
    assert finding.student_sum == "e^3 / (e^3 + e^4) = 0.27"


def test_a_misconception_is_found_in_rows_that_are_written_one_by_one():
    problem = {**SCALED, "scale": "none"}
    report = marked(problem, {"S": "3 5 / 4 7", "A[1]": "0.27 0.12", "A[2]": "0.73 0.88"})
    assert set(names(report)) == {"softmax down the columns"}
    assert {cell.verdict for line in report.lines[1:] for cell in line.marked} == {Verdict.MISCONCEPTION}


def test_a_misconception_is_named_if_the_line_above_was_used_with_one_digit_more():
    """S′ = 2.121, 3.536 and 2.828, 4.950, written with two decimals; without e: 2.121/5.657 = 0.3749, 2.828/7.778 = 0.3636.

    From the written digits 2.12/5.66 = 0.3746, in full 3/8 = 0.3750.
    """
    report = marked(SCALED, {"S": "3 5 / 4 7", "S′": "2.12 3.54 / 2.83 4.95", "A": "0.3749 0.6251 / 0.3636 0.6364"})
    assert names(report) == ["no exp (divided by the sum)"]
    assert verdicts(report)[2] == "A MM MM"


def test_a_row_with_the_digits_of_a_wrong_rule_is_a_misconception_beside_a_right_row():
    """softmax(1, 2) with base 10 = 1/11, 10/11 = 0.0909, 0.9091; row 2 is right: 1/(1 + e²) = 0.1192, 0.8808."""
    problem = {**SCALED, "scale": "none", "W_Q": [[1, 2], [1, 3]]}
    report = marked(problem, {"S": "1 2 / 1 3", "A": "0.0909 0.9091 / 0.1192 0.8808"})
    assert names(report) == ["base 10"]
    assert verdicts(report)[1] == "A MM cc"


def test_a_claim_names_its_rule_the_line_where_it_was_used_and_its_cells():
    """A without scaling: 1/(1 + e²) = 0.1192 and 1/(1 + e³) = 0.0474; S′ was not written, so the rule is wrong there."""
    graph = Graph(solve(parse_problem(SCALED), Rounding()))
    lines = {"S": "3 5 / 4 7", "A": "0.1192 0.8808 / 0.0474 0.9526"}
    comparison = compare(SheetInput(graph, Placer(graph, working(SCALED, lines)).place().statements))
    claim = best_claim(comparison, wrong_line([comparison.judged[1]]))
    assert claim is not None
    assert (claim.name, claim.is_slip, int(claim.explained.sum())) == ("no scaling", False, 4)
    assert graph.records[claim.site].step.name == "scale"


def test_a_misconception_is_named_if_the_exponentials_were_kept_to_two_decimals():
    """2.72, 7.39, 20.09 and 2.72 sum to 32.92: 2.72/32.92 = 0.08262 … In full it is 2.71828/32.9112 = 0.08259."""
    problem = {**SCALED, "scale": "none", "W_Q": [[1, 2], [3, 1]]}
    report = marked(problem, {"S": "1 2 / 3 1", "A": "0.08262 0.22448 / 0.61027 0.08262"})
    assert names(report) == ["softmax over the whole matrix"]


LONG = {
    **SCALED, "scale": "none", "X": [[6.2, -8.2], [-6.4, -5.2], [-6.3, 6]],
    "W_Q": [[0.73, 0.16], [-0.92, -0.81]], "W_K": [[-0.33, -0.13], [0.24, -0.04]],
}  # fmt: skip


def test_a_wrong_rule_is_named_if_so_many_cells_cannot_come_so_near_to_it_by_chance():
    """K as written, and Q in full (12.070, 7.634 …): K₁Q₁ᵀ = -4.01×12.070 - 0.48×7.634 = -52.0650.

    KQᵀ gives -52.063 from the written lines and -52.045 in full; QKᵀ has other numbers outside its diagonal.
    """
    lines = {"Q": "12.07 7.63 / 0.11 3.19 / -10.12 -5.87", "K": "-4.01 -0.48 / 0.86 1.04 / 3.52 0.58"}
    near = "-52.0650 -1.9794 43.3938 / 18.3196 3.4118 -14.8051 / 46.9141 2.2433 -39.0223"
    report = marked(LONG, {**lines, "S": near})
    assert names(report) == ["KQᵀ instead of QKᵀ"]
    assert report.findings[0].student_sum == "", "the sum from the written lines does not give these digits"
    far = "-52.0650 -1.8794 43.2938 / 18.4196 3.4118 -14.7051 / 46.8141 2.3433 -39.0223"
    assert names(marked(LONG, {**lines, "S": far})) == [""], "0.1 is more than the rounding of Q and K allows"


FEED_FORWARD = {"kind": "feed-forward", "X": [[1, 2]], "W_1": [[1, -1, 3], [-2, 1, 1]], "W_2": [[1], [2], [1]]}
# F₁ = (1 − 4, −1 + 2, 3 + 2) = (−3, 1, 5); ReLU: (0, 1, 5)


def test_a_forgotten_relu_is_named_although_most_of_the_line_is_right():
    report = marked(FEED_FORWARD, {"F₁": "-3 1 5", "F₁′": "-3 1 5"})
    assert names(report) == ["ReLU forgotten"]
    assert verdicts(report)[1] == "F₁′ Mcc"


CONTEXT = {"kind": "context", "X": [[1, 2], [3, 5]], "weights": [[0.2, 0.8], [0.6, 0.4]], "layout": "rows"}
# AV = [[2.6, 4.4], [1.8, 3.2]]; AᵀV = [[2.0, 3.4], [2.0, 3.6]]


def test_a_rule_that_only_comes_near_the_digits_is_not_claimed():
    """Each number is within a unit of AᵀV, and none of them is AᵀV."""
    finding = only(marked(CONTEXT, {"Z": "2.1 3.5 / 2.1 3.5"}))
    assert (finding.verdict, finding.name, len(finding.cells)) == (Verdict.SLIP, "", 4)
    assert "do not follow from the numbers of the exercise" in finding.what
    assert finding.right_sum == "0.2×1 + 0.8×3 = 2.6"
    assert finding.remedy.startswith("Calculate them again")


def test_a_line_of_unrelated_numbers_has_no_cause():
    """4.6 for 4.4 would be one digit changed, 8.1 for 1.8 a digit swap, 7.4 is unrelated."""
    finding = only(marked(CONTEXT, {"Z": "7.4 4.6 / 8.1 9.9"}))
    assert (finding.verdict, finding.name, len(finding.cells)) == (Verdict.SLIP, "", 4)


# Slips of the pen


@pytest.mark.parametrize(
    ("text", "verdict", "name"),
    [
        ("0.27 0.37 / 0.88 0.12", Verdict.SLIP, "as if two digits were swapped"),  # 0.73
        ("0.27 7.3 / 0.88 0.12", Verdict.SLIP, "as if the decimal point were misplaced"),
        ("0.27 0.43 / 0.88 0.12", Verdict.SLIP, ""),  # a changed digit shows no cause: a weight is not copied
        ("0.27 -0.73 / 0.88 0.12", Verdict.SLIP, "as if the result had the other sign"),
    ],
)
def test_one_wrong_weight(text, verdict, name):
    """softmax(1, 2) = 0.27, 0.73; softmax(3, 1) = 0.88, 0.12."""
    problem = {**SCALED, "scale": "none", "W_Q": [[1, 2], [3, 1]]}
    finding = only(marked(problem, {"S": "1 2 / 3 1", "A": text}))
    assert (finding.verdict, finding.name) == (verdict, name)


def test_swapped_digits_are_shown_against_a_number_with_as_many_digits():
    """softmax(1, 2.72) = 0.152, 0.848: 0.58 has the digits of 0.85."""
    problem = {**SCALED, "scale": "none", "W_Q": [[1, 2.72], [3, 1]]}
    finding = only(marked(problem, {"S": "1 2.72 / 3 1", "A": "0.15 .58 / 0.88 0.12"}))
    place = "A (Self-attention), row 1, column 2"
    assert finding.what == f"{place}: you wrote .58, as if two digits were swapped; your own lines give 0.85."
    assert finding.remedy == "Compare the digits on paper with your calculation."
    assert "copied" not in finding.what


def test_a_sign_that_later_lines_do_not_have_was_copied_incorrectly():
    """Q = [[1, 2], [3, 1]] with −2 for 2; S = Q Kᵀ = 1×2 + 2×1 = 4 … was worked with the 2."""
    problem = {**SCALED, "scale": "none", "W_Q": [[1, 2], [3, 1]], "W_K": [[2, 1], [1, 3]]}
    report = marked(problem, {"Q": "1 -2 / 3 1", "K": "2 1 / 1 3", "S": "4 7 / 7 6"})
    finding = only(report)
    assert (finding.verdict, finding.name) == (Verdict.TRANSCRIPTION, "sign")
    assert verdicts(report)[2] == "S cc cc"


def test_a_wrong_sign_in_a_sum_is_a_slip_of_the_sum():
    """Q = X W_Q with X = [[1, 2], [3, −1]]: 1×1 + 2×2 = 5, written −3 = 1×1 − 2×2."""
    problem = {**SCALED, "X": [[1, 2], [3, -1]], "W_Q": [[1, 0], [2, 1]]}
    finding = only(marked(problem, {"Q": "-3 2 / 1 -1"}))
    assert (finding.verdict, finding.name) == (Verdict.SLIP, "as if the term 2×2 had the other sign")
    assert finding.student_sum == "1×1 + (-2×2) = -3"


def test_a_copied_number_can_have_more_digits_than_the_line_it_comes_from():
    """The masked scores are those of S′ = 2.1213, 3.5355, 2.8284, 4.9497; here the other half of the matrix is hidden."""
    problem = {**SCALED, "mask": "causal"}
    lines = {"S": "3 5 / 4 7", "S′": "2.12 3.54 / 2.83 4.95", "S″": "2.121 3.536 / -∞ 4.950"}
    report = marked(problem, lines)
    assert names(report) == ["mask transposed"]


# What was not written


def test_a_term_is_not_blamed_if_its_numbers_were_never_written():
    """S₁₂ = q₁k₂ = 5×3 + 2×4 = 23; 15 is the first product alone, but nobody wrote 2×4."""
    problem = {**SCALED, "scale": "none", "X": [[1, 2], [3, 1]], "W_Q": [[1, 0], [2, 1]], "W_K": [[1, 1], [0, 1]]}
    hidden = only(marked(problem, {"S": "11 15 / 8 19"}))
    assert (hidden.name, hidden.student_sum) == ("", "")
    assert hidden.what == "S (Self-attention), row 1, column 2: you wrote 15, but the right number is 23."
    shown = only(marked(problem, {"Q": "5 2 / 5 1", "K": "1 3 / 3 4", "S": "11 15 / 8 19"}))
    assert shown.name == "as if the term 2×4 were missing"
    assert "your own lines give 23" in shown.what


@pytest.mark.parametrize(
    ("lines", "num_cells", "sentence"),
    [
        ({"S": "1 2 3 / 3 1 4 / 2 2 4", "A": "0.9 0.1 0 / 0.88 0.12 0 / 0.11 0.11 0.79"}, 2, "a masked key must have weight 0"),
        ({"S": "1 2 3 / 3 1 4 / 2 2 4", "S″": "1 7 8 / 3 1 9 / 2 2 4"}, 3, "a masked score must be -∞"),
    ],
)  # fmt: skip
def test_numbers_of_masked_keys_are_one_finding(lines, num_cells, sentence):
    """Row 1 of the weights is 1, 0, 0; the masked scores of rows 1 and 2 are -∞."""
    problem = {
        "kind": "self-attention", "Q": [[1, 2], [3, 1], [2, 2]], "K": [[1, 0], [0, 1], [1, 1]],
        "V": [[1, 0], [0, 1], [2, 2]], "scale": "none", "mask": "causal", "layout": "rows",
    }  # fmt: skip
    finding = only(marked(problem, lines))
    assert (finding.verdict, finding.name, len(finding.cells)) == (Verdict.SLIP, "", num_cells)
    assert sentence in finding.what
    assert finding.remedy == "Set masked scores to -∞ before the softmax: masked keys then have weight 0."


def test_a_forgotten_temperature_is_corrected_with_the_number_of_the_question():
    """softmax(1, 2, 4) = 0.0420, 0.1142, 0.8438; with temperature 2 it is 0.1402, 0.2312, 0.6285."""
    problem = {"kind": "softmax", "scores": [[1, 2, 4]], "temperature": 2}
    finding = only(marked(problem, {"A": "0.0420 0.1142 0.8438"}))
    assert (finding.name, finding.remedy) == ("no scaling", "Divide every score by 2 before the softmax.")
    assert "the right number is 0.14024" in finding.what

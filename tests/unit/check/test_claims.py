"""A cause is claimed only if it gives the student's own digits; otherwise the line does not follow."""

import numpy as np
import pytest

from clearhead.check.claims import best_claim
from clearhead.check.compare import SheetComparison
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
    """1/(1 + e^(2/1.4)) = 0.1933 and 1/(1 + e^(3/1.4)) = 0.1050; with √2 0.1956 and 0.1070, which may be plausible."""
    report = marked(SCALED, {"S": "3 5 / 4 7", "A": "0.193 0.807 / 0.105 0.895"})
    assert set(names(report)) <= {"as if √2 were 1.4"}


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
    comparison = SheetComparison(graph, Placer(graph, working(SCALED, lines)).place().statements).run()
    claim = best_claim(comparison, wrong_line([comparison.judged[1]]))
    assert claim is not None
    assert (claim.name, claim.is_slip, int(claim.explained.sum())) == ("no scaling", False, 4)
    assert graph.records[claim.site].step.name == "scale"


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
    assert "do not follow from your line above" in finding.what
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
        ("0.27 0.37 / 0.88 0.12", Verdict.TRANSCRIPTION, "digit swap"),  # 0.73
        ("0.27 7.3 / 0.88 0.12", Verdict.TRANSCRIPTION, "decimal slip"),
        ("0.27 0.43 / 0.88 0.12", Verdict.SLIP, ""),  # a changed digit shows no cause: a weight is not copied
        ("0.27 -0.73 / 0.88 0.12", Verdict.SLIP, "as if the result had the other sign"),
    ],
)
def test_one_wrong_weight(text, verdict, name):
    """softmax(1, 2) = 0.27, 0.73; softmax(3, 1) = 0.88, 0.12."""
    problem = {**SCALED, "scale": "none", "W_Q": [[1, 2], [3, 1]]}
    finding = only(marked(problem, {"S": "1 2 / 3 1", "A": text}))
    assert (finding.verdict, finding.name) == (verdict, name)


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

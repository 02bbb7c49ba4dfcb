"""A question without a stated convention accepts the student's; if it states one, any other is a misconception."""

import pytest

from clearhead.check.compare import compare as compare_sheet
from clearhead.check.comparison import SheetInput
from clearhead.check.conventions import compare_by_best_convention
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.report_writer import ComparedWorking
from clearhead.check.working import Working
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import marked, notes, verdicts, working

UNIT = [[1, 0], [0, 1]]
# Q = [[1, 2], [3, 1]], K = [[1, 0], [0, 1]], V = [[1, 2], [3, 4]]; S = Q
ATTENTION = {"kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]]}
# What is not under test is stated, so that fewer conventions have to be tried
ABOUT_SCALE = {**ATTENTION, "layout": "rows", "mask": "none"}
ABOUT_NORMALISER = {**ATTENTION, "layout": "rows", "mask": "none"}
ABOUT_MASK = {**ATTENTION, "layout": "rows", "normaliser": "softmax"}
ABOUT_LAYOUT = {**ATTENTION, "scale": "sqrt(d_k)", "mask": "none"}
# by √d_k = √2: 0.7071 1.4142 / 2.1213 0.7071; weights 0.3302 0.6698 / 0.8044 0.1956
SCALED = {"A": "0.33 0.67 / 0.80 0.20", "Z": "2.34 3.34 / 1.39 2.39"}
UNSCALED = {"A": "0.27 0.73 / 0.88 0.12", "Z": "2.46 3.46 / 1.24 2.24"}
DIVIDED = {"A": "0.33 0.67 / 0.75 0.25", "Z": "2.33 3.33 / 1.50 2.50"}  # 1/3 2/3 / 3/4 1/4
CAUSAL = {"A": "1 0 / 0.80 0.20", "Z": "1 2 / 1.39 2.39"}
QUERIES = {"Q": "1 2 / 3 1", "K": "1 0 / 0 1", "V": "1 2 / 3 4", "S": "1 2 / 3 1"}


def said(report):
    return " ".join(notes(report, "convention"))


def test_the_default_convention_is_accepted_without_a_note():
    report = marked(ATTENTION, {**QUERIES, **SCALED})
    assert not report.has_error
    assert said(report) == ""


def test_an_unscaled_working_is_accepted_if_the_question_states_no_scale():
    report = marked(ABOUT_SCALE, {**QUERIES, **UNSCALED})
    assert not report.has_error, verdicts(report)
    assert "no scaling" in said(report)


def test_scores_divided_by_their_sum_are_accepted_if_the_question_states_no_normaliser():
    """Unscaled and scaled scores give the same shares, so either can be reported."""
    report = marked(ABOUT_NORMALISER, {**QUERIES, **DIVIDED})
    assert not report.has_error, verdicts(report)
    assert "divided by the sum of its row" in said(report)


def test_a_causal_mask_is_accepted_if_the_question_states_no_mask():
    report = marked(ABOUT_MASK, {**QUERIES, **CAUSAL})
    assert not report.has_error, verdicts(report)
    assert "causal mask" in said(report)


def test_tokens_as_columns_are_accepted_if_the_question_states_no_layout():
    """With tokens as columns Q = W_Q X: X = [[1, 1], [0, 1]] gives Q = [[1, 3], [3, 4]], not X W_Q = [[4, 3], [3, 1]]."""
    problem = {**ABOUT_LAYOUT, "X": [[1, 1], [0, 1]]}
    report = marked(problem, {"Q": "1 3 / 3 4", "K": "1 1 / 0 1", "V": "1 3 / 3 7"})
    assert report.layout == "columns", verdicts(report)
    assert not report.has_error
    assert "tokens as columns" in said(report)


@pytest.mark.parametrize(
    ("fixed", "lines", "name"),
    [
        ({"scale": "sqrt(d_k)"}, UNSCALED, "no scaling"),
        ({"scale": "none"}, {"A": "0.330 0.670 / 0.804 0.196"}, "scaled, but the question has no scaling"),
        ({"scale": "none", "normaliser": "softmax"}, DIVIDED, "no exp (divided by the sum)"),
    ],
)
def test_if_the_question_states_a_convention_another_one_is_a_misconception(fixed, lines, name):
    report = marked(
        {**ATTENTION, "mask": "none", "normaliser": "softmax", "layout": "rows", **fixed}, {**QUERIES, **lines}
    )
    named = [finding.name for finding in report.findings if finding.verdict.value == "misconception"]
    assert named == [name], verdicts(report)
    assert said(report) == ""


def test_a_requested_mask_that_was_not_applied_is_a_misconception():
    problem = {**ATTENTION, "scale": "none", "mask": "causal", "normaliser": "softmax", "layout": "rows"}
    report = marked(problem, {**QUERIES, **UNSCALED})
    named = [finding.name for finding in report.findings]
    assert "mask forgotten" in named, named


NORM = {"kind": "add-and-norm", "X": [[1, 3], [2, 6]], "epsilon": 0.00001}
# layer: rows ±1; batch: columns (1, 2) and (3, 6): ±1 too, with other signs: [[-1, -1], [1, 1]]


def test_batch_norm_is_accepted_if_the_question_states_no_norm_and_else_a_misconception():
    """Layer: each row is −1, 1. Batch: each column is −1, 1, so rows −1, −1 and 1, 1."""
    batch = {"N": "-1.00 -1.00 / 1.00 1.00"}
    silent = marked(NORM, batch)
    assert not silent.has_error, verdicts(silent)
    assert "batch norm" in said(silent)
    fixed = marked({**NORM, "norm": "layer"}, batch)
    assert [finding.name for finding in fixed.findings] == ["normalised over tokens"]


POSITIONS = {"kind": "positions", "d_model": 4, "positions": 2}


def test_the_odd_exponent_of_the_cosine_is_accepted_if_the_question_states_none():
    """pos 1: sin 1 = 0.8415; cos(1/10000^(1/4)) = cos 0.1 = 0.9950 instead of cos 1 = 0.5403;

    sin(1/100) = 0.0100; cos(1/10000^(3/4)) = cos 0.001 = 1.0000 instead of cos 0.01 = 0.9999(5). From position 2:
    cos 0.2 = 0.9801 instead of −0.4161.
    """
    problem = {**POSITIONS, "positions": 3}
    odd = {"P": "0 1 0 1 / 0.8415 0.9950 0.0100 1.0000 / 0.9093 0.9801 0.0200 1.0000"}
    silent = marked(problem, odd)
    assert not silent.has_error, verdicts(silent)
    assert "2i+1" in said(silent)
    fixed = marked({**problem, "formula": "sinusoidal"}, odd)
    assert fixed.has_error
    assert said(fixed) == ""


def test_one_slip_is_not_a_convention():
    """A₁₁ = 0.37 for 0.33: no convention explains one number, and the default stays."""
    report = marked(ABOUT_SCALE, {**QUERIES, "A": "0.37 0.67 / 0.80 0.20"})
    assert said(report) == ""
    assert len(report.findings) == 1


def test_one_number_that_another_convention_explains_is_not_enough_to_change_it():
    """0.88 is what unscaled scores give for A₂₁; one cell alone decides nothing, so the default stays and it is wrong."""
    report = marked(ABOUT_SCALE, {"S": "1 2 / 3 1", "A[2, 1]": "0.88"})
    assert said(report) == ""
    assert report.has_error


# A convention must not win because it has no place for the wrong line


def test_wrong_scaled_scores_are_not_removed_by_a_convention_without_scaling():
    """S is right. S′ must be 0.71 1.41 / 2.12 0.71; "no scaling" has no S′, so it explains none of the four cells."""
    report = marked(ABOUT_SCALE, {**QUERIES, "S'": "0.61 1.24 / 2.45 0.85"})
    assert said(report) == ""
    assert [line.symbol for line in report.lines] == ["Q", "K", "V", "S", "S′"]
    assert report.has_error
    assert report.earned < report.out_of


def test_wrong_scaled_scores_are_marked_even_if_the_weights_use_the_unscaled_ones():
    report = marked(ABOUT_SCALE, {**QUERIES, "S'": "0.61 1.24 / 2.45 0.85", **UNSCALED})
    assert said(report) == ""
    assert {report.lines[finding.line].symbol for finding in report.findings} >= {"S′"}


NORMED = {"kind": "add-and-norm", "X": [[1, 3], [2, 6]], "Y": [[1, 1], [2, 1]], "epsilon": 0.00001}


def test_a_wrong_norm_is_not_removed_by_a_convention_without_a_norm():
    """R = 2 4 / 4 7: the norm is -1 1 / -1 1, and every written number is wrong. R alone would be "no norm"."""
    report = marked(NORMED, {"R": "2 4 / 4 7", "N": "-0.25 0.62 / 1.41 0.33"})
    assert said(report) == ""
    assert [line.symbol for line in report.lines] == ["R", "N"]
    assert report.has_error


# Q = 1 2 / 3 1 / 4 3 and K = X = 1 0 / 0 1 / 1 1, so S = 1 2 3 / 3 1 4 / 4 3 7
MASKED = {
    **ATTENTION,
    "kind": "masked-self-attention",
    "X": [[1, 0], [0, 1], [1, 1]],
    "scale": "none",
    "layout": "rows",
}
MASKED_LINES = {"S": "1 2 3 / 3 1 4 / 4 3 7", "S''": "1 0 0 / 3 1 0 / 4 3 7"}


@pytest.mark.parametrize("weights", [{}, {"A": "0.58 0.21 0.21 / 0.84 0.11 0.04 / 0.05 0.02 0.94"}])
def test_masked_scores_of_0_are_a_misconception_and_not_a_division_by_the_sum(weights):
    """e/(e + 1 + 1) = 0.58: with 0 for −∞ a masked key keeps the weight of e⁰ = 1."""
    report = marked(MASKED, {**MASKED_LINES, **weights})
    assert said(report) == ""
    assert [finding.name for finding in report.findings] == ["mask with 0 instead of −∞"]


def test_masked_scores_of_0_are_right_if_the_weights_show_the_division():
    """Row 2: 3/4 and 1/4; row 3: 4/14, 3/14 and 7/14."""
    report = marked(MASKED, {**MASKED_LINES, "A": "1 0 0 / 0.75 0.25 0 / 0.29 0.21 0.5"})
    assert not report.has_error, verdicts(report)
    assert "divided by the sum of its row" in said(report)


def test_a_layout_in_which_no_line_has_its_shape_is_not_chosen():
    """X is 4 × 2 and W is 2 × 4, so tokens as columns would have scores of 2 × 2: 8 cells of the wrong shape, not 16."""
    problem = {
        "kind": "self-attention", "mask": "none", "scale": "none",
        "X": [[1, 0], [0, 1], [1, 1], [2, 1]], "W_Q": [[1, 2, 0, 1], [3, 1, 1, 0]],
        "W_K": [[1, 0, 0, 0], [0, 1, 0, 0]], "W_V": [[1, 2, 1, 0], [3, 4, 0, 1]],
    }  # fmt: skip
    wrong = "0.91 -0.33 0.72 -0.30 / 0.44 0.93 -0.31 -0.06 / 0.21 0.95 -0.66 0.50 / 0.93 0.44 -0.48 0.11"
    report = marked(problem, {"S": "1 2 3 4 / 3 1 4 7 / 4 3 7 11 / 5 5 10 15", "A": wrong})
    assert said(report) == ""
    assert report.layout == "rows"
    assert verdicts(report)[0] == "S cccc cccc cccc cccc"


def test_masked_scores_alone_show_that_a_mask_was_used():
    """The line has no place without a mask, so the other conventions are tried."""
    report = marked({**ABOUT_MASK, "scale": "none"}, {"S": "1 2 / 3 1", "S''": "1 -inf / 3 1"})
    assert verdicts(report) == ["S cc cc", "S″ cc cc"]
    assert "causal mask" in said(report)


def test_a_single_number_of_another_shape_shows_the_norm():
    """One variance for all four numbers of R = 2 4 / 4 7, mean 4.25: (5.0625 + 0.0625 + 0.0625 + 7.5625)/4 = 3.1875."""
    report = marked(NORMED, {"R": "2 4 / 4 7", "variance": "3.1875"})
    assert verdicts(report) == ["R cc cc", "σ² c"]
    assert "a norm over the entire matrix" in said(report)


def test_a_name_that_no_convention_knows_does_not_hide_the_convention():
    """ "Zed" has 9 cells and is unknown everywhere; the four weights still decide."""
    report = marked(ABOUT_SCALE, {**QUERIES, "Zed": "1 2 3 / 4 5 6 / 7 8 9", **UNSCALED})
    assert "no scaling" in said(report)
    assert not report.has_error


def test_a_convention_is_tried_only_if_the_question_does_not_state_it():
    """Each comparison of the wrong working counts; a question that states everything is compared once."""
    tried: list[object] = []

    def compare(attempt: Working) -> ComparedWorking:
        tried.append(attempt.problem)
        graph = Graph(solve(parse_problem(attempt.problem), Rounding()))
        placing = Placer(graph, attempt).place()
        return ComparedWorking(graph, placing, compare_sheet(SheetInput(graph, placing.statements)))

    fixed = {**ABOUT_SCALE, "scale": "sqrt(d_k)", "normaliser": "softmax"}
    compare_by_best_convention(working(fixed, {**QUERIES, **UNSCALED}), compare)
    assert tried == [fixed]
    tried.clear()
    best = compare_by_best_convention(working({**fixed, "scale": "none"}, {**QUERIES, **UNSCALED}), compare)
    assert (len(tried), best.num_wrong) == (1, 0)

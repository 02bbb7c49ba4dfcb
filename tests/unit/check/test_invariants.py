"""Where the inputs cannot be read, a line is still checked against what must hold for any input."""

import pytest

from clearhead import solve
from clearhead.check.comparison import SheetComparison, SheetInput
from clearhead.check.graph import Graph
from clearhead.check.invariants import broken_invariants
from clearhead.check.statement import JudgedStatement, make_statement
from clearhead.check.style import Style
from clearhead.check.verdict import Verdict
from clearhead.exercises.check.read.number import read_cell
from tests.unit.check.desk import letters, marked, roots

UNIT = [[1, 0], [0, 1]]
ATTENTION = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip


def last(problem, lines):
    report = marked(problem, lines)
    return letters(report.lines[-1]), report


def test_weights_that_do_not_sum_to_1_are_an_error():
    """0.51 + 0.80 = 1.31, and two cells of unit 0.01 allow only 0.02."""
    marks, report = last(ATTENTION, {"S": "a b / 3 1", "A": "0.51 0.80 / 0.88 0.12"})
    assert marks == "II cc"
    assert "1.31" in report.findings[0].what
    assert report.findings[0].verdict.value == "invariant violated"


@pytest.mark.parametrize("weights", ["0.51 0.50", "0.34 0.65", "0.01 0.98"])
def test_a_valid_row_of_weights_with_unknown_scores_is_not_checked(weights):
    """1.01, 0.99 and 0.99 are within two units of 1."""
    marks, report = last(ATTENTION, {"S": "a b / 3 1", "A": f"{weights} / 0.88 0.12"})
    assert marks == "uu cc"
    assert not report.has_error


def test_a_weight_above_1_or_below_0_is_an_error():
    marks, report = last(ATTENTION, {"S": "a b / 3 1", "A": "1.2 -0.2 / 0.88 0.12"})
    assert marks == "II cc"
    assert "between 0 and 1" in report.findings[0].what


def test_a_masked_key_has_weight_0():
    marks, report = last({**ATTENTION, "mask": "causal"}, {"S": "a b / 3 1", "A": "0.60 0.40 / 0.88 0.12"})
    assert marks == "uI cc"
    assert "masked" in report.findings[0].what


def test_an_output_is_between_the_smallest_and_the_largest_value_of_its_column_of_V():
    """Column 1 of V holds 1 and 3: 2.90 can be a mean of them, 4.50 cannot. Column 2 holds 2 and 4."""
    lines = {"V": "1 2 / 3 4", "A": "a b / 0.88 0.12"}
    assert last(ATTENTION, {**lines, "Z": "2.90 3.90 / 1.24 2.24"})[0] == "uu cc"
    marks, report = last(ATTENTION, {**lines, "Z": "4.50 3.46 / 1.24 2.24"})
    assert marks in ("Ic cc", "Iu cc")
    assert roots(report)[0].startswith("Z 1,1")


RECURRENT = {"kind": "recurrent", "X": [[1, 0], [0, 1]], "cell": {"W": UNIT, "U": UNIT, "b": [0, 0]}, "h0": [0, 0]}


def test_tanh_lies_between_minus_1_and_1():
    """Additive attention: T = tanh(W_h h + W_s s); the sum cannot be read."""
    problem = {
        "kind": "seq2seq-attention",
        "score": "additive",
        "h": UNIT,
        "s": [1, 2],
        "W_h": UNIT,
        "W_s": UNIT,
        "v": [1, 1],
        "layout": "rows",
    }
    report = marked(problem, {"W_h h": "a b / c d", "T": "0.90 1.30 / 0.76 0.99"})
    marks = letters(report.lines[-1])
    assert marks[1] == "I", marks
    assert "tanh must be between -1 and 1" in report.findings[0].what


def test_the_invariant_of_sine_and_cosine_is_not_used_if_their_inputs_are_known():
    """Positions are always known, so a wrong sine is a slip, not a broken invariant."""
    report = marked(
        {"kind": "positions", "d_model": 2, "positions": 2, "formula": "sinusoidal"}, {"P": "0 1 / 0.84 0.84"}
    )
    assert roots(report)[0].startswith("P 2,2")
    assert report.findings[0].verdict.value != "invariant violated"


@pytest.mark.parametrize(("text", "broken"), [("0 1 / 0.84 0.84", 1), ("0 1 / 0.84 0.54", 0), ("0 1 / 0.8 0.5", 0)])
def test_the_invariant_of_sine_and_cosine_is_used_if_their_inputs_are_unknown(text, broken):
    """0.84² + 0.84² = 1.41; 0.84² + 0.54² = 0.997 and 0.8² + 0.5² = 0.89 (within 0.2) are as they should be."""
    graph = Graph(solve({"kind": "positions", "d_model": 2, "positions": 2, "formula": "sinusoidal"}))
    cells = [[read_cell(number) for number in row.split()] for row in text.split(" / ")]
    statement = make_statement(0, 0, cells, Style(decimals=1), turned=False, is_telling=True)
    comparison = SheetComparison(SheetInput(graph, {0: [statement]}))
    judged = JudgedStatement(statement, [[Verdict.UNCHECKED] * 2 for _ in range(2)], graph.records[0].value)
    violations = broken_invariants(comparison, judged)
    assert [cells for _, cells in violations] == [((1, 0), (1, 1))] * broken
    assert int(judged.where(Verdict.INVARIANT).sum()) == 2 * broken


def test_a_normalised_row_has_mean_0():
    """The residual cannot be read; 1.00, 0.50 has mean 0.75."""
    problem = {
        "kind": "add-and-norm",
        "X": [[1, 2], [3, 5]],
        "Y": [[1, 1], [0, 1]],
        "norm": "layer",
        "epsilon": 0.001,
        "layout": "rows",
    }
    report = marked(problem, {"R": "a b / 3 6", "N": "1.00 0.50 / -1.00 1.00"})
    assert letters(report.lines[-1]).startswith("II"), letters(report.lines[-1])
    assert "mean 0" in report.findings[0].what

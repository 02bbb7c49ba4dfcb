"""What a person without a fault can reach, and what only a wrong number can be."""

import numpy as np

from clearhead.check.inner_image import with_inner_numbers
from clearhead.check.interval import Range
from clearhead.check.reach import Reached
from clearhead.check.statement import Statement
from clearhead.check.style import Style
from clearhead.check.verdict import Verdict
from tests.unit.check.desk import marked, verdicts

ATTENTION = {
    "kind": "self-attention", "Q": [[1, 2], [3, 1]], "K": [[1, 0], [0, 1]], "V": [[1, 2], [3, 4]],
    "scale": "sqrt(d_k)", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip


def statement_of(rows, unit):
    value = np.array(rows)
    units, nothing = np.full(value.shape, unit), np.zeros(value.shape, dtype=bool)
    texts = tuple(tuple(f"{number:g}" for number in row) for row in rows)
    return Statement(0, 0, value, units, units, nothing, texts, Style(decimals=2), nothing)


def test_a_wrong_answer_alone_is_an_error():
    """S′ = 0.7071 1.4142 / 2.1213 0.7071; A = 0.3302 0.6698 / 0.8044 0.1956; Z = 2.3395 3.3395 / 1.3911 2.3911."""
    assert verdicts(marked(ATTENTION, {"Z": "2.34 3.34 / 1.39 2.39"})) == ["Z cc cc"]
    assert verdicts(marked(ATTENTION, {"Z": "2.34 3.34 / 1.38 2.38"}))[0][2:4] == "cc", "1.38 from rounded weights"
    report = marked(ATTENTION, {"Z": "2.64 3.64 / 1.89 2.89"})
    assert set(verdicts(report)[0]) <= set("Z STM")
    assert report.exit_code == 1


def test_nonsense_alone_is_never_without_error():
    draw = np.random.default_rng(0)
    num_silent = 0
    for _ in range(20):
        numbers = draw.integers(-9, 10, size=(2, 2))
        report = marked(ATTENTION, {"Z": " / ".join(" ".join(map(str, row)) for row in numbers)})
        num_silent += report.exit_code == 0
    assert num_silent <= 1, "whole numbers can be right by chance"


def test_a_line_far_below_the_last_written_one_can_lack_working():
    """Only the output of a whole block is written: many lines are missing, and no choice of roundings decides."""
    block = {
        "kind": "encoder-block", "X": [[1, 2], [3, 1]], "norm": {"norm": "layer", "epsilon": 0}, "norm_place": "post",
        "self_attention": {"W_Q": [[1, 0], [0, 1]], "W_K": [[1, 1], [0, 1]], "W_V": [[1, 2], [0, 1]], "scale": "none"},
        "feed_forward": {"W_1": [[1, 1], [2, 0]], "W_2": [[1, 0], [1, 1]], "activation": "relu"},
    }  # fmt: skip
    report = marked(block, {"N₂": "-0.3 0.7 / 0.1 -0.2"})
    assert report.exit_code == 1
    assert {cell.verdict for line in report.lines for cell in line.marked} == {Verdict.UNSUPPORTED}


def test_inner_numbers_widen_a_weight_by_about_a_hundredth():
    scores = np.array([[1.23, 0.57, 0.91]])
    weights = np.exp(scores) / np.exp(scores).sum()
    inputs = {"scores": Range(scores, scores)}
    wide = with_inner_numbers("softmax", Range(weights, weights), inputs)
    assert np.all(wide.low < weights - 0.002)
    assert np.all(wide.high < weights + 0.02)
    finer = with_inner_numbers("softmax", Range(weights, weights), inputs, 0.001)
    assert np.all(finer.radius < wide.radius / 5)


def test_a_state_must_agree_with_the_accepted_cells_of_its_row():
    """States 0.25 0.35 0.40 and 0.30 0.30 0.40: with 0.35 and 0.40 accepted, 0.30 belongs to the other state."""
    statement = statement_of([[0.30, 0.35, 0.40]], unit=0.01)
    states = np.array([[[0.25, 0.35, 0.40]], [[0.30, 0.30, 0.40]]])
    nothing = np.zeros((1, 3), dtype=bool)
    reached = Reached(Range(states.min(0), states.max(0)), True, nothing, True, states)
    assert reached.agree(statement, nothing).tolist() == [[True, True, True]]
    assert reached.agree(statement, np.array([[False, True, True]])).tolist() == [[False, True, True]]


def test_a_number_is_far_only_if_it_is_clearly_outside():
    bounds = Range(np.array([[1.0]]), np.array([[2.0]]))
    reached = Reached(bounds, False, np.ones((1, 1), dtype=bool), True)
    assert not reached.is_far(statement_of([[2.2]], unit=0.1)).any()
    assert reached.is_far(statement_of([[2.5]], unit=0.1)).all()


def test_roundings_of_a_line_do_not_conspire():
    """A = 0.3302 0.6698 gives -3.7168, in full -3.7162; ranges around both weights, which may be cut, allow -3.7181."""
    problem = ATTENTION | {"V": [[7, -5], [-9, 8]]}
    lines = {"S′": "0.7071 1.4142 / 2.1213 0.7071", "A": "0.3302 0.6698 / 0.8044 0.1956"}
    for number, letter in (("-3.7168", "r"), ("-3.7162", "c"), ("-3.7180", "S")):
        report = marked(problem, lines | {"Z": f"{number} 3.7074 / 3.8704 -2.4572"})
        assert verdicts(report)[2] == f"Z {letter}r rr", number


def test_exponentials_may_have_two_decimals_whatever_their_size():
    """e^-3.2 = 0.0408, e^-2.5 = 0.0821, e^-3.9 = 0.0202: 0.04 0.08 0.02 with the sum 0.14, so 0.286 0.571 0.143."""
    problem = {"kind": "softmax", "scores": [-3.2, -2.5, -3.9]}
    assert verdicts(marked(problem, {"A": "0.285 0.574 0.141"})) == ["A ccc"]
    assert verdicts(marked(problem, {"A": "0.286 0.571 0.143"})) == ["A ppp"]
    assert "S" in verdicts(marked(problem, {"A": "0.296 0.561 0.143"}))[0]

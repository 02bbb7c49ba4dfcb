"""Workings of dense layers, output layers and multiplicative scores: their names, slips and misconceptions."""

import re
from typing import Any

import pytest

from clearhead.check.product_order import with_written_order
from clearhead.check.report import Report
from clearhead.check.verdict import Verdict
from tests.unit.check.desk import marked, verdicts, working

X = [[1, 2], [0.5, -1]]
W = [[0.5, -1, 0.2], [0.3, 0.4, -0.6]]
DENSE: dict[str, Any] = {"kind": "dense-layer", "X": X, "W": W, "b": [0.1, 0, -0.2], "activation": "sigmoid"}
Z = "1.2 -0.2 -1.2 / 0.05 -0.9 0.5"
Y = "0.77 0.45 0.23 / 0.51 0.29 0.62"


def names(report: Report) -> list[str]:
    return [finding.name for finding in report.findings]


@pytest.mark.parametrize("before", ["Z", "z", "pre-activation", "linear", "XW + b", "weighted sum"])
@pytest.mark.parametrize("after", ["Y", "y", "a", "A", "sigmoid", "output", "activation"])
def test_the_lines_of_a_dense_layer_have_many_names(before: str, after: str) -> None:
    report = marked(DENSE, {before: Z, after: Y})
    assert [re.sub("[cr]", "c", line) for line in verdicts(report)] == ["Z ccc ccc", "Y ccc ccc"]


def test_a_forgotten_bias_and_a_wrong_activation_are_named() -> None:
    # X W without b: 1.1, -0.2, -1.0 and -0.05, -0.9, 0.7
    report = marked(DENSE, {"Z": "1.1 -0.2 -1.0 / -0.05 -0.9 0.7", "Y": "0.75 0.45 0.27 / 0.49 0.29 0.67"})
    assert names(report) == ["bias forgotten"]
    assert report.lines[1].marks.accuracy == report.lines[1].marks.accuracy_of
    assert names(marked(DENSE, {"Z": Z, "Y": "1.2 0 0 / 0.05 0 0.5"})) == ["relu instead of sigmoid"]


def test_the_second_activation_of_a_feed_forward_network_is_marked() -> None:
    data = {"kind": "feed-forward", "X": [[1, -1]], "W_1": [[1, 0], [0, 2]], "W_2": [[2, 1], [0, 3]]}
    data |= {"output_activation": "softmax"}
    # F1 = [1, -2], relu [1, 0], F2 = [2, 1], e^2/(e^2 + e) = 0.731
    report = marked(data, {"F1": "1 -2", "relu": "1 0", "F2": "2 1", "softmax": "0.731 0.269"})
    assert verdicts(report) == ["F₁ cc", "F₁′ cc", "F₂ cc", "F₂′ cc"]
    report = marked(data, {"F1": "1 -2", "relu": "1 0", "F2": "2 1", "softmax": "0.667 0.333"})
    assert [finding.verdict for finding in report.findings] == [Verdict.MISCONCEPTION]


RECURRENT: dict[str, Any] = {
    "kind": "recurrent",
    "X": [[1, 0], [0, 1]],
    "cell": {"W": [[0.5, -0.3], [0.8, 0.2]], "U": [[0.1, 0.2], [0, 0.3]], "b": [0.1, 0]},
    "h0": [0, 0],
    "output": {"W": [[1, -2], [0.5, 1.5], [-1, 0]], "b": [0.1, 0, -0.1], "classes": ["good", "bad", "neutral"]},
}


@pytest.mark.parametrize("scores", ["logits", "scores", "W h + b"])
@pytest.mark.parametrize("result", ["p", "probabilities", "softmax", "prediction", "output"])
def test_the_output_layer_of_a_recurrent_network_is_marked(scores: str, result: str) -> None:
    # W h + b from h2 = [-0.01, 0.38]: -0.01 - 0.76 + 0.1 = -0.67, -0.005 + 0.57 = 0.565, 0.01 - 0.1 = -0.09
    report = marked(RECURRENT, {"h2": "-0.01 0.38", scores: "-0.67 0.565 -0.09", result: "0.16 0.55 0.29"})
    assert [line.symbol for line in report.lines] == ["h₂", "logits", "p"]
    assert not report.findings


def test_a_slip_in_the_logits_is_carried_forward() -> None:
    report = marked(RECURRENT, {"h2": "-0.01 0.38", "logits": "-0.67 0.965 -0.09", "p": "0.13 0.65 0.23"})
    assert [(finding.line, finding.cells) for finding in report.findings] == [(1, ((0, 1),))]
    assert verdicts(report)[2] == "p fff"


BILINEAR: dict[str, Any] = {
    "kind": "seq2seq-attention",
    "score": "multiplicative",
    "h": [[0.5, -0.2, 0.1], [0.0, 0.4, -0.3], [0.9, 0.3, 0.6]],
    "s": [0.3, -0.6],
    "W": [[0.2, -0.5, 0.7], [0.6, 0.1, -0.4]],
}
# sᵀW: 0.3*0.2 - 0.6*0.6 = -0.3, 0.3*(-0.5) - 0.6*0.1 = -0.21, 0.3*0.7 + 0.6*0.4 = 0.45
SCORES = "-0.063 -0.219 -0.063"


@pytest.mark.parametrize("name", ["sᵀW", "s^T W", "s^TW", "sTW", "sW", "s W", "W^T s", "$s^{T} W$"])
@pytest.mark.parametrize("stated", [{}, {"order": "s(Wh)"}, {"order": "(sW)h"}])
def test_a_score_can_be_worked_with_the_state_first(name: str, stated: dict[str, str]) -> None:
    report = marked(BILINEAR | stated, {name: "-0.30 -0.21 0.45", "e": SCORES})
    assert verdicts(report) == ["sᵀW ccc", "e ccc"]
    assert report.exit_code == 0


@pytest.mark.parametrize("stated", [{}, {"order": "(sW)h"}])
def test_a_score_can_still_be_worked_with_the_encoder_states_first(stated: dict[str, str]) -> None:
    report = marked(BILINEAR | stated, {"Wh": "0.27 0.24 / -0.41 0.16 / 0.45 0.33", "s^T W h": SCORES})
    assert verdicts(report) == ["Wh cc cc cc", "e ccc"]


def test_a_working_with_both_orders_keeps_the_order_of_the_question() -> None:
    lines = {"Wh": "0.27 0.24 / -0.41 0.16 / 0.45 0.33", "sᵀW": "-0.30 -0.21 0.45"}
    assert with_written_order(working(BILINEAR, lines)) == BILINEAR
    assert with_written_order(working(BILINEAR, {"sᵀW": lines["sᵀW"]})) == BILINEAR | {"order": "(sW)h"}


def test_what_follows_a_wrong_state_is_carried_forward() -> None:
    # with 0.54 for 0.45 the scores are -0.054, -0.246 and -0.009
    report = marked(BILINEAR, {"sᵀW": "-0.30 -0.21 0.54", "e": "-0.054 -0.246 -0.009"})
    assert verdicts(report) == ["sᵀW ccS", "e fff"]


def test_the_weights_on_the_wrong_side_are_named_with_the_state_first() -> None:
    square = BILINEAR | {"h": [[0.5, 0.1], [0.0, 0.4]], "W": [[0.2, 0.7], [0.6, -0.4]]}
    # W s instead of sᵀW: 0.06 - 0.42 = -0.36, 0.18 + 0.24 = 0.42
    report = marked(square, {"sᵀW": "-0.36 0.42"})
    assert names(report) == ["W on the wrong side in the multiplicative score"]


def test_the_order_is_followed_in_columns_and_in_a_part() -> None:
    turned = BILINEAR | {"layout": "columns", "h": [[0.5, 0.0, 0.9], [-0.2, 0.4, 0.3], [0.1, -0.3, 0.6]]}
    assert verdicts(marked(turned, {"W^T s": "-0.30 / -0.21 / 0.45"})) == ["Wᵀs c c c"]
    parts = {"parts": [{"kind": "positions", "d_model": 2, "positions": 1}, BILINEAR]}
    report = marked(parts, {"part.1: sᵀW": "-0.30 -0.21 0.45", "part.1: e": SCORES})
    assert verdicts(report) == ["sᵀW ccc", "e ccc"]


STEP: dict[str, Any] = {
    "kind": "decoder-block",
    "X": [[0.4, 0.8]],
    "norm": "none",
    "self_attention": {
        "scale": "none",
        "W_Q": [[0.6, -0.2], [0.1, 0.9]],
        "W_K": [[0.5, 0.3], [-0.4, 0.8]],
        "W_V": [[1, 0], [0, 1]],
        "cached_K": [[0.5, 0.3], [0.1, 0.7]],
        "cached_V": [[1, 0], [0.2, 0.9]],
    },
    "cross_attention": {"scale": "none", "W_Q": [[1, 0], [0, 1]], "K": [[1, 0], [0, 1]], "V": [[2, 0], [0, 4]]},
}
# q = [0.24 + 0.08, -0.08 + 0.72], k = [0.2 - 0.32, 0.12 + 0.64], v = [0.4, 0.8]; scores 0.352, 0.48, 0.448
OWN = {"self: Q": "0.32 0.64", "self: K": "-0.12 0.76", "self: V": "0.4 0.8", "self: scores": "0.352 0.48 0.448"}


def test_a_decoder_step_from_caches_is_marked_through_both_attentions() -> None:
    # weights 0.3085 0.3506 0.3408, Z = 0.5149 0.5882, R1 = 0.9149 1.3882; scores of the memory are R1 itself
    lines = {"self: weights": "0.309 0.351 0.341", "self: Z": "0.515 0.588", "R1": "0.915 1.388"}
    # e^0.9149 / (e^0.9149 + e^1.3882) = 0.3838; Z = 0.7676 2.4647, R2 = 1.6825 3.8529
    lines |= {"cross: weights": "0.384 0.616", "cross: Z": "0.768 2.464", "R2": "1.683 3.852"}
    report = marked(STEP, OWN | lines)
    assert not report.findings
    assert [line.symbol for line in report.lines][:4] == ["Q", "K_new", "V_new", "S"]
    assert report.exit_code == 0


def test_the_key_of_the_new_token_is_marked_under_the_name_of_all_keys() -> None:
    # 0.64×0.36 - 0.32×0.12 = 0.192: the score follows from the wrong key
    report = marked(STEP, OWN | {"self: K": "-0.12 0.36", "self: scores": "0.352 0.48 0.192"})
    assert [(report.lines[finding.line].symbol, finding.cells) for finding in report.findings] == [("K_new", ((0, 1),))]
    assert "S ccf" in verdicts(report)


def test_all_keys_are_marked_where_the_cached_ones_are_written_too() -> None:
    report = marked(STEP, {"self: K": "0.5 0.3 / 0.1 0.7 / -0.12 0.76", "self: scores": "0.352 0.48 0.448"})
    assert verdicts(report) == ["K cc cc cc", "S ccc"]

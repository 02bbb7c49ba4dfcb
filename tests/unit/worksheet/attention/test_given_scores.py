"""Attention from given scores, and attention without values."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.attention.given_scores import ScoredAttentionLayer
from tests.unit.check.desk import marked, verdicts

LOG3 = math.log(3.0)
SCORES: dict[str, Any] = {"kind": "self-attention", "scores": [[0, LOG3], [LOG3, 0]], "V": [[4, 0], [0, 8]]}
QK: dict[str, Any] = {"kind": "self-attention", "Q": [[1, 2], [0, 1]], "K": [[1, 0], [1, 1]]}


def symbols(problem: dict[str, Any]) -> list[str]:
    return [record.symbol for record in solve(problem).trace]


def test_scores_are_used_as_they_are_unless_a_scale_or_d_k_is_given() -> None:
    assert symbols(SCORES) == ["A", "Z"]
    assert solve(SCORES).value("Z") == pytest.approx(np.array([[1, 6], [3, 2]]))
    assert symbols({**SCORES, "d_k": 4}) == ["S′", "A", "Z"]
    assert solve({**SCORES, "d_k": 4}).value("S′")[0, 1] == pytest.approx(LOG3 / 2)
    assert solve({**SCORES, "scale": 5}).value("S′")[0, 1] == pytest.approx(LOG3 / 5)
    assert symbols({**SCORES, "scale": "none"}) == ["A", "Z"]
    assert "scores" in ScoredAttentionLayer.model_fields


def test_mask_values_from_x_and_output_weights() -> None:
    problem = {
        **SCORES,
        "kind": "masked-self-attention",
        "V": None,
        "X": [[1], [2]],
        "W_V": [[1, 1]],
        "W_O": [[1], [1]],
    }
    sheet = solve({key: value for key, value in problem.items() if value is not None})
    assert [record.symbol for record in sheet.trace] == ["V", "S″", "A", "Z", "O"]
    assert sheet.value("O")[0, 0] == pytest.approx(2.0), "the first token attends to itself alone"
    cross = {
        "kind": "cross-attention",
        "S": [[0, LOG3, 0]],
        "V": [[5], [5], [5]],
        "tokens": ["go"],
        "source_tokens": ["a", "b", "c"],
    }
    assert solve(cross).value("Z").tolist() == [[5.0]]
    assert solve({**SCORES, "layout": "columns"}).value("Y").shape == (2, 2)


def test_without_values_the_weights_are_the_answer() -> None:
    assert symbols({key: value for key, value in SCORES.items() if key != "V"}) == ["A"]
    sheet = solve(QK)
    assert [record.symbol for record in sheet.trace] == ["S", "S′", "A"]
    assert sheet.warnings == ("self_attention: no values V are given, so the weights are the answer.",)
    many = {**QK, "kind": "multi-head-attention", "num_heads": 2}
    assert symbols(many)[-1] == "A₂"
    assert "Z₁" not in symbols(many)
    assert symbols({**QK, "kind": "cross-attention"}) == ["S", "S′", "A"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Q": [[1], [2]]}, "both scores and Q are given. Remove one of them."),
        ({"heads": [{"Q": [[1]], "K": [[1]], "V": [[1]]}]}, "both scores and heads are given"),
        ({"scale": "sqrt(d_k)"}, "needs d_k, because only the scores are given"),
        ({"scale": "sqrt(d_model)"}, "d_model is not known"),
        ({"scale": 2, "d_k": 4}, "d_k is not used with scale 2"),
        ({"V": [[1]]}, "the scores are for 2 keys, but there are 1 values"),
        ({"W_V": [[1]]}, "both V and W_V are given"),
        ({"V": None, "W_V": [[1]]}, "W_V needs input tokens"),
        ({"V": None, "W_O": [[1]]}, "W_O needs V, which is not given"),
        ({"W_O": [[1]]}, "Z is 2 wide and W_O is 1 × 1"),
        ({"tokens": ["a", "b", "c"]}, "tokens has 3 names, but scores is 2 × 2"),
        ({"mask": [[1]]}, "mask: explicit is 1 × 1"),
        ({"kind": "multi-head-attention", "num_heads": 2}, "cannot start from scores"),
        ({"scores": None, "Q": [[1]], "K": [[1]], "V": [[1]], "d_k": 1}, "d_k is used only with scores"),
        ({"kind": "cross-attention", "source_tokens": ["a"]}, "source_tokens has 1 name, but scores has 2 tokens"),
    ],
)
def test_what_does_not_fit_is_explained(change: dict[str, Any], message: str) -> None:
    problem = {key: value for key, value in {**SCORES, **change}.items() if value is not None}
    with pytest.raises(ProblemError, match=message):
        solve(problem)


def test_a_block_still_needs_its_values() -> None:
    block = {"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]]}}
    with pytest.raises(ProblemError, match="W_V is missing: give the weights W_V, or the matrix V"):
        solve(block)


def test_workings_from_scores_and_without_values_are_marked() -> None:
    """Scores 4 and 2 over √4 are 2 and 1: e/(e + 1) = 0.731 and 0.269; the output is 0.731×4 = 2.924 and 0.269×8 = 2.152."""
    problem = {**SCORES, "scores": [[4, 2]], "d_k": 4}
    lines = {"scaled scores": "2 1", "weights": "0.731 0.269", "output": "2.924 2.152"}
    assert verdicts(marked(problem, lines)) == ["S′ cc", "A cc", "Z cc"]
    assert verdicts(marked(problem, {**lines, "weights": "0.731 0.296", "output": "2.924 2.368"})) == [
        "S′ cc",
        "A cS",
        "Z ff",
    ]
    unscaled = marked(problem, {"scaled scores": "4 2", "weights": "0.881 0.119"})
    assert unscaled.findings[0].name == "no scaling"
    # e^0.707 = 2.028 and e^2.121 = 8.342
    assert verdicts(marked(QK, {"S": "1 3 / 0 1", "answer": "0.196 0.804 / 0.330 0.670"})) == ["S cc cc", "A cc cc"]

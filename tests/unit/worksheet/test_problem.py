"""Problems: built from data, all mistakes together."""

import pytest

from clearhead.errors import ProblemError
from clearhead.worksheet.kinds.add_norm import AddAndNormProblem
from clearhead.worksheet.kinds.attention import SelfAttentionProblem
from clearhead.worksheet.problem import build_problem, keys_in_order, shorten


def test_keys_come_in_the_order_in_which_people_think_of_them() -> None:
    keys = keys_in_order(SelfAttentionProblem)
    assert keys[:3] == ["X", "embedding", "tokens"]
    assert keys[-4:] == ["title", "layout", "rounding", "show"]
    assert keys.index("W_Q") < keys.index("W_K") < keys.index("scale") < keys.index("num_heads")
    assert "kind" not in keys


def test_mistakes_of_type_and_of_shape_are_reported_together() -> None:
    with pytest.raises(ProblemError) as wrong:
        build_problem(AddAndNormProblem, {"X": [[1, 2]], "gain": [1], "norm": "lyer"})
    assert list(wrong.value.mistakes) == [
        "norm = 'lyer' is not a choice. Did you mean 'layer'? Choices: layer, batch, all, rms, none.",
        "gain has 1 number, but tokens are 2 wide. Give gain 2 numbers.",
    ]


def test_a_misspelt_key_is_not_reported_as_missing_too() -> None:
    weights = {name: [[1, 0], [0, 1]] for name in ("WQ", "W_K", "W_V")}
    with pytest.raises(ProblemError) as wrong:
        build_problem(SelfAttentionProblem, {"X": [[1, 2]]} | weights)
    assert len(wrong.value.mistakes) == 1
    assert wrong.value.mistakes[0].startswith("'WQ' is not a key of self-attention. Did you mean 'W_Q'?")
    with pytest.raises(ProblemError) as wrong:  # a required key
        build_problem(AddAndNormProblem, {"x": [[1, 2]]})
    assert [sentence.partition(".")[0] for sentence in wrong.value.mistakes] == ["'x' is not a key of add-and-norm"]


def test_a_key_that_is_given_is_checked_beside_a_similar_unknown_one() -> None:
    weights = {name: [[1, 0], [0, 1]] for name in ("WQ", "W_K", "W_V")}
    with pytest.raises(ProblemError) as wrong:
        build_problem(SelfAttentionProblem, {"X": [[1, 2]], "W_Q": [[1]]} | weights)
    assert len(wrong.value.mistakes) == 2
    assert wrong.value.mistakes[1].startswith("X is 1 × 2 and W_Q is 1 × 1")


def test_a_good_problem_is_built_with_its_defaults() -> None:
    problem = build_problem(AddAndNormProblem, {"X": [[1, 2]]})
    assert (problem.kind, problem.layout, problem.title) == ("add-and-norm", "rows", "")


def test_a_long_value_is_shortened() -> None:
    assert shorten("short") == "'short'"
    assert len(shorten("x" * 99)) == 48
    assert shorten([1] * 99).endswith("…")

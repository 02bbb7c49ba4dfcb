"""Add and normalise against plain Python: layer, batch and all, with padding."""

import math

import pytest

from clearhead import solve
from clearhead.worksheet.kinds.add_norm import AddAndNormProblem
from tests.golden.by_hand import normalised, plus, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import numbers, with_tokens_as_columns


@pytest.mark.parametrize("place", ["inside", "outside"])
def test_each_norm_with_gain_shift_and_epsilon_in_either_place(place: str) -> None:
    x, gain, shift, epsilon = numbers(5, 3), numbers(3, seed=8), numbers(3, seed=9), 0.25
    y = numbers(5, 3, seed=10)
    summed = plus(x, y)

    def norm(group: list[float]) -> list[float]:
        if place == "inside":
            return normalised(group, epsilon)
        mean = math.fsum(group) / len(group)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in group) / len(group))
        return [(v - mean) / (deviation + epsilon) for v in group]

    flat = norm([v for row in summed for v in row])
    expected = {
        "layer": [norm(row) for row in summed],
        "batch": transpose([norm(column) for column in transpose(summed)]),
        "all": [flat[i * 3 : i * 3 + 3] for i in range(5)],
    }
    for kind, values in expected.items():
        data = {"kind": "add-and-norm", "X": x, "Y": y, "norm": kind, "epsilon": epsilon, "epsilon_place": place}
        data |= {"gain": gain, "shift": shift}
        wanted = [[g * v + s for g, v, s in zip(gain, row, shift, strict=True)] for row in values]
        assert_close(solve(data).answer, wanted)
        assert_close(solve(with_tokens_as_columns(data)).answer, transpose(wanted))


def test_padding_counts_in_a_norm_or_does_not() -> None:
    x = [[1.0, 2.0], [3.0, 6.0], [0.0, 0.0]]
    data = {"kind": "add-and-norm", "X": x, "norm": "all", "padding": 1}
    assert_close(solve(data).value("μ"), [[3.0]])
    assert_close(solve(data | {"count_padding": True}).value("μ"), [[2.0]])
    assert_close(solve(data | {"norm": "batch"}).value("μ"), [[2.0, 4.0]])


def test_zero_variance_is_no_trouble_with_an_epsilon() -> None:
    assert solve({"kind": "add-and-norm", "X": [[3, 3]]}).answer.tolist() == [[0.0, 0.0]]


def test_a_sum_and_its_norm_by_hand() -> None:
    problem = AddAndNormProblem.model_validate({"X": [[1, 3]], "Y": [[1, 1]], "epsilon": 0})
    # 2 and 4 have mean 3 and variance 1.
    assert solve(problem).answer.tolist() == [[-1.0, 1.0]]
    assert [record.step.name for record in solve(problem).trace] == ["add", "mean", "variance", "normalise"]

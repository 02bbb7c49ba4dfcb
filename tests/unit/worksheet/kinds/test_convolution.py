"""A 1-D convolution against plain Python, with every padding."""

import math

import pytest

from clearhead import solve
from clearhead.worksheet.kinds.convolution import ConvolutionProblem
from tests.golden.by_hand import transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import TOKENS, WIDTH
from tests.unit.worksheet.random_problems import numbers


@pytest.mark.parametrize(("padding", "first", "count"), [("same", -1, 5), ("causal", -2, 5), ("valid", 0, 3)])
def test_a_convolution_slides_its_filter(padding: str, first: int, count: int) -> None:
    x, taps, b = numbers(TOKENS, WIDTH), [numbers(WIDTH, 2, seed=n) for n in range(3)], numbers(2, seed=9)
    expected = [
        [
            b[f]
            + math.fsum(
                x[t + first + k][d] * taps[k][d][f]
                for k in range(3)
                if 0 <= t + first + k < TOKENS
                for d in range(WIDTH)
            )
            for f in range(2)
        ]
        for t in range(count)
    ]
    data = {"kind": "convolution", "X": x, "taps": taps, "b": b, "padding": padding}
    assert_close(solve(data).answer, expected)
    over = data | {"layout": "columns", "X": transpose(x), "taps": [transpose(tap) for tap in taps]}
    assert_close(solve(over).answer, transpose(expected))


def test_a_causal_filter_by_hand() -> None:
    fields = {"X": [[1], [2], [3]], "taps": [[[1]], [[10]], [[100]]], "padding": "causal"}
    # The last tap is on the token itself: 100, 10 + 200, 1 + 20 + 300.
    assert solve(ConvolutionProblem.model_validate(fields)).answer.tolist() == [[100.0], [210.0], [321.0]]

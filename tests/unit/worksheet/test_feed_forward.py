"""The feed-forward network against plain Python: its activations, and the same as convolutions."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import Rounding, solve
from clearhead.worksheet.feed_forward import FeedForwardLayer
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.shapes import Shapes
from tests.golden.by_hand import transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import TOKENS, WIDTH, network, random_network
from tests.unit.worksheet.random_problems import numbers, with_tokens_as_columns


def test_feed_forward_and_the_same_as_convolutions() -> None:
    layer = random_network(WIDTH, 1)
    x = numbers(TOKENS, WIDTH)
    for is_convolution in (False, True):
        data = {"kind": "feed-forward", "X": x, **layer, "as_convolution": is_convolution}
        assert_close(solve(data).answer, network(x, layer))
        assert_close(solve(with_tokens_as_columns(data)).answer, transpose(network(x, layer)))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("gelu", lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2)))),
        ("silu", lambda v: v / (1 + math.exp(-v))),
        ("sigmoid", lambda v: 1 / (1 + math.exp(-v))),
        ("tanh", math.tanh),
    ],
)
def test_every_activation_is_the_function_of_its_name(name: str, function: Any) -> None:
    x = [[-3.0, -0.5, 0.0, 2.0]]
    data = {"kind": "feed-forward", "X": x, "W_1": np.eye(4), "W_2": np.eye(4), "activation": name}
    assert_close(solve(data).answer, [[function(v) for v in x[0]]])


def test_two_products_with_relu_between_them_by_hand() -> None:
    layer = FeedForwardLayer.model_validate(
        {"W_1": [[1, 0, 1], [0, 1, 1]], "b_1": [0, 1, 0], "W_2": [[2], [3], [5]], "b_2": [0.5]}
    )
    pen = Pen("rows", Rounding())
    # [1 -2] W_1 + b_1 = [1 -1 -1], of which relu leaves [1 0 0]; times W_2 that is 2, and 0.5 more.
    assert layer.work_layer(pen, np.array([[1.0, -2.0]])).tolist() == [[2.5]]
    assert [record.symbol for record in pen.finish()] == ["F₁", "F₁′", "F₂"]


def test_weights_that_do_not_follow_each_other_are_refused() -> None:
    layer = FeedForwardLayer.model_validate({"W_1": [[1, 0, 1]] * 2, "W_2": [[2], [3]], "b_2": [1, 2]})
    shapes = Shapes("rows")
    layer.layer_mistakes(shapes, "X", 5, 2)
    assert [mistake.sentence for mistake in shapes.mistakes] == [
        "the hidden layer is 3 wide and W_2 is 2 × 1, so the hidden layer W_2 cannot be multiplied. "
        "Give W_2 3 rows, or the hidden layer 2 columns.",
        "b_2 has 2 numbers, but W_2 is 2 × 1. Give b_2 1 number.",
    ]

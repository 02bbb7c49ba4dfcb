"""The feed-forward network against plain Python: its activations, and the same as convolutions."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import solve
from tests.golden.by_hand import transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import TOKENS, WIDTH, network, random_network
from tests.unit.worksheet.random_problems import numbers, turned


def test_feed_forward_and_the_same_as_convolutions() -> None:
    layer = random_network(WIDTH, 1)
    x = numbers(TOKENS, WIDTH)
    for is_convolution in (False, True):
        data = {"kind": "feed-forward", "X": x, **layer, "as_convolution": is_convolution}
        assert_close(solve(data).answer, network(x, layer))
        assert_close(solve(turned(data)).answer, transpose(network(x, layer)))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("gelu", lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2)))),
        ("silu", lambda v: v / (1 + math.exp(-v))),
        ("sigmoid", lambda v: 1 / (1 + math.exp(-v))),
        ("tanh", math.tanh),
    ],
)
def test_every_activation_is_what_its_name_says(name: str, function: Any) -> None:
    x = [[-3.0, -0.5, 0.0, 2.0]]
    data = {"kind": "feed-forward", "X": x, "W_1": np.eye(4), "W_2": np.eye(4), "activation": name}
    assert_close(solve(data).answer, [[function(v) for v in x[0]]])

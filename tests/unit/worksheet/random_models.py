"""Random layers and a small random Transformer, with the same layers in plain Python."""

import math
from typing import Any

from tests.golden.by_hand import attention, normalised, plus, times
from tests.unit.worksheet.random_problems import numbers

Matrix = list[list[float]]
TOKENS, WIDTH, INNER = 5, 3, 7


def network(x: Matrix, layer: dict[str, Any]) -> Matrix:
    inner = plus(times(x, layer["W_1"]), [layer["b_1"]] * len(x))
    bent = [[max(0.0, v) for v in row] for row in inner]
    return plus(times(bent, layer["W_2"]), [layer["b_2"]] * len(x))


def random_network(width: int, seed: int) -> dict[str, Any]:
    return {
        "W_1": numbers(width, INNER, seed=seed),
        "b_1": numbers(INNER, seed=seed + 1),
        "W_2": numbers(INNER, width, seed=seed + 2),
        "b_2": numbers(width, seed=seed + 3),
    }


def random_attention(width: int, seed: int, source: int | None = None) -> dict[str, Any]:
    other = source or width
    shapes = {"W_Q": (width, 2), "W_K": (other, 2), "W_V": (other, width)}
    return {name: numbers(*shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())}


def attend(x: Matrix, y: Matrix, layer: dict[str, Any], is_causal: bool = False) -> Matrix:
    q, k, v = times(x, layer["W_Q"]), times(y, layer["W_K"]), times(y, layer["W_V"])
    return attention(q, k, v, math.sqrt(2), is_causal)


def norm(x: Matrix) -> Matrix:
    return [normalised(row, 1e-5) for row in x]


def small_model(seed: int = 0, **changes: Any) -> dict[str, Any]:
    words = ["<s>", "uno", "dos", "</s>"]
    return {
        "kind": "transformer",
        "source": {"X": numbers(2, 5, seed=seed)},
        "encoder": [{"self_attention": random_attention(5, 40), "feed_forward": random_network(5, 50)}] * 2,
        "target_embedding": dict(zip(words, numbers(4, WIDTH, seed=seed + 60), strict=True)),
        "target_position": "sinusoidal",
        "decoder": [
            {
                "self_attention": random_attention(WIDTH, 70),
                "cross_attention": random_attention(WIDTH, 80, 5),
                "feed_forward": random_network(WIDTH, 90),
            }
        ],
        "W_out": numbers(WIDTH, 4, seed=100),
        "b_out": numbers(4, seed=101),
        "start": "<s>",
        "end": "</s>",
        **changes,
    }

"""Random problems at prime sizes, and the same with tokens as columns."""

from typing import Any

import numpy as np

from clearhead import solve
from tests.golden.by_hand import times, transpose

TOKENS, WIDTH, HEAD, VALUE, SOURCE, SOURCE_WIDTH = 5, 3, 2, 7, 11, 13


def numbers(*shape: int, seed: int = 0) -> list[Any]:
    values: list[Any] = np.random.default_rng([seed, *shape]).normal(size=shape).round(3).tolist()
    return values


X = numbers(TOKENS, WIDTH)
W_Q, W_K, W_V = numbers(WIDTH, HEAD, seed=1), numbers(WIDTH, HEAD, seed=2), numbers(WIDTH, VALUE, seed=3)
SELF = {"kind": "self-attention", "X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
Q, K, V = times(X, W_Q), times(X, W_K), times(X, W_V)


def answer(**changes: Any) -> np.ndarray:
    return solve(SELF | changes).answer


def with_tokens_as_columns(problem: dict[str, Any]) -> dict[str, Any]:
    """Return the problem with every matrix transposed, for tokens as columns."""

    def transposed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: transposed(element) for key, element in value.items()}
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return [transposed(element) for element in value]
        return transpose(value) if isinstance(value, list) and isinstance(value[0], list) else value

    return {key: transposed(value) for key, value in problem.items()} | {"layout": "columns"}

"""Scores of hypotheses, the upper bound of their continuations, and the pool of finished ones."""

import math

from clearhead.decoding.search.hypothesis import Hypothesis, Pool, best_attainable, normalised


def test_no_continuation_exceeds_the_bound() -> None:
    for alpha in (0.0, 0.5, 1.0, 3.0):
        bound = best_attainable(-2.5, 4, 9, alpha)
        for length in range(5, 10):
            for more in (0.0, -0.1, -3.0):
                assert normalised(-2.5 + more, length, alpha) <= bound
        assert bound == normalised(-2.5, 9, alpha), "and it can be reached"


def test_a_pool_keeps_the_best_and_prefers_the_earlier_of_equals() -> None:
    pool = Pool(2)
    first, second, third = (
        Hypothesis((token,), (-1.0,), score, True) for token, score in ((7, -1.0), (8, -2.0), (9, -1.0))
    )
    assert pool.nth_score(1) == -math.inf
    assert pool.add(second) is None
    assert pool.would_take(-9.0)
    assert pool.add(first) is None
    assert not pool.would_take(-2.0)
    assert pool.add(third) == second
    assert pool.best == [first, third]
    assert pool.nth_score(2) == -1.0

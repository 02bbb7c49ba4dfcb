"""What must hold of attention whatever the numbers."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clearhead import Worksheet, solve
from clearhead.worksheet.reference import softmax
from tests.tolerances import assert_close

FINITE = st.floats(-1e3, 1e3, allow_subnormal=False)


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Self-attention of one to five tokens, from Q, K and V, at any widths."""
    tokens, width, value = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    small = st.floats(-8, 8, allow_subnormal=False)
    shapes = {"Q": (tokens, width), "K": (tokens, width), "V": (tokens, value)}
    data: dict[str, Any] = {name: draw(arrays(np.float64, shape, elements=small)) for name, shape in shapes.items()}
    return {"kind": "self-attention", "scale": draw(st.sampled_from(["none", "sqrt(d_k)", 3.0])), **data}


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 7)), elements=FINITE),
    st.sampled_from([None, 2.0, 10.0]),
)
def test_softmax_rows_sum_to_one_and_lie_between_zero_and_one(scores: np.ndarray, base: float | None) -> None:
    weights = softmax(scores, base)
    assert_close(weights.sum(axis=1), np.ones(len(scores)))
    assert np.all((weights >= 0) & (weights <= 1))


@given(arrays(np.float64, (3, 5), elements=FINITE), st.integers(-1000, 1000))
def test_softmax_does_not_change_when_a_row_is_shifted(scores: np.ndarray, shift: int) -> None:
    scores = np.round(scores, 3)  # so that adding and taking away the shift loses no digits that matter
    np.testing.assert_allclose(softmax(scores + shift), softmax(scores), rtol=1e-9, atol=1e-12)


@given(problems())
def test_outputs_lie_in_the_hull_of_the_values(problem: dict[str, Any]) -> None:
    v, answer = problem["V"], solve(problem).answer
    assert np.all(answer >= v.min(axis=0) - 1e-9)
    assert np.all(answer <= v.max(axis=0) + 1e-9)


@given(problems(), st.data())
def test_causal_rows_ignore_the_future(problem: dict[str, Any], data: st.DataObject) -> None:
    tokens = len(problem["Q"])
    here = data.draw(st.integers(0, tokens - 1))
    changed = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in problem.items()}
    for name in ("K", "V"):
        changed[name][here + 1 :] += 1.5
    before, after = (solve(variant | {"mask": "causal"}).answer for variant in (problem, changed))
    assert_close(before[: here + 1], after[: here + 1])


@given(problems(), st.randoms(use_true_random=False))
def test_shuffling_the_tokens_shuffles_the_outputs(problem: dict[str, Any], random: Any) -> None:
    order = list(range(len(problem["Q"])))
    random.shuffle(order)
    shuffled = {key: value[order] if isinstance(value, np.ndarray) else value for key, value in problem.items()}
    assert_close(solve(shuffled).answer, solve(problem).answer[order])


@given(problems(), st.booleans())
def test_both_layouts_agree(problem: dict[str, Any], is_causal: bool) -> None:
    problem = problem | {"mask": "causal" if is_causal else "none"}
    over = {key: value.T if isinstance(value, np.ndarray) else value for key, value in problem.items()}
    assert_close(solve(over | {"layout": "columns"}).answer.T, solve(problem).answer)


@given(problems())
@settings(max_examples=30)
def test_json_keeps_every_bit(problem: dict[str, Any]) -> None:
    sheet = solve(problem | {"mask": "causal"})
    assert Worksheet.from_json(sheet.to_json()) == sheet

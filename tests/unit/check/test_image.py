"""Images are rigorous: for any inputs within their ranges, the step's value is in the image. They are also tight.

Samples are drawn inside the ranges, corners included; where a step uses √d, e or π, these are rounded as people do.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from clearhead.check.image import IMAGES
from clearhead.check.interval import Range, around, exactly, without_nan
from clearhead.steps.vocabulary import STEPS
from clearhead.worksheet.reference import REFERENCE
from tests.unit.check.ranges import SAMPLES, Inputs, Numbers, lies_inside, of_choice, sampled, some

EULERS = (2.71, 2.72, 2.718, 2.7183, math.e)
PIS = (3.14, 3.15, 3.141, 3.142, math.pi)


def ids(rng: Numbers, below: int, count: int = 3) -> Range:
    return exactly(rng.integers(0, below, count))


def with_bias(rng: Numbers, inputs: Inputs, width: int) -> Inputs:
    return inputs if rng.random() < 0.5 else {**inputs, "b": some(rng, width)}


def softmax_inputs(rng: Numbers) -> Inputs:
    if rng.random() < 0.3:
        exponentials = some(rng, 3, 4, least=0.0, most=9.0)
        total = some(rng, 3, 1, least=of_choice(rng, 0.0, 0.5), most=30.0)
        return {"scores": some(rng, 3, 4), "exponentials": exponentials, "total": total}
    size = of_choice(rng, 1.0, 5.0, 30.0, 1000.0)
    scores = some(rng, 3, 4, least=-size, most=size)
    if rng.random() < 0.5:
        hidden = rng.random((3, 4)) < 0.3
        scores = Range(np.where(hidden, -np.inf, scores.low), np.where(hidden, -np.inf, scores.high))
    return {"scores": scores, "base": of_choice(rng, None, None, 2.0, 10.0, 0.5)}


def exponentiate_inputs(rng: Numbers) -> Inputs:
    inputs = softmax_inputs(rng)
    return {"scores": inputs["scores"], "base": inputs.get("base")}


def divide_inputs(rng: Numbers) -> Inputs:
    least = of_choice(rng, 0.0, 0.1, -2.0)
    return {"scores": some(rng, 3, 4, least=least, most=4.0)}


def normal_inputs(rng: Numbers) -> Inputs:
    inputs: Inputs = {"x": some(rng, 3, 4, radius=0.1)}
    if rng.random() < 0.7:
        inputs["mean"] = some(rng, 3, 1, radius=0.1)
        inputs["variance"] = some(rng, 3, 1, least=0.0, most=3.0, radius=0.1)
        if rng.random() < 0.3:
            return {**inputs, "deviation": some(rng, 3, 1, least=0.1, most=3.0, radius=0.1), "gain": some(rng, 4)}
    inputs[of_choice(rng, "epsilon", "epsilon_outside")] = of_choice(rng, 1e-5, 0.01, 0.3)
    if rng.random() < 0.5:
        inputs["gain"] = some(rng, 4)
    if rng.random() < 0.5:
        inputs["shift"] = some(rng, 4)
    return inputs


def mean_inputs(rng: Numbers) -> Inputs:
    inputs: Inputs = {"x": some(rng, 3, 4), "over": of_choice(rng, "features", "tokens", "all")}
    if rng.random() < 0.5:
        inputs["counted"] = exactly(np.array([1.0, 1.0, 0.0]))
    return inputs


def variance_inputs(rng: Numbers) -> Inputs:
    inputs = mean_inputs(rng)
    shape = {"features": (3, 1), "tokens": (1, 4), "all": (1, 1)}[inputs["over"]]
    return {**inputs, "mean": some(rng, *shape)}


def convolve_inputs(rng: Numbers) -> Inputs:
    taps = tuple(some(rng, 2, 3) for _ in range(3))
    return with_bias(rng, {"x": some(rng, 4, 2), "taps": taps, "first": -1, "count": 4}, 3)


def activate_inputs(rng: Numbers) -> Inputs:
    size = of_choice(rng, 1.5, 4.0, 12.0)
    function = of_choice(rng, "tanh", "relu", "sigmoid", "gelu", "silu", "gelu", "silu")
    return {"x": some(rng, 3, 4, least=-size, most=size, radius=of_choice(rng, 0.1, 2.0)), "function": function}


def probabilities(rng: Numbers, radius: float = 0.1) -> Range:
    return some(rng, 3, 4, least=0.0, most=1.0, radius=radius)


MAKERS: Mapping[str, Callable[[Numbers], Inputs]] = {
    "embed": lambda rng: {"ids": ids(rng, 5), "table": some(rng, 5, 2)},
    "position": lambda rng: {
        "positions": exactly(np.arange(4.0)), "dimensions": exactly(np.arange(6)), "width": 6,
        "formula": of_choice(rng, "sinusoidal", "sinusoidal-odd-exponent", "one-hot", "count"), "base": 10000.0,
    },
    "angle": lambda rng: {"positions": some(rng, 3, least=0.0, most=9.0), "width": 6, "base": 100.0},
    "rotate": lambda rng: {
        "x": some(rng, 3, 4), "angles": some(rng, 3, 2, radius=of_choice(rng, 0.01, 3.0)),
        "pairing": of_choice(rng, "neighbours", "halves"),
    },
    "add": lambda rng: {"a": some(rng, 3, 2), "b": some(rng, *of_choice(rng, (3, 2), (1, 2), (2,)))},
    "project": lambda rng: with_bias(rng, {"x": some(rng, 3, 5), "w": some(rng, 5, 2)}, 2),
    "transform": lambda rng: with_bias(rng, {"x": some(rng, 3, 5), "w": some(rng, 2, 5)}, 2),
    "split": lambda rng: {"x": some(rng, 3, 4), "head": 2, "num_heads": 2},
    "append": lambda rng: {"cached": some(rng, 2, 3), "new": some(rng, 1, 3)},
    "score": lambda rng: {"q": some(rng, 3, 5), "k": some(rng, 2, 5)},
    "kernel": lambda rng: {
        "query_times": exactly(rng.uniform(0, 5, 3)), "key_times": exactly(rng.uniform(0, 5, 4)),
        "variance": of_choice(rng, 0.3, 1.0, 4.0),
    },
    "scale": lambda rng: {"scores": some(rng, 3, 2), **of_choice(rng, {"root_of": 3}, {"root_of": 4}, {"divisor": 0.3}, {"root_of": 2})},
    "mask": lambda rng: {
        "scores": some(rng, 3, 4), "allowed": exactly(rng.random((3, 4)) < 0.5), "fill": of_choice(rng, -np.inf, -1e9, 0.0)
    },
    "shift": lambda rng: {"scores": exponentiate_inputs(rng)["scores"]},
    "exponentiate": exponentiate_inputs,
    "row_sum": lambda rng: {"x": some(rng, 3, 4)},
    "softmax": softmax_inputs,
    "divide": divide_inputs,
    "mix": lambda rng: {"weights": probabilities(rng), "v": some(rng, 4, 2)},
    "join": lambda rng: {"parts": (some(rng, 3, 2), some(rng, 1, 3))},
    "activate": activate_inputs,
    "mean": mean_inputs,
    "variance": variance_inputs,
    "deviation": lambda rng: {
        "variance": some(rng, 3, 1, least=0.0, most=3.0), of_choice(rng, "epsilon", "epsilon_outside"): of_choice(rng, 1e-5, 0.3)
    },
    "normalise": normal_inputs,
    "root_mean_square": lambda rng: {"x": some(rng, 3, 4), "epsilon": of_choice(rng, 0.0, 0.01)},
    "rms_normalise": lambda rng: {
        "x": some(rng, 3, 4), "epsilon": of_choice(rng, 0.0, 0.01), "gain": of_choice(rng, None, some(rng, 4)),
        "rms": of_choice(rng, None, None, some(rng, 3, 1, least=0.1, most=3.0)),
    },
    "convolve": convolve_inputs,
    "pick": lambda rng: {"x": some(rng, 3, 2), "row": 2},
    "copy": lambda rng: {"x": some(rng, 3, 2), "part": 1, "row": 2},
    "multiply": lambda rng: {"a": some(rng, 3, 2), "b": some(rng, *of_choice(rng, (3, 2), (1, 2)))},
    "complement": lambda rng: {"x": some(rng, 3, 2)},
    "choose": lambda rng: {"probabilities": some(rng, 3, 4, least=0.2, most=0.4, radius=0.1), "draw": of_choice(rng, None, 0.3, 0.75)},
    "loss": lambda rng: {"probabilities": probabilities(rng), "targets": ids(rng, 4)},
    "total": lambda rng: {"x": some(rng, 3, 1)},
    "gradient": lambda rng: {"probabilities": probabilities(rng), "targets": ids(rng, 4)},
    "one_hot": lambda rng: {"ids": ids(rng, 5), "words": exactly(np.arange(5))},
    "idf": lambda rng: {
        "counts": Range(np.floor(rng.uniform(0, 2, (3, 4))), np.floor(rng.uniform(1, 3, (3, 4)))),
        "rule": of_choice(rng, "N/df", "smooth"),
    },
    "length": lambda rng: {"x": some(rng, 3, 2)},
    "cosine": lambda rng: {"dots": some(rng, 3, 3), "lengths": some(rng, 3, 1, least=of_choice(rng, -0.01, 0.2), most=3.0)},
}  # fmt: skip


# What a student can do who uses √d, e and π with two decimals or more


def short_scale(rng: Numbers, scores: Any, root_of: float | None = None, divisor: float | None = None) -> Any:
    if root_of is None:
        return scores / divisor
    places = 10.0 ** rng.integers(2, 5)
    cut_or_round = of_choice(rng, np.floor, np.round)
    return scores / (cut_or_round(math.sqrt(root_of) * places) / places)


def short_exponentiate(rng: Numbers, scores: Any, base: float | None = None) -> Any:
    return REFERENCE["exponentiate"](scores, of_choice(rng, *EULERS) if base is None else base)


def short_softmax(rng: Numbers, scores: Any, base: float | None = None, **exponentials: Any) -> Any:
    if exponentials:
        return REFERENCE["softmax"](scores, **exponentials)
    return REFERENCE["softmax"](scores, of_choice(rng, *EULERS) if base is None else base)


def short_activate(rng: Numbers, x: Any, function: str) -> Any:
    share = math.log(of_choice(rng, *EULERS))
    if function == "silu":
        return x * REFERENCE["activate"](share * x, "sigmoid")
    return REFERENCE["activate"](share * x if function in ("tanh", "sigmoid") else x, function)


def short_kernel(rng: Numbers, query_times: Any, key_times: Any, variance: float) -> Any:
    e, pi = of_choice(rng, *EULERS), of_choice(rng, *PIS)
    gaps = key_times[None, :] - query_times[:, None]
    return e ** (-(gaps**2) / (2 * variance)) / math.sqrt(2 * pi * variance)


SHORTENED: Mapping[str, Callable[..., Any]] = {
    "scale": short_scale,
    "exponentiate": short_exponentiate,
    "softmax": short_softmax,
    "activate": short_activate,
    "kernel": short_kernel,
}


def worked(rng: Numbers, step: str, inputs: Inputs) -> Any:
    with np.errstate(all="ignore"):
        if step in SHORTENED:
            return SHORTENED[step](rng, **inputs)
        return REFERENCE[step](**inputs)


def test_every_step_has_an_image_and_is_drawn_here():
    assert set(IMAGES) == set(STEPS), f"no image: {set(STEPS) - set(IMAGES)}, no such step: {set(IMAGES) - set(STEPS)}"
    assert set(MAKERS) == set(STEPS), f"not drawn: {set(STEPS) - set(MAKERS)}"


@pytest.mark.parametrize("step", sorted(MAKERS))
def test_for_any_inputs_within_their_ranges_the_value_is_in_the_image(step):
    rng = np.random.default_rng([7, *map(ord, step)])
    num_finite = 0
    for case in range(
        30 if step in ("activate", "shift", "exponentiate", "softmax", "normalise", "divide", "cosine") else 8
    ):
        inputs = MAKERS[step](rng)
        with np.errstate(all="ignore"):
            image = without_nan(IMAGES[step](inputs))
        assert np.all(image.low <= image.high), f"case {case}: the ends of {step} have changed places"
        for _ in range(SAMPLES if case < 8 else SAMPLES // 4):
            chosen = {name: sampled(rng, value) for name, value in inputs.items()}
            if step == "cosine":
                chosen["lengths"] = np.maximum(chosen["lengths"], 0.0)  # 0.00 may be a little more than 0, never less
            value = worked(rng, step, chosen)
            inside = lies_inside(value, image)
            assert value.shape == image.low.shape, f"the image of {step} has another shape"
            assert np.all(inside), (
                f"case {case}: {step} gives {value[~inside]}, outside {image.low[~inside]} … {image.high[~inside]} "
                f"with {chosen}"
            )
            num_finite += int(np.isfinite(value).sum())
    assert num_finite > 1000, f"hardly any number of {step} was seen"


@pytest.mark.parametrize("function", ["gelu", "silu"])
def test_the_image_includes_the_minimum_of_gelu_and_silu(function):
    """gelu has its minimum at -0.75, silu at -1.28: the ends of the range -2 to 0 would miss it."""
    x = Range(np.array([[-2.0]]), np.array([[0.0]]))
    fine = np.linspace(-2.0, 0.0, 200_001)[None, :]
    least = float(REFERENCE["activate"](fine, function).min())
    image = IMAGES["activate"]({"x": x, "function": function})
    assert image.low[0, 0] <= least, f"{function} falls to {least!r}, below {image.low[0, 0]!r}"
    assert image.low[0, 0] > least - 0.01, "and not far below"


def test_softmax_keeps_masked_keys_at_0_and_does_not_overflow():
    scores = around(np.array([[1000.0, -1000.0, -np.inf], [-np.inf, -np.inf, -np.inf]]), 0.5)
    image = IMAGES["softmax"]({"scores": scores})
    assert np.array_equal(image.high[:, 2], [0.0, 0.0]), "a masked key has weight 0"
    assert np.array_equal(image.high[1], [0.0, 0.0, 0.0]), "a row that sees nothing has weights 0"
    assert image.low[0, 0] == 1.0, "a score of 1000 against -1000 takes all"
    assert 0.0 <= image.high[0, 1] < 1e-300


# The bounds are tight: the corner that should reach the bound does, to one per cent


def is_attained(bound: float, centre: float, corner: float) -> bool:
    return abs(corner - centre) * 1.01 >= abs(bound - centre) > 0.0


def test_the_bound_of_a_matrix_product_is_attained_where_all_errors_push_one_way():
    """2×3 + (-1)×4 = 2 with radii 0.05: 2.05×3.05 + (-0.95)×3.95 = 2.5, and Σ(|a|r + |b|r + r²) = 0.505."""
    q, k = np.array([[2.0, -1.0]]), np.array([[3.0, 4.0]])
    image = IMAGES["score"]({"q": around(q, 0.05), "k": around(k, 0.05)})
    assert is_attained(image.high[0, 0], 2.0, 2.05 * 3.05 - 0.95 * 3.95)
    assert is_attained(image.low[0, 0], 2.0, 1.95 * 2.95 - 1.05 * 4.05)
    assert image.high[0, 0] == pytest.approx(2.505), "0.05 × (2 + 1 + 3 + 4) + 2 × 0.0025 = 0.505"


def test_the_bound_of_a_sum_is_attained():
    image = IMAGES["add"]({"a": around(np.array([[1.0]]), 0.05), "b": around(np.array([[2.0]]), 0.005)})
    assert (image.low[0, 0], image.high[0, 0]) == (pytest.approx(2.945), pytest.approx(3.055))


@pytest.mark.parametrize("base", [None, 2.0])
def test_the_bound_of_softmax_is_attained_with_its_own_score_up_and_the_others_down(base):
    scores = np.array([[0.12, 0.1, 0.11]])
    image = IMAGES["softmax"]({"scores": around(scores, 0.05), "base": base})
    centre = REFERENCE["softmax"](scores, base)[0, 0]
    for sign, bound in ((1.0, image.high), (-1.0, image.low)):
        corner = REFERENCE["softmax"](scores + sign * np.array([[0.05, -0.05, -0.05]]), base)[0, 0]
        assert is_attained(bound[0, 0], centre, corner), f"{corner} from {centre}, but the bound is {bound[0, 0]}"


def test_the_bound_of_tanh_is_attained_at_its_ends():
    x = np.array([[0.4]])
    image = IMAGES["activate"]({"x": around(x, 0.2), "function": "tanh"})
    share = 1.0 + 0.01 / math.e
    assert is_attained(image.high[0, 0], math.tanh(0.4), math.tanh(0.6 * share))
    assert is_attained(image.low[0, 0], math.tanh(0.4), math.tanh(0.2 / share))
    exact = IMAGES["activate"]({"x": around(x, 0.2), "function": "relu"})
    assert (exact.low[0, 0], exact.high[0, 0]) == (pytest.approx(0.2), pytest.approx(0.6))


def test_with_exact_inputs_only_the_rounding_of_constants_remains():
    scores = exactly(np.array([[6.0]]))
    assert IMAGES["scale"]({"scores": scores, "root_of": 4}).radius[0, 0] == 0.0, "√4 is 2, whoever works it out"
    by_three = IMAGES["scale"]({"scores": scores, "root_of": 3})
    assert by_three.low[0, 0] < 6 / 1.73 < by_three.high[0, 0], "√3 may be 1.73"
    assert not by_three.low[0, 0] < 6 / 1.7 < by_three.high[0, 0], "but not 1.7"

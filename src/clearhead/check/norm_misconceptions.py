"""Misconceptions about mean, variance and norm."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from clearhead.check.wrong_rule import Site, Variant, worked
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import NORM_AXES, REFERENCE


def mean_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about a mean give."""
    x, over = site.inputs["x"], site.inputs["over"]
    yield Variant("sum instead of mean", np.sum(x, axis=NORM_AXES[over], keepdims=True))
    if site.inputs.get("counted") is not None:
        yield Variant("padding included", REFERENCE["mean"](x, over))


def variance_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about a variance give."""
    inputs = site.inputs
    value = REFERENCE["variance"](**inputs)
    number = _number(inputs)
    if number > 1:
        yield Variant("n−1 in the variance", value * number / (number - 1))
    yield Variant("sum of squares, not divided by n", value * number)
    yield Variant("standard deviation instead of variance", np.sqrt(value))


def deviation_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about a standard deviation give."""
    above = site.above("variance")
    number = 1 if above is None else _number(above.inputs)
    if number > 1:
        yield site.changed("n−1 in the variance", variance=site.inputs["variance"] * number / (number - 1))


def _number(inputs: Mapping[str, Any]) -> int:
    x, over, counted = inputs["x"], inputs["over"], inputs.get("counted")
    rows = x.shape[0] if counted is None or over == "features" else int(np.sum(counted))
    return int({"features": x.shape[1], "tokens": rows, "all": rows * x.shape[1]}[str(over)])


def normalise_rules(site: Site) -> Iterator[Variant]:
    """Return the values that misconceptions about a norm give."""
    inputs = site.inputs
    mean = site.above("mean")
    if mean is None:
        return
    over, x = str(mean.inputs["over"]), inputs["x"]
    options = {key: value for key, value in inputs.items() if key not in ("x", "mean", "variance", "deviation")}

    def own_norm(matrix: Array, axis: str) -> dict[str, Any]:
        mu = REFERENCE["mean"](matrix, axis)
        return {"x": matrix, "mean": mu, "variance": REFERENCE["variance"](matrix, mu, axis), **options}

    for other in ("tokens", "features", "all"):
        if other != over:
            named = {
                "tokens": "normalised over tokens",
                "features": "normalised over features",
                "all": "normalised over the whole matrix",
            }
            yield worked(named[other], "normalise", own_norm(x, other))
    number = _number(mean.inputs)
    if number > 1:
        yield site.changed("n−1 in the variance", variance=inputs["variance"] * number / (number - 1))
    if options.get("epsilon"):
        yield site.changed("ε outside the root", epsilon=None, epsilon_outside=options["epsilon"])
    elif options.get("epsilon_outside"):
        yield site.changed("ε inside the root", epsilon=options["epsilon_outside"], epsilon_outside=None)
    yield site.changed("divided by the variance", variance=inputs["variance"] ** 2)
    for rule_name, key in (("gain forgotten", "gain"), ("shift forgotten", "shift")):
        if key in options:
            yield site.changed(rule_name, **{key: None})
    yield from _norm_and_add(site, lambda matrix: own_norm(matrix, over))


def _norm_and_add(site: Site, own_norm: Callable[[Array], dict[str, Any]]) -> Iterator[Variant]:
    residual = site.above("x")
    if residual is not None and residual.step == "add":
        a, b = residual.inputs["a"], residual.inputs["b"]
        if a.shape == b.shape:
            for first, second in ((a, b), (b, a)):
                normal = worked("norm before the addition", "normalise", own_norm(second)).value
                yield worked("norm before the addition", "add", {"a": first, "b": normal})
        forgotten = np.broadcast_to(b, site.inputs["x"].shape) + 0.0
        yield worked("residual forgotten", "normalise", own_norm(forgotten))

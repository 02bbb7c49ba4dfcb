"""Wrong rules that people are known to work by: each is a step done differently, under the name that it is called by.

A wrong rule is only a hypothesis here; `diagnose` claims it where it gives the student's own digits and the right
rule does not. A new one is one more line in the function of its step.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from clearhead.check.graph import Fetch, FromGiven, FromRecord, Graph, Source
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import NORM_AXES, REFERENCE

_MAX_ORDERS = 24  # of heads: all orders of up to four


@dataclass(frozen=True, eq=False)
class Variant:
    """What a step gives under a wrong rule."""

    name: str
    value: Array


@dataclass(frozen=True, eq=False)
class Site:
    """A record at which a rule may have been wrong, with the inputs that the student had."""

    graph: Graph
    index: int
    fetch: Fetch

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs, from the student's own lines."""
        return self.graph.inputs(self.index, self.fetch)

    @property
    def where(self) -> list[str]:
        """The parts of the record's place."""
        return self.graph.records[self.index].where.split(".")

    @property
    def symbol(self) -> str:
        """The record's symbol."""
        return self.graph.records[self.index].symbol

    def above(self, name: str) -> "Site | None":
        """Return the record that an input was made by."""
        source = self.graph.sources[self.index].get(name)
        return Site(self.graph, source.index, self.fetch) if isinstance(source, FromRecord) else None

    @property
    def step(self) -> str:
        """The name of the record's step."""
        return self.graph.records[self.index].step.name

    def given_name(self, name: str) -> str:
        """Return the symbol of the given that an input is, or nothing."""
        source = self.graph.sources[self.index].get(name)
        return self.graph.givens[source.name].symbol if isinstance(source, FromGiven) else ""


def _score(site: Site) -> Iterator[Variant]:
    q, k = site.inputs["q"], site.inputs["k"]
    yield Variant("KQᵀ", k @ q.T)
    if q.shape[1] == k.shape[0]:
        yield Variant("QK instead of QKᵀ", q @ k)
    if "key" in site.where or site.symbol == "e":
        yield from _bilinear(site)


def _bilinear(site: Site) -> Iterator[Variant]:
    key = site.above("k")
    if key is not None and key.step in ("transform", "project"):
        x, w = key.inputs["x"], key.inputs["w"]
        if w.shape[0] == w.shape[1]:
            other = x @ w if key.step == "transform" else x @ w.T
            yield Variant("the bilinear W on the wrong side", site.inputs["q"] @ other.T)


def _scale(site: Site) -> Iterator[Variant]:
    scores, root_of = site.inputs["scores"], site.inputs.get("root_of")
    yield Variant("no scaling", scores)
    if root_of is None:
        return
    yield Variant("divided by d_k", scores / root_of)
    for width in _model_widths(site):
        if width != root_of:
            many = " in multi-head" if "head" in site.where else ""
            yield Variant(f"divided by √d_model{many}", scores / math.sqrt(width))
    yield Variant("multiplied by √d_k", scores * math.sqrt(root_of))


def _model_widths(site: Site) -> set[int]:
    """Return the widths of what the queries were made from."""
    score = site.above("scores")
    query = None if score is None else score.above("q")
    widths = set()
    while query is not None and "x" in query.inputs:
        widths.add(int(query.inputs["x"].shape[1]))
        query = query.above("x")
    return widths


def _mask(site: Site) -> Iterator[Variant]:
    scores, allowed, fill = site.inputs["scores"], np.asarray(site.inputs["allowed"], dtype=bool), site.inputs["fill"]
    if math.isinf(fill):
        yield Variant("mask with 0 instead of −∞", np.where(allowed, scores, 0.0))
    yield Variant("mask forgotten", scores)
    if allowed.shape[0] == allowed.shape[1]:
        yield Variant("mask transposed", np.where(allowed.T, scores, fill))
    yield Variant("mask the wrong way round", np.where(allowed, fill, scores))


def _softmax(site: Site) -> Iterator[Variant]:
    scores, base = site.inputs["scores"], site.inputs.get("base")
    soft = REFERENCE["softmax"]
    if scores.shape[0] > 1:
        yield Variant("softmax down the columns", soft(scores.T, base).T)
        yield Variant("softmax over the whole matrix", soft(scores.reshape(1, -1), base).reshape(scores.shape))
    finite_scores = np.where(np.isfinite(scores), scores, 0.0)
    yield Variant("no exp (divided by the sum)", REFERENCE["divide"](finite_scores))
    for other in (2.0, 3.0, 10.0):
        if other != base:
            yield Variant(f"base {other:g}", soft(scores, other))
    if base is not None:
        yield Variant("base e", soft(scores))
    yield Variant(
        "not divided by the sum", np.exp(np.minimum(scores * (1.0 if base is None else math.log(base)), 700.0))
    )
    mask = site.above("scores")
    if mask is not None and mask.step == "mask":
        allowed = np.asarray(mask.inputs["allowed"], dtype=bool)
        open_weights = soft(mask.inputs["scores"], base)
        yield Variant("mask after softmax, weights not renormalised", np.where(allowed, open_weights, 0.0))
        yield Variant("mask forgotten", open_weights)
    scorer = mask.above("scores") if mask is not None and mask.step == "mask" else mask
    if scorer is not None and scorer.step == "score":
        yield Variant(
            "scaled, though the question does not scale", soft(scores / math.sqrt(scorer.inputs["q"].shape[1]), base)
        )


def _divide(site: Site) -> Iterator[Variant]:
    scores = site.inputs["scores"]
    yield Variant("weights not renormalised", scores)
    if scores.shape[0] > 1:
        yield Variant("divided down the columns", REFERENCE["divide"](scores.T).T)
        yield Variant("divided over the whole matrix", scores / (np.sum(scores) or 1.0))
    yield Variant("softmax instead of division", REFERENCE["softmax"](np.where(scores == 0.0, -np.inf, scores)))
    yield Variant("softmax instead of division", REFERENCE["softmax"](scores))


def _mix(site: Site) -> Iterator[Variant]:
    weights, v = site.inputs["weights"], site.inputs["v"]
    if weights.shape[0] == weights.shape[1]:
        yield Variant("AᵀV", weights.T @ v)
    keys = _keys_of(site)
    if keys is not None and keys.shape == v.shape and keys is not v:
        yield Variant("K used for V", weights @ keys)


def _keys_of(site: Site) -> Array | None:
    above: Site | None = site.above("weights")
    while above is not None and above.step != "score":
        above = above.above("scores")
    return None if above is None else above.inputs["k"]


def _project(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    x, w, b = inputs["x"], inputs["w"], inputs.get("b")
    bias = 0.0 if b is None else b
    if b is not None:
        yield Variant("bias forgotten", x @ w)
    name = site.given_name("w")
    if name.startswith("W_O") and w.shape[0] == w.shape[1]:
        yield Variant("W_O forgotten", x + 0.0)
        if b is not None:
            yield Variant("W_O forgotten", x + bias)
    if w.shape[1] == x.shape[0] and w.shape[0] == x.shape[0]:
        yield Variant("WX instead of XW", w @ x + bias)
    if w.shape[0] == w.shape[1]:
        is_bilinear = site.symbol in ("Wh", "W h")
        yield Variant("the bilinear W on the wrong side" if is_bilinear else "weights transposed", x @ w.T + bias)
    yield from _other_weights(site, x, w)
    yield from _other_states(site)


def _other_weights(site: Site, x: Array, w: Array) -> Iterator[Variant]:
    """The product made with the weights of another role of the same layer: V made with W_K."""
    for index, sources in enumerate(site.graph.sources):
        other = sources.get("w")
        record = site.graph.records[index]
        if record.step.name != site.step or not isinstance(other, FromGiven) or index == site.index:
            continue
        if _layer(record.where) != _layer(".".join(site.where)):
            continue
        weights = site.graph.givens[other.name].value
        if weights.shape == w.shape and weights is not w:
            own = re.sub(r"[₀-₉′]|_new", "", site.symbol)
            name = f"{own} made with {re.sub(r'[₀-₉]', '', site.graph.givens[other.name].symbol)}"
            product = x @ (weights.T if site.step == "transform" else weights)
            biases = [site.inputs.get("b"), Site(site.graph, index, site.fetch).inputs.get("b")]
            for bias in dict.fromkeys(map(id, biases)):
                chosen = next(candidate for candidate in biases if id(candidate) == bias)
                yield Variant(name, product if chosen is None else product + chosen)


def _layer(where: str) -> str:
    """Return the place of a layer without the role in it."""
    return where.rpartition(".")[0] if where.rpartition(".")[2] in ("query", "key", "value") else where


def _transform(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    x, w, b = inputs["x"], inputs["w"], inputs.get("b")
    bias = 0.0 if b is None else b
    if b is not None:
        yield Variant("bias forgotten", x @ w.T)
    if w.shape[0] == w.shape[1]:
        is_bilinear = site.symbol == "Wh"
        yield Variant("the bilinear W on the wrong side" if is_bilinear else "weights transposed", x @ w + bias)
    yield from _other_weights(site, x, w)
    yield from _other_states(site)


def _other_states(site: Site) -> Iterator[Variant]:
    """A recurrent step that takes the state of another time step."""
    if site.where[-1] != "from_state":
        return
    inputs, own = site.inputs, site.graph.sources[site.index]["x"]
    tried: list[Source] = [own]
    for index, record in enumerate(site.graph.records):
        is_alike = record.step.name == site.step and record.where.endswith("from_state") and index != site.index
        source = site.graph.sources[index].get("x") if is_alike else None
        if source is not None and source not in tried and _is_before(source, site.index):
            tried.append(source)
            state = site.fetch(source)
            w = inputs["w"]
            product = state @ (w.T if site.step == "transform" else w) + (
                0.0 if inputs.get("b") is None else inputs["b"]
            )
            yield Variant("h_t used for h_{t−1}", product)


def _is_before(source: Source, index: int) -> bool:
    return not isinstance(source, FromRecord) or source.index < index


def _join(site: Site) -> Iterator[Variant]:
    parts = site.inputs["parts"]
    name = "heads joined in the wrong order" if "output" in site.where else "joined in the wrong order"
    orders = list(permutations(range(len(parts)))) if len(parts) <= 4 else [tuple(reversed(range(len(parts))))]
    for order in orders[1:_MAX_ORDERS] if len(parts) <= 4 else orders:
        yield Variant(name, REFERENCE["join"]([parts[place] for place in order]))


def _add(site: Site) -> Iterator[Variant]:
    a, b = site.inputs["a"], site.inputs["b"]
    shape = np.broadcast_shapes(a.shape, b.shape)
    first, second = np.broadcast_to(a, shape) + 0.0, np.broadcast_to(b, shape) + 0.0
    if "add_and_norm" in site.where:
        yield Variant("residual forgotten", second)
        yield Variant("only the residual", first)
    elif "input" in site.where or not site.where[0] or site.where[-1] == "position":
        yield Variant("position forgotten", first)
        yield Variant("only the position", second)
    else:
        yield Variant("second term forgotten", first)
        yield Variant("first term forgotten", second)
    yield Variant("subtracted instead of added", a - b)
    yield Variant("multiplied instead of added", a * b)


def _multiply(site: Site) -> Iterator[Variant]:
    a, b = site.inputs["a"], site.inputs["b"]
    yield Variant("added instead of multiplied", a + b)


def _activate(site: Site) -> Iterator[Variant]:
    x, function = site.inputs["x"], site.inputs["function"]
    name = {"relu": "ReLU"}.get(function, function)
    if function == "tanh" and site.symbol == "T":
        yield Variant("additive score without tanh", x + 0.0)
    else:
        yield Variant(f"{name} forgotten", x + 0.0)
    for other in ("relu", "tanh", "sigmoid"):
        if other != function:
            yield Variant(f"{other} instead of {function}", REFERENCE["activate"](x, other))


def _mean(site: Site) -> Iterator[Variant]:
    x, over = site.inputs["x"], site.inputs["over"]
    yield Variant("sum instead of mean", np.sum(x, axis=NORM_AXES[over], keepdims=True))
    if site.inputs.get("counted") is not None:
        yield Variant("padding counted", REFERENCE["mean"](x, over))


def _variance(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    value = REFERENCE["variance"](**inputs)
    number = _number(inputs)
    if number > 1:
        yield Variant("n−1 in the variance", value * number / (number - 1))
    yield Variant("sum of squares, not divided by n", value * number)
    yield Variant("deviation instead of variance", np.sqrt(value))


def _number(inputs: Mapping[str, Any]) -> int:
    x, over, counted = inputs["x"], inputs["over"], inputs.get("counted")
    rows = x.shape[0] if counted is None or over == "features" else int(np.sum(counted))
    return int({"features": x.shape[1], "tokens": rows, "all": rows * x.shape[1]}[str(over)])


def _normalise(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    norm = REFERENCE["normalise"]
    mean = site.above("mean")
    if mean is None:
        return
    over, x = str(mean.inputs["over"]), inputs["x"]
    options = {key: value for key, value in inputs.items() if key not in ("x", "mean", "variance")}

    def own_norm(matrix: Array, axis: str) -> Array:
        mu = REFERENCE["mean"](matrix, axis)
        return np.asarray(norm(matrix, mu, REFERENCE["variance"](matrix, mu, axis), **options))

    for other in ("tokens", "features", "all"):
        if other != over:
            named = {
                "tokens": "normalised over tokens",
                "features": "normalised over features",
                "all": "normalised over all",
            }
            yield Variant(named[other], own_norm(x, other))
    number = _number(mean.inputs)
    if number > 1:
        yield Variant(
            "n−1 in the variance", norm(x, inputs["mean"], inputs["variance"] * number / (number - 1), **options)
        )
    swapped = {key: value for key, value in options.items() if not key.startswith("epsilon")}
    if options.get("epsilon"):
        swapped["epsilon_outside"] = options["epsilon"]
        yield Variant("ε outside the root", norm(x, inputs["mean"], inputs["variance"], **swapped))
    elif options.get("epsilon_outside"):
        swapped["epsilon"] = options["epsilon_outside"]
        yield Variant("ε inside the root", norm(x, inputs["mean"], inputs["variance"], **swapped))
    yield Variant("divided by the variance", norm(x, inputs["mean"], inputs["variance"] ** 2, **options))
    for rule_name, key in (("gain forgotten", "gain"), ("shift forgotten", "shift")):
        if key in options:
            rest = {name: value for name, value in options.items() if name != key}
            yield Variant(rule_name, norm(x, inputs["mean"], inputs["variance"], **rest))
    yield from _norm_and_add(site, lambda matrix: own_norm(matrix, over))


def _norm_and_add(site: Site, own_norm: Callable[[Array], Array]) -> Iterator[Variant]:
    residual = site.above("x")
    if residual is not None and residual.step == "add":
        a, b = residual.inputs["a"], residual.inputs["b"]
        if a.shape == b.shape:
            yield Variant("norm before/after add", a + own_norm(b))
            yield Variant("norm before/after add", own_norm(a) + b)
        yield Variant("residual forgotten", own_norm(np.broadcast_to(b, site.inputs["x"].shape) + 0.0))


def _position(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    formula, base, width = inputs["formula"], inputs["base"], inputs["width"]
    pos, dim = np.asarray(inputs["positions"], dtype=np.float64), np.asarray(inputs["dimensions"])
    yield Variant("positions from 1", REFERENCE["position"](**{**inputs, "positions": pos + 1}))
    if not str(formula).startswith("sinusoidal"):
        return
    column, is_odd = dim[None, :], dim[None, :] % 2 == 1
    pair = column // 2

    def waves(angles: Array, odd: Array = is_odd) -> Array:
        return np.asarray(np.where(odd, np.cos(angles), np.sin(angles)))

    angles = pos[:, None] / base ** (np.where(is_odd & (formula == "sinusoidal"), column - 1, column) / width)
    rule_name = "position's 2i taken as the dimension"
    yield Variant(rule_name, waves(pos[:, None] / base ** (2.0 * column / width)))
    if formula == "sinusoidal":
        yield Variant(rule_name, waves(pos[:, None] / base ** (column / width)))
    yield Variant(rule_name, waves(pos[:, None] / base ** (pair / width)))
    yield Variant("degrees", waves(np.deg2rad(angles)))
    swapped = column / base ** (2.0 * (pos[:, None] // 2) / width)
    yield Variant("position and dimension swapped", waves(swapped, pos[:, None] % 2 == 1))
    yield Variant("position and dimension swapped", waves(swapped))
    half = width / 2
    in_block = np.where(column < half, column, column - np.ceil(half))
    yield Variant("sine and cosine in blocks", waves(pos[:, None] / base ** (2.0 * in_block / width), column >= half))
    yield Variant("sine and cosine exchanged", waves(angles, ~is_odd))


def _angle(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    pos = np.asarray(inputs["positions"], dtype=np.float64)
    yield Variant("positions from 1", REFERENCE["angle"](**{**inputs, "positions": pos + 1}))
    pairs = np.arange(inputs["width"] // 2, dtype=np.float64)
    angles = pos[:, None] / inputs["base"] ** (pairs / inputs["width"])[None, :]
    yield Variant("position's 2i taken as the dimension", angles)
    yield Variant("degrees", np.rad2deg(REFERENCE["angle"](**inputs)))


def _rotate(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    x, angles, pairing = inputs["x"], inputs["angles"], inputs["pairing"]
    other = "halves" if pairing == "neighbours" else "neighbours"
    rotate = REFERENCE["rotate"]
    yield Variant("turned the wrong way", rotate(x, -angles, pairing))
    yield Variant("pairs taken in the other way", rotate(x, angles, other))
    yield Variant("degrees", rotate(x, np.deg2rad(angles), pairing))
    yield Variant("rotation forgotten", x + 0.0)


def _convolve(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    convolve = REFERENCE["convolve"]
    yield Variant("filter turned round", convolve(**{**inputs, "taps": tuple(reversed(inputs["taps"]))}))
    if inputs.get("b") is not None:
        yield Variant("bias forgotten", convolve(**{key: value for key, value in inputs.items() if key != "b"}))


def _loss(site: Site) -> Iterator[Variant]:
    value = REFERENCE["loss"](**site.inputs)
    yield Variant("minus forgotten", -value)
    yield Variant("logarithm to base 10", value / math.log(10.0))
    yield Variant("logarithm to base 2", value / math.log(2.0))
    yield Variant("logarithm forgotten", np.exp(-value))


def _gradient(site: Site) -> Iterator[Variant]:
    yield Variant("target less probability", -REFERENCE["gradient"](**site.inputs))
    yield Variant("target forgotten", site.inputs["probabilities"] + 0.0)


def _cosine(site: Site) -> Iterator[Variant]:
    yield Variant("not divided by the lengths", site.inputs["dots"] + 0.0)


def _length(site: Site) -> Iterator[Variant]:
    yield Variant("root forgotten", np.sum(site.inputs["x"] ** 2, axis=-1, keepdims=True))


def _idf(site: Site) -> Iterator[Variant]:
    value = REFERENCE["idf"](**site.inputs)
    yield Variant("logarithm to base 10", value / math.log(10.0))
    yield Variant("logarithm to base 2", value / math.log(2.0))


def _kernel(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    value = REFERENCE["kernel"](**inputs)
    yield Variant("factor before the exponential forgotten", value * math.sqrt(2.0 * math.pi * inputs["variance"]))


MISCONCEPTIONS: Mapping[str, Callable[[Site], Iterator[Variant]]] = {
    "score": _score,
    "scale": _scale,
    "mask": _mask,
    "softmax": _softmax,
    "divide": _divide,
    "mix": _mix,
    "project": _project,
    "transform": _transform,
    "join": _join,
    "add": _add,
    "multiply": _multiply,
    "activate": _activate,
    "mean": _mean,
    "variance": _variance,
    "normalise": _normalise,
    "position": _position,
    "angle": _angle,
    "rotate": _rotate,
    "convolve": _convolve,
    "loss": _loss,
    "gradient": _gradient,
    "cosine": _cosine,
    "length": _length,
    "idf": _idf,
    "kernel": _kernel,
}


def variants(site: Site, shape: tuple[int, ...]) -> Iterator[Variant]:
    """Return what each wrong rule gives at a record; one that would give another shape is left out."""
    make = MISCONCEPTIONS.get(site.step)
    if make is None:
        return
    with np.errstate(all="ignore"):
        for variant in make(site):
            if variant.value.shape == shape and not np.any(np.isnan(variant.value)):
                yield variant

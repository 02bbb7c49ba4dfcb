"""The known misconceptions: each is a step calculated by a wrong rule, under the name that the report uses.

A misconception is only a hypothesis here; `diagnose` claims it where it gives the student's own digits and the right
rule does not. To add one, add a line to the function of its step.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import numpy as np

from clearhead.check.graph import FromGiven, FromRecord, Graph, Source
from clearhead.check.norm_misconceptions import deviation_rules, mean_rules, normalise_rules, variance_rules
from clearhead.check.part_misconceptions import copy_rules
from clearhead.check.position_misconceptions import angle_rules, position_rules, rotate_rules
from clearhead.check.recurrent_misconceptions import (
    complement_rules,
    gate_product_rules,
    gate_sum_rules,
    mixed_state_rules,
    reset_after_rules,
)
from clearhead.check.softmax_misconceptions import exponentiate_rules, row_sum_rules
from clearhead.check.wrong_rule import Site, Variant, worked, worked_down_columns, worked_over_all
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import REFERENCE

_MAX_ORDERS = 24  # orders of heads that are tried: all orders of up to four heads


def _score(site: Site) -> Iterator[Variant]:
    q, k = site.inputs["q"], site.inputs["k"]
    if q.shape[1] == k.shape[1]:
        yield site.changed("KQᵀ instead of QKᵀ", q=k, k=q)
    if q.shape[1] == k.shape[0]:
        yield site.changed("QK instead of QKᵀ", k=k.T)
    if "key" in site.where or site.symbol == "e":
        yield from _bilinear(site)


def _bilinear(site: Site) -> Iterator[Variant]:
    key = site.above("k")
    if key is not None and key.step in ("transform", "project"):
        x, w = key.inputs["x"], key.inputs["w"]
        if w.shape[0] == w.shape[1]:
            other = x @ w if key.step == "transform" else x @ w.T
            yield site.changed("W on the wrong side in the multiplicative score", k=other)


def _scale(site: Site) -> Iterator[Variant]:
    scores, root_of = site.inputs["scores"], site.inputs.get("root_of")
    yield worked("no scaling", "scale", {"scores": scores, "divisor": 1.0})
    if root_of is None:
        return
    yield worked("divided by d_k", "scale", {"scores": scores, "divisor": root_of})
    for width in _model_widths(site):
        if width != root_of:
            many = " in multi-head attention" if "head" in site.where else ""
            yield site.changed(f"divided by √d_model{many}", root_of=width)
    yield Variant("multiplied by √d_k", scores * math.sqrt(root_of))


def _model_widths(site: Site) -> set[int]:
    """Return the widths of the inputs of the queries."""
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
    yield Variant("mask inverted", np.where(allowed, fill, scores))


def _softmax(site: Site) -> Iterator[Variant]:
    inputs = {name: value for name, value in site.inputs.items() if name in ("scores", "base")}
    scores, base = inputs["scores"], inputs.get("base")
    if scores.shape[0] > 1:
        yield worked_down_columns("softmax down the columns", "softmax", inputs)
        yield worked_over_all("softmax over the whole matrix", "softmax", inputs)
    yield worked("no exp (divided by the sum)", "divide", {"scores": np.where(np.isfinite(scores), scores, 0.0)})
    for other in (2.0, 3.0, 10.0):
        if other != base:
            yield site.changed(f"base {other:g}", base=other)
    if base is not None:
        yield site.changed("e instead of the base in the question", base=None)
    yield Variant(
        "not divided by the sum", np.exp(np.minimum(scores * (1.0 if base is None else math.log(base)), 700.0))
    )
    mask = site.above("scores")
    if mask is not None and mask.step == "mask":
        allowed = np.asarray(mask.inputs["allowed"], dtype=bool)
        unmasked = site.changed("mask forgotten", scores=mask.inputs["scores"])
        late = np.where(allowed, unmasked.value, 0.0)
        yield Variant("mask after softmax, weights not renormalised", late, unmasked.shown)
        yield unmasked
    scorer = mask.above("scores") if mask is not None and mask.step == "mask" else mask
    if scorer is not None and scorer.step == "score":
        root = math.sqrt(scorer.inputs["q"].shape[1])
        yield site.changed("scaled, but the question has no scaling", scores=scores / root)


def _divide(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    scores = inputs["scores"]
    yield Variant("weights not renormalised", scores)
    if scores.shape[0] > 1:
        yield worked_down_columns("divided down the columns", "divide", inputs)
        yield worked_over_all("divided over the whole matrix", "divide", inputs)
    for exponents in (np.where(scores == 0.0, -np.inf, scores), scores):
        yield worked("softmax instead of division", "softmax", {"scores": exponents})


def _mix(site: Site) -> Iterator[Variant]:
    weights, v = site.inputs["weights"], site.inputs["v"]
    if weights.shape[0] == weights.shape[1]:
        yield site.changed("AᵀV instead of AV", weights=weights.T)
    keys = _keys_of(site)
    if keys is not None and keys.shape == v.shape and keys is not v:
        yield site.changed("K used for V", v=keys)


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
        yield site.changed("bias forgotten", b=None)
    name = site.given_name("w")
    if name.startswith("W_O") and w.shape[0] == w.shape[1]:
        yield Variant("W_O forgotten", x + 0.0)
        if b is not None:
            yield Variant("W_O forgotten", x + bias)
    if w.shape[1] == x.shape[0] and w.shape[0] == x.shape[0]:
        yield site.changed("WX instead of XW", x=w, w=x)
    if w.shape[0] == w.shape[1]:
        is_bilinear = site.symbol in ("Wh", "W h", "sᵀW")
        yield site.changed(
            "W on the wrong side in the multiplicative score" if is_bilinear else "weights transposed", w=w.T
        )
    yield from _other_weights(site, w)
    yield from _other_states(site)
    yield from reset_after_rules(site)


def _other_weights(site: Site, w: Array) -> Iterator[Variant]:
    """Calculate the product with the weights of another role of the same layer: V computed with W_K."""
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
            name = f"{own} computed with {re.sub(r'[₀-₉]', '', site.graph.givens[other.name].symbol)}"
            biases = [site.inputs.get("b"), Site(site.graph, index, site.fetch).inputs.get("b")]
            for bias in dict.fromkeys(map(id, biases)):
                chosen = next(candidate for candidate in biases if id(candidate) == bias)
                yield site.changed(name, w=weights, b=chosen)


def _layer(where: str) -> str:
    """Return the path of a layer without the role."""
    return where.rpartition(".")[0] if where.rpartition(".")[2] in ("query", "key", "value") else where


def _transform(site: Site) -> Iterator[Variant]:
    w = site.inputs["w"]
    if site.inputs.get("b") is not None:
        yield site.changed("bias forgotten", b=None)
    if w.shape[0] == w.shape[1]:
        is_bilinear = site.symbol == "Wh"
        yield site.changed(
            "W on the wrong side in the multiplicative score" if is_bilinear else "weights transposed", w=w.T
        )
    yield from _other_weights(site, w)
    yield from _other_states(site)
    yield from reset_after_rules(site)


def _other_states(site: Site) -> Iterator[Variant]:
    """Calculate a recurrent step from the state of another time step."""
    if site.where[-1] != "from_state" or _is_reset(site.graph, site.graph.sources[site.index]["x"]):
        return
    tried: list[Source] = [site.graph.sources[site.index]["x"]]
    for index, record in enumerate(site.graph.records):
        is_alike = record.step.name == site.step and record.where.endswith("from_state") and index != site.index
        source = site.graph.sources[index].get("x") if is_alike else None
        is_state = source is not None and not _is_reset(site.graph, source)
        if source is not None and is_state and source not in tried and _is_before(source, site.index):
            tried.append(source)
            yield site.changed("h_t used for h_{t−1}", x=site.fetch(source))


def _is_reset(graph: Graph, source: Source) -> bool:
    """Return whether an input is r ⊙ h of a GRU, and not a state."""
    return (
        isinstance(source, FromRecord)
        and graph.records[source.index].step.name == "multiply"
        and (graph.records[source.index].where.endswith(".reset"))
    )


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
    yield site.changed("subtracted instead of added", b=-b)
    yield worked("multiplied instead of added", "multiply", {"a": first, "b": second})
    yield from gate_sum_rules(site)
    yield from mixed_state_rules(site)


def _multiply(site: Site) -> Iterator[Variant]:
    a, b = site.inputs["a"], site.inputs["b"]
    yield worked("added instead of multiplied", "add", {"a": a, "b": b})
    yield from gate_product_rules(site)


def _activate(site: Site) -> Iterator[Variant]:
    x, function = site.inputs["x"], site.inputs["function"]
    name = {"relu": "ReLU"}.get(function, function)
    if function == "tanh" and site.symbol == "T":
        yield Variant("additive score without tanh", x + 0.0)
    else:
        yield Variant(f"{name} forgotten", x + 0.0)
    for other in ("relu", "tanh", "sigmoid"):
        if other != function:
            yield site.changed(f"{other} instead of {function}", function=other)


def _convolve(site: Site) -> Iterator[Variant]:
    inputs = site.inputs
    yield site.changed("filter reversed", taps=tuple(reversed(inputs["taps"])))
    if inputs.get("b") is not None:
        yield site.changed("bias forgotten", b=None)


def _loss(site: Site) -> Iterator[Variant]:
    value = REFERENCE["loss"](**site.inputs)
    yield Variant("minus forgotten", -value)
    yield Variant("logarithm to base 10", value / math.log(10.0))
    yield Variant("logarithm to base 2", value / math.log(2.0))
    yield Variant("logarithm forgotten", np.exp(-value))


def _gradient(site: Site) -> Iterator[Variant]:
    yield Variant("target minus probability", -REFERENCE["gradient"](**site.inputs))
    yield Variant("target forgotten", site.inputs["probabilities"] + 0.0)


def _cosine(site: Site) -> Iterator[Variant]:
    yield Variant("not divided by the lengths", site.inputs["dots"] + 0.0)


def _length(site: Site) -> Iterator[Variant]:
    yield Variant("square root forgotten", np.sum(site.inputs["x"] ** 2, axis=-1, keepdims=True))


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
    "complement": complement_rules,
    "activate": _activate,
    "exponentiate": exponentiate_rules,
    "row_sum": row_sum_rules,
    "mean": mean_rules,
    "variance": variance_rules,
    "deviation": deviation_rules,
    "normalise": normalise_rules,
    "position": position_rules,
    "angle": angle_rules,
    "rotate": rotate_rules,
    "convolve": _convolve,
    "loss": _loss,
    "gradient": _gradient,
    "cosine": _cosine,
    "length": _length,
    "idf": _idf,
    "kernel": _kernel,
    "copy": copy_rules,
}


def variants(site: Site, shape: tuple[int, ...]) -> Iterator[Variant]:
    """Return the values that each misconception gives at a record; those of another shape are omitted."""
    make = MISCONCEPTIONS.get(site.step)
    if make is None:
        return
    with np.errstate(all="ignore"):
        for variant in make(site):
            if variant.value.shape == shape and not np.any(np.isnan(variant.value)):
                yield variant

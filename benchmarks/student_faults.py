"""What students do wrong: slips of arithmetic, slips of the pen, and misconceptions, each worked by the wrong rule.

Whether a fault is large (two units at least, and outside of what rounding can do) is decided by drawing the lines
above at random within their digits, so that nothing here depends on the bounds of the marker.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.reference import NORM_AXES, REFERENCE
from student_problems import Exercise
from students import (
    Deeds,
    Desk,
    Inputs,
    MeaninglessError,
    Spoil,
    Style,
    Written,
    Wrong,
    compute,
    digits_text,
    random_style,
    read_text,
    work,
)

SAMPLES = 48
SPREAD = 2.0  # random draws seldom meet the corners of a box: what they show is widened by this
PEN_SLIPS = ("digit changed", "digits swapped", "sign", "decimal slip", "two cells swapped", "rows and columns swapped")
SUM_SLIPS = ("product wrong", "term left out", "term with the wrong sign", "off by some units")
ALSO = {  # names that say the same; the second form is for a sheet with tokens as columns
    "softmax down the columns": ("softmax along the rows",),
    "QK instead of QKᵀ": ("KQ instead of KᵀQ",),
    "KQᵀ": ("QᵀK",),
    "WX instead of XW": ("XW instead of WX",),
    "AᵀV": ("VWᵀ", "VAᵀ"),
    "mask after softmax": ("weights not renormalised",),
    "additive score without tanh": ("tanh forgotten",),
    "norm before/after add": ("norm before add", "norm after add"),
}
NAMES = (
    "no scaling",
    "divided by d_k",
    "divided by √d_model in multi-head",
    "softmax down the columns",
    "softmax over the whole matrix",
    "no exp (divided by the sum)",
    "base 2",
    "base 3",
    "base 10",
    "mask after softmax",
    "mask with 0 instead of −∞",
    "mask transposed",
    "QK instead of QKᵀ",
    "KQᵀ",
    "WX instead of XW",
    "AᵀV",
    "V made with W_K",
    "weights not renormalised",
    "heads joined in the wrong order",
    "W_O forgotten",
    "residual forgotten",
    "normalised over tokens",
    "n−1 in the variance",
    "ε outside the root",
    "norm before/after add",
    "position's 2i taken as the dimension",
    "position and dimension swapped",
    "positions from 1",
    "degrees",
    "sine and cosine in blocks",
    "ReLU forgotten",
    "bias forgotten",
    "tanh forgotten",
    "h_t used for h_{t−1}",
    "the bilinear W on the wrong side",
    "additive score without tanh",
)
FORGOTTEN_LINES = frozenset({"no scaling", "ReLU forgotten", "tanh forgotten", "additive score without tanh"})
RARE = frozenset(
    {
        *NAMES[25:30],  # positions
        "divided by √d_model in multi-head",
        "W_O forgotten",
        "weights not renormalised",
        "norm before/after add",
        "the bilinear W on the wrong side",
        "additive score without tanh",
    }
)


@dataclass(frozen=True)
class Fault:
    """One thing done wrong. `cells` (tokens as rows) are the ones that it spoils; `roots` the lines that show it."""

    name: str
    is_misconception: bool
    index: int
    deeds: Deeds
    is_copied: bool = False  # the pen slipped, and the work went on from the right number
    is_line_missing: bool = False
    variant: int = 0  # of a misconception: its number among all that apply to the line

    @property
    def accepted_names(self) -> tuple[str, ...]:
        """What a marker may call it."""
        return (self.name, *ALSO.get(self.name, ()))


@dataclass(frozen=True)
class Spoilt:
    """A sheet with faults: where each shows, and whether it is large."""

    desk: Desk
    faults: tuple[Fault, ...]
    cells: tuple[dict[int, list[tuple[int, int]]], ...]  # of each fault: the spoilt cells of each line that shows it
    is_large: tuple[bool, ...]


# What rounding can do


def image(desk: Desk, index: int) -> tuple[Any, tuple[Any, Any]]:
    """Return a line as the right rule gives it from the lines above as written, and the least and most it can be."""
    source = {id(record.value): number for number, record in enumerate(desk.trace)}
    draws = np.random.default_rng(index)
    outcomes = [_Sample(desk, source, draws, number).result(index) for number in range(SAMPLES)]
    stack = np.stack(outcomes)
    centre = stack[0]
    with np.errstate(all="ignore"):
        low = centre - SPREAD * (centre - stack.min(axis=0))
        high = centre + SPREAD * (stack.max(axis=0) - centre)
    return centre, (low, high)


class _Sample:
    """The lines above, each cell drawn within its digits (the first sample takes them as they are)."""

    def __init__(self, desk: Desk, source: dict[int, int], draws: np.random.Generator, number: int) -> None:
        self.desk, self.source, self.draws = desk, source, draws
        self.kind = "centre" if number == 0 else ("corner" if number % 2 else "inside")
        self.values: dict[int, Any] = {}
        self.style = replace(
            desk.style, euler=math.e + 0.01 * float(self.shake(())), pi=math.pi + 0.01 * float(self.shake(()))
        )

    def shake(self, shape: tuple[int, ...]) -> Any:
        if self.kind == "centre":
            return np.zeros(shape)
        if self.kind == "corner":
            return self.draws.choice([-1.0, 1.0], size=shape)
        return self.draws.uniform(-1.0, 1.0, size=shape)

    def result(self, index: int) -> Any:
        """The line by the right rule from what is above it."""
        record = self.desk.trace[index]
        inputs = {name: self.mine(value) for name, value in record.inputs.items()}
        if record.step.name == "scale" and "root_of" in inputs:
            root = math.sqrt(inputs["root_of"])
            return inputs["scores"] / (root + (0.01 * float(self.shake(())) if root % 1 else 0.0))
        return compute(record, inputs, self.style)

    def mine(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.mine(each) for each in value)
        return self.line(self.source[id(value)]) if id(value) in self.source else value

    def line(self, index: int) -> Any:
        if index not in self.values:
            line = self.desk.lines[index]
            is_written = line.texts != ""
            width = line.units * (1.0 if line.precision.way == "cut" else 0.5)
            value = line.values + width * self.shake(line.values.shape)
            if not np.all(is_written):
                redone = self.result(index)
                value = np.where(is_written, value, redone + line.units * self.shake(redone.shape))
            self.values[index] = value
        return self.values[index]


def large_cells(desk: Desk, index: int, cells: list[tuple[int, int]] | None = None) -> list[tuple[int, int]]:
    """Return the written cells that are two units or more from the right, and beyond what rounding can do."""
    line = desk.lines[index]
    centre, (low, high) = image(desk, index)
    large = []
    for place in cells if cells is not None else list(np.ndindex(line.texts.shape)):
        if not line.texts[place]:
            continue
        value, unit = float(line.values[place]), _unit(line, place)
        if math.isinf(value) or math.isinf(centre[place]):  # a mask in the wrong place
            if value != centre[place]:
                large.append(place)
            continue
        is_far = abs(value - centre[place]) >= 2 * unit
        if is_far and (value + unit / 2 < low[place] or value - unit / 2 > high[place]):
            large.append(place)
    return large


def _unit(line: Written, place: tuple[int, int]) -> float:
    text = line.texts[place]
    decimals = len(text.split(".")[1]) if "." in text and text.replace(".", "").lstrip("-−").isdigit() else None
    shown = 10.0**-decimals if decimals is not None else 0.0
    return max(shown, float(line.units[place]))


# Slips


def random_slip(desk: Desk, draw: random.Random, used: frozenset[int] = frozenset()) -> Fault | None:
    """Draw a slip in a written line of a faultless sheet."""
    written = [
        number
        for number, line in enumerate(desk.lines)
        if line.is_written and number not in used and line.record.step.name not in ("choose", "one_hot")
    ]
    if not written:
        return None
    index = draw.choice(written)
    if draw.random() < 0.5:
        return _pen_slip(desk, index, draw)
    return _sum_slip(desk, index, draw)


def _places(line: Written) -> list[tuple[int, int]]:
    return [place for place in np.ndindex(line.texts.shape) if line.texts[place] and np.isfinite(line.values[place])]


def products(record: Record, inputs: Inputs, row: int, column: int) -> list[float]:
    """Return the products whose sum is a cell."""
    match record.step.name:
        case "project":
            return list(inputs["x"][row] * inputs["w"][:, column])
        case "transform":
            return list(inputs["x"][row] * inputs["w"][column])
        case "score":
            return list(inputs["q"][row] * inputs["k"][column])
        case "mix":
            return list(inputs["weights"][row] * inputs["v"][:, column])
        case "add":
            both = np.broadcast_arrays(inputs["a"], inputs["b"])
            return [float(part[row, column]) for part in both]
        case _:
            return []


def _sum_slip(desk: Desk, index: int, draw: random.Random) -> Fault | None:
    line = desk.lines[index]
    place = draw.choice(_places(line) or [(0, 0)])
    terms = [term for term in products(line.record, desk.inputs(index), *place) if term and math.isfinite(term)]
    kinds = SUM_SLIPS[:3] if terms else SUM_SLIPS[3:]
    kind = draw.choice(kinds)
    if kind == "product wrong":
        term = draw.choice(terms)
        digits = f"{abs(term):.4f}".rstrip("0").rstrip(".")
        whole, _, rest = digits.partition(".")
        power = draw.choice([*range(len(whole)), *(-1 - k for k in range(len(rest)))])
        delta = draw.choice([-1, 1]) * draw.randint(1, 9) * 10.0**power
    elif kind == "term left out":
        delta = -draw.choice(terms)
    elif kind == "term with the wrong sign":
        delta = -2 * draw.choice(terms)
    else:
        delta = draw.choice([-1, 1]) * draw.randint(2, 99) * float(line.units[place] or 0.1)

    def wrong(desk: Desk, index: int, inputs: Inputs, right: Any) -> Any:
        changed = right.copy()
        changed[place] += delta
        return changed

    return Fault(kind, False, index, Deeds(wrong={index: wrong}, present=frozenset({index})))


def _pen_slip(desk: Desk, index: int, draw: random.Random) -> Fault | None:
    line = desk.lines[index]
    kinds = [kind for kind in PEN_SLIPS if kind != PEN_SLIPS[5] or line.texts.shape[0] == line.texts.shape[1] > 1]
    kind, is_copied = draw.choice(kinds), draw.random() < 0.5
    token = draw.random()  # the slip is drawn from this, so that it comes out the same on every sheet

    def spoil(line: Written) -> None:
        _spoil(line, kind, random.Random(token), is_copied, desk.style)

    return Fault(kind, False, index, Deeds(spoilt={index: spoil}, present=frozenset({index})), is_copied)


def _spoil(line: Written, kind: str, draw: random.Random, is_copied: bool, style: Style) -> None:
    places = _places(line)
    if not places:
        return
    changes: dict[tuple[int, int], tuple[int, int]] = {}
    if kind == "rows and columns swapped":
        changes = {place: (place[1], place[0]) for place in np.ndindex(line.texts.shape)}
    elif kind == "two cells swapped":
        row = draw.choice(places)[0]
        there = [place for place in places if place[0] == row]
        if len(there) > 1:
            one, other = draw.sample(there, 2)
            changes = {one: other, other: one}
    if changes:
        texts, values, units, own = (part.copy() for part in (line.texts, line.values, line.units, line.own))
        for place, other in changes.items():
            line.texts[place], line.values[place], line.units[place] = texts[other], values[other], units[other]
            if not is_copied:
                line.own[place] = own[other]
        return
    place = draw.choice(places)
    text = _slipped(line.texts[place], kind, draw, style, line, place)
    line.texts[place], line.values[place] = text, read_text(text)
    if not is_copied:
        line.own[place] = line.values[place]


def _slipped(text: str, kind: str, draw: random.Random, style: Style, line: Written, place: tuple[int, int]) -> str:
    end = next((number for number, mark in enumerate(text) if mark in "e×\\*%"), len(text))
    digits = [number for number in range(end) if text[number].isdigit()]
    if kind == "digit changed":
        at = draw.choice(digits)
        other = draw.choice([digit for digit in "0123456789" if digit != text[at]])
        return text[:at] + other + text[at + 1 :]
    if kind == "digits swapped":
        pairs = [(a, b) for a, b in pairwise(digits) if text[a] != text[b]]
        if not pairs:
            return text
        a, b = draw.choice(pairs)
        swapped = list(text)
        swapped[a], swapped[b] = swapped[b], swapped[a]
        return "".join(swapped)
    if kind == "sign":
        return text[1:] if text[0] in "-−" else f"{style.minus}{text}"
    kept = line.precision.kept(float(line.values[place]))
    moved = kept.scaleb(draw.choice([-1, 1]))
    return digits_text(moved, replace(style, percent=False, drops_zeros=0.0), draw)


# Misconceptions


@dataclass(frozen=True)
class Belief:
    """A wrong rule that can be applied to a line; `absent` are lines that such a student does not write."""

    name: str
    index: int
    wrong: Wrong
    absent: frozenset[int] = frozenset()
    variant: int = 0


def beliefs(desk: Desk) -> list[Belief]:
    """Return every misconception that applies to a problem, line by line."""
    finder = _Finder(desk)
    return [belief for index, record in enumerate(desk.trace) for belief in finder.of(index, record)]


class _Finder:
    """Looks for lines that a wrong rule can be applied to."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.source = {id(record.value): number for number, record in enumerate(desk.trace)}
        self.given = {id(given.value): given.name for given in desk.trace.givens.values()}

    def made(self, value: Any) -> Record | None:
        """The record that made a value."""
        return self.desk.trace[self.source[id(value)]] if id(value) in self.source else None

    def of(self, index: int, record: Record) -> list[Belief]:
        find = getattr(self, f"of_{record.step.name}", None)
        found: list[Belief] = []

        def add(name: str, rule: Callable[[Inputs], Any], absent: frozenset[int] = frozenset()) -> None:
            def wrong(desk: Desk, number: int, inputs: Inputs, right: Any) -> Any:
                return np.asarray(rule(inputs), dtype=np.float64)

            found.append(Belief(name, index, wrong, absent, len(found)))

        if find:
            find(index, record, add)
        return found

    def of_scale(self, index: int, record: Record, add: Any) -> None:
        root, divisor = record.inputs.get("root_of"), record.inputs.get("divisor")
        if root == 1 or divisor == 1:
            return
        add("no scaling", lambda inputs: inputs["scores"].copy())
        score = self.made(record.inputs["scores"])
        if root is None or score is None or score.step.name != "score":
            return
        width = score.inputs["q"].shape[1]
        if root == width:
            add("divided by d_k", lambda inputs: inputs["scores"] / root)
        if "head." in record.where and root == width:
            d_model = self._asking_width(score.inputs["q"])
            if d_model not in (None, width, width * width):
                add("divided by √d_model in multi-head", lambda inputs: inputs["scores"] / math.sqrt(d_model))

    def _asking_width(self, q: Any) -> int | None:
        maker = self.made(q)
        while maker is not None and maker.step.name in ("rotate", "split"):
            maker = self.made(maker.inputs["x"])
        return maker.inputs["x"].shape[1] if maker is not None and maker.step.name == "project" else None

    def of_softmax(self, index: int, record: Record, add: Any) -> None:
        softmax, base = REFERENCE["softmax"], record.inputs.get("base")
        if record.value.shape[0] > 1:
            add("softmax down the columns", lambda inputs: softmax(inputs["scores"].T.copy(), base).T.copy())
            add(
                "softmax over the whole matrix",
                lambda inputs: softmax(inputs["scores"].reshape(1, -1), base).reshape(inputs["scores"].shape),
            )

        def shares(inputs: Inputs) -> Any:
            scores = np.where(np.isneginf(inputs["scores"]), 0.0, inputs["scores"])
            totals = scores.sum(axis=1, keepdims=True)
            if np.any(np.abs(totals) < 1e-6):
                raise MeaninglessError("divided by 0")
            return scores / totals

        add("no exp (divided by the sum)", shares)
        if base is None:
            for other in (2, 3, 10):
                add(f"base {other}", lambda inputs, other=other: softmax(inputs["scores"], float(other)))
        mask = self.made(record.inputs["scores"])
        if mask is not None and mask.step.name == "mask":

            def late(inputs: Inputs) -> Any:
                return softmax(self.desk.mine(mask.inputs["scores"]), base) * mask.inputs["allowed"]

            add("mask after softmax", late, frozenset({self.source[id(record.inputs["scores"])]}))

    def of_mask(self, index: int, record: Record, add: Any) -> None:
        allowed, fill = record.inputs["allowed"], record.inputs["fill"]
        if math.isinf(fill):
            add("mask with 0 instead of −∞", lambda inputs: np.where(allowed > 0, inputs["scores"], 0.0))
        if allowed.shape[0] == allowed.shape[1] and not np.array_equal(allowed, allowed.T):
            add("mask transposed", lambda inputs: np.where(allowed.T > 0, inputs["scores"], fill))

    def of_divide(self, index: int, record: Record, add: Any) -> None:
        mask = self.made(record.inputs["scores"])
        if mask is not None and mask.step.name == "mask" and mask.symbol == "A₀":
            add("weights not renormalised", lambda inputs: inputs["scores"].copy())

    def of_score(self, index: int, record: Record, add: Any) -> None:
        q, k = record.inputs["q"], record.inputs["k"]
        if q is k or len(q) == 1:
            return
        if k.shape[0] == k.shape[1]:
            add("QK instead of QKᵀ", lambda inputs: inputs["q"] @ inputs["k"])
        if len(q) == len(k):
            add("KQᵀ", lambda inputs: inputs["k"] @ inputs["q"].T)

    def of_project(self, index: int, record: Record, add: Any) -> None:
        x, w, b = (record.inputs.get(name) for name in ("x", "w", "b"))
        plus = (lambda y, inputs: y + inputs["b"]) if b is not None else (lambda y, inputs: y)
        is_bilinear = record.where == "attention.key" and record.symbol == "Wh"
        if x.shape[0] == x.shape[1] == w.shape[0] == w.shape[1] and not is_bilinear:
            add("WX instead of XW", lambda inputs: plus(inputs["w"] @ inputs["x"], inputs))
        if b is not None:
            add("bias forgotten", lambda inputs: inputs["x"] @ inputs["w"])
        name = self.given.get(id(w), "")
        if name.endswith("W_O") and w.shape[0] == w.shape[1]:
            add("W_O forgotten", lambda inputs: inputs["x"].copy())
        if name.endswith("W_V"):
            key_name = f"{name[:-1]}K"
            key = self.desk.trace.givens.get(key_name)
            if key is not None and key.value.shape == w.shape:
                add("V made with W_K", lambda inputs: plus(inputs["x"] @ key.value, inputs))
        if is_bilinear and w.shape[0] == w.shape[1]:
            add("the bilinear W on the wrong side", lambda inputs: inputs["x"] @ inputs["w"].T)
        self._other_state(record, add)

    def of_transform(self, index: int, record: Record, add: Any) -> None:
        w = record.inputs["w"]
        if record.inputs.get("b") is not None:
            add("bias forgotten", lambda inputs: inputs["x"] @ inputs["w"].T)
        if record.where.endswith("attention.key") and record.symbol == "Wh" and w.shape[0] == w.shape[1]:
            add("the bilinear W on the wrong side", lambda inputs: inputs["x"] @ inputs["w"])
        self._other_state(record, add)

    def _other_state(self, record: Record, add: Any) -> None:
        if not record.where.endswith("from_state"):
            return
        parts = record.where.split(".")
        time = parts.index("time") + 1
        parts[time] = str(int(parts[time]) - 1)
        earlier = self.desk.trace.find(step=record.step.name, where=".".join(parts))
        if earlier:
            state = earlier[0].inputs["x"]
            step = REFERENCE[record.step.name]
            add("h_t used for h_{t−1}", lambda inputs: step(**{**inputs, "x": self.desk.mine(state)}))

    def of_convolve(self, index: int, record: Record, add: Any) -> None:
        if record.inputs.get("b") is not None:
            add("bias forgotten", lambda inputs: REFERENCE["convolve"](**{**inputs, "b": None}))

    def of_activate(self, index: int, record: Record, add: Any) -> None:
        names = {"relu": "ReLU forgotten", "tanh": "tanh forgotten"}
        name = names.get(record.inputs["function"], "")
        if record.where.endswith("attention.key"):
            name = "additive score without tanh"
        if name:
            add(name, lambda inputs: inputs["x"].copy())

    def of_mix(self, index: int, record: Record, add: Any) -> None:
        weights = record.inputs["weights"]
        if weights.shape[0] == weights.shape[1]:
            add("AᵀV", lambda inputs: inputs["weights"].T @ inputs["v"])

    def of_join(self, index: int, record: Record, add: Any) -> None:
        parts = record.inputs["parts"]
        if record.where.endswith("output") and len({part.shape for part in parts}) == 1:
            add("heads joined in the wrong order", lambda inputs: REFERENCE["join"](parts=inputs["parts"][::-1]))

    def of_add(self, index: int, record: Record, add: Any) -> None:
        if "add_and_norm" in record.where:
            add("residual forgotten", lambda inputs: inputs["b"].copy())

    def of_variance(self, index: int, record: Record, add: Any) -> None:
        rows, columns = record.inputs["x"].shape
        count = {"features": columns, "tokens": rows, "all": rows * columns}[record.inputs["over"]]
        if count > 1 and record.inputs.get("counted") is None:
            variance = REFERENCE["variance"]
            add("n−1 in the variance", lambda inputs: variance(**inputs) * count / (count - 1))

    def of_normalise(self, index: int, record: Record, add: Any) -> None:
        mean, variance = self.made(record.inputs["mean"]), self.made(record.inputs["variance"])
        if mean is None or variance is None:
            return
        above = {self.source[id(record.inputs[name])] for name in ("mean", "variance")}
        rest = ("epsilon", "epsilon_outside", "gain", "shift")
        if record.inputs.get("epsilon"):

            def outside(inputs: Inputs) -> Any:
                other = {name: value for name, value in inputs.items() if name != "epsilon"}
                return REFERENCE["normalise"](**other, epsilon_outside=inputs["epsilon"])

            add("ε outside the root", outside)

        def normalised(inputs: Inputs, x: Any, over: str) -> Any:
            mu = x.mean(axis=NORM_AXES[over], keepdims=True)
            spread = ((x - mu) ** 2).mean(axis=NORM_AXES[over], keepdims=True)
            kept = {name: inputs[name] for name in rest if name in inputs}
            return REFERENCE["normalise"](x=x, mean=mu, variance=spread, **kept)

        over, counted = mean.inputs["over"], mean.inputs.get("counted")
        if over == "features" and record.value.shape[0] > 1:
            add("normalised over tokens", lambda inputs: normalised(inputs, inputs["x"], "tokens"), frozenset(above))
        total = self.made(record.inputs["x"])
        if total is not None and total.step.name == "add" and total.where == record.where and counted is None:
            a, b = total.inputs["a"], total.inputs["b"]
            absent = frozenset(above | {self.source[id(record.inputs["x"])]})
            mine = self.desk.mine

            def early(inputs: Inputs) -> Any:
                return mine(a) + normalised(inputs, mine(b), over)

            add("norm before/after add", early, absent)

    def of_position(self, index: int, record: Record, add: Any) -> None:
        if record.inputs["formula"] != "sinusoidal":
            return
        positions, dimensions = np.asarray(record.inputs["positions"]), np.asarray(record.inputs["dimensions"])
        width, base = record.inputs["width"], record.inputs["base"]
        reference = REFERENCE["position"]

        def table(pos: Any, dim: Any, exponent: Any, turn: float = 1.0) -> Any:
            angles = pos[:, None] / base ** (exponent[None, :] / width) * turn
            return np.where(dim[None, :] % 2 == 1, np.cos(angles), np.sin(angles))

        even = dimensions - dimensions % 2
        if not np.array_equal(even, dimensions):
            add(
                "position's 2i taken as the dimension",
                lambda inputs: reference(positions, dimensions, width, "sinusoidal-odd-exponent", base),
            )
        add("position's 2i taken as the dimension", lambda inputs: table(positions, dimensions, 2 * dimensions))
        add(
            "position and dimension swapped",
            lambda inputs: reference(dimensions.astype(float), positions.astype(int), width, "sinusoidal", base).T,
        )
        if np.array_equal(positions, np.arange(len(positions))):
            add("positions from 1", lambda inputs: reference(positions + 1, dimensions, width, "sinusoidal", base))
        add("degrees", lambda inputs: table(positions, dimensions, even, math.pi / 180))
        if np.array_equal(dimensions, np.arange(width)) and width % 2 == 0 and width > 2:

            def blocks(inputs: Inputs) -> Any:
                angles = REFERENCE["angle"](positions, width, base)
                return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

            add("sine and cosine in blocks", blocks)


def random_belief(desk: Desk, draw: random.Random, used: frozenset[int] = frozenset()) -> Fault | None:
    """Draw a misconception that applies; those that seldom apply are drawn more often where they do."""
    found: dict[str, list[Belief]] = {}
    for belief in beliefs(desk):
        if belief.index not in used and not belief.absent & used:
            found.setdefault(belief.name, []).append(belief)
    if not found:
        return None
    names = sorted(found)
    name = draw.choices(names, [8 if each in RARE else 1 for each in names])[0]
    belief = draw.choice(found[name])
    is_missing = belief.name in FORGOTTEN_LINES and draw.random() < 0.25
    absent = belief.absent | ({belief.index} if is_missing else frozenset())
    present = frozenset() if is_missing else frozenset({belief.index})
    deeds = Deeds(wrong={belief.index: belief.wrong}, absent=absent, present=present)
    return Fault(belief.name, True, belief.index, deeds, is_line_missing=is_missing, variant=belief.variant)


# Sheets with faults


def faulty(exercise: Exercise, seed: int, count: int = 1) -> Spoilt | None:
    """Return a sheet with `count` independent faults, or None where nothing could be spoilt."""
    style, draw = random_style(seed), random.Random(f"faults {seed}")
    clean = work(exercise, style, seed)
    for _ in range(10):
        faults: list[Fault] = []
        used: frozenset[int] = frozenset()
        for _ in range(count):
            pick = random_belief if draw.random() < 0.5 else random_slip
            fault = pick(clean, draw, used)
            if fault is None:
                break
            faults.append(fault)
            used |= {fault.index} | fault.deeds.absent
        if len(faults) < count:
            continue
        try:
            spoilt = _sheet(exercise, style, seed, faults)
        except MeaninglessError:
            continue
        if spoilt is not None:
            return spoilt
    return None


def _sheet(exercise: Exercise, style: Style, seed: int, faults: list[Fault]) -> Spoilt | None:
    wrong: dict[int, Wrong] = {}
    spoilt: dict[int, Spoil] = {}
    absent: frozenset[int] = frozenset()
    present: frozenset[int] = frozenset()
    for fault in faults:
        wrong |= {index: _fresh(fault, index) for index in fault.deeds.wrong}
        spoilt |= fault.deeds.spoilt
        absent, present = absent | fault.deeds.absent, present | fault.deeds.present
    desk = work(exercise, style, seed, Deeds(wrong, spoilt, absent, present - absent))
    cells, sizes = [], []
    for fault in faults:
        changed = {index: _changed(desk, fault, index) for index in _showing(desk, fault.index)}
        changed = {index: places for index, places in changed.items() if places}
        if not changed:
            return None
        large = {index: large_cells(desk, index, places) for index, places in changed.items()}
        needed = 2 if fault.is_misconception else 1
        cells.append(changed)
        sizes.append(sum(len(places) for places in large.values()) >= needed)
    return Spoilt(desk, tuple(faults), tuple(cells), tuple(sizes))


def _fresh(fault: Fault, index: int) -> Wrong:
    """A rule that looks up its own inputs at the desk must use the desk of this sheet, not the one it was found at."""
    if not fault.is_misconception:
        return fault.deeds.wrong[index]

    def wrong(desk: Desk, number: int, inputs: Inputs, right: Any) -> Any:
        return _Finder(desk).of(number, desk.trace[number])[fault.variant].wrong(desk, number, inputs, right)

    return wrong


def _showing(desk: Desk, index: int) -> list[int]:
    """The lines that show a fault: its own, or, where that was not written, the first ones below it that were."""
    if desk.lines[index].is_written:
        return [index]
    below: set[int] = set()
    target = desk.trace[index].value
    for number, record in enumerate(desk.trace):
        parts = [part for value in record.inputs.values() for part in (value if isinstance(value, tuple) else (value,))]
        if any(part is target for part in parts):
            below |= set(_showing(desk, number))
    return sorted(below)


def _changed(desk: Desk, fault: Fault, index: int) -> list[tuple[int, int]]:
    """The written cells that are not what the right rule gives, to half a unit or so."""
    line = desk.lines[index]
    centre = image(desk, index)[0] if index != fault.index or fault.deeds.absent else line.right
    places = []
    for place in np.ndindex(line.texts.shape):
        if line.texts[place] and line.values[place] != centre[place]:
            unit = _unit(line, place)
            if (
                math.isinf(line.values[place])
                or math.isinf(centre[place])
                or abs(line.values[place] - centre[place]) > unit * (1.0 if line.precision.way == "cut" else 0.5001)
            ):
                places.append(place)
    return places

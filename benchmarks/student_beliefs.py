"""Misconceptions: every wrong rule that can be applied to a line, worked as a student who believes it would.

The marker must report each one under the same name.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.steps import Record
from clearhead.worksheet.reference import NORM_AXES, REFERENCE
from students import Desk, Inputs, MeaninglessError, Wrong

ALSO = {  # names with the same meaning; the second one is for a sheet with tokens as columns
    "softmax down the columns": ("softmax along the rows",),
    "QK instead of QKᵀ": ("KQ instead of KᵀQ",),
    "KQᵀ instead of QKᵀ": ("QᵀK",),
    "WX instead of XW": ("XW instead of WX",),
    "AᵀV instead of AV": ("VWᵀ", "VAᵀ"),
    "mask after softmax": ("weights not renormalised",),
    "additive score without tanh": ("tanh forgotten",),
    "norm before the addition": ("norm before add", "norm after add"),
}
NAMES = (
    "no scaling",
    "divided by d_k",
    "divided by √d_model in multi-head attention",
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
    "KQᵀ instead of QKᵀ",
    "WX instead of XW",
    "AᵀV instead of AV",
    "V computed with W_K",
    "weights not renormalised",
    "heads joined in the wrong order",
    "W_O forgotten",
    "residual forgotten",
    "normalised over tokens",
    "n−1 in the variance",
    "ε outside the root",
    "norm before the addition",
    "2i in the exponent taken as the dimension",
    "position and dimension swapped",
    "positions from 1",
    "degrees instead of radians",
    "sine and cosine in blocks",
    "ReLU forgotten",
    "bias forgotten",
    "tanh forgotten",
    "h_t used for h_{t−1}",
    "W on the wrong side in the multiplicative score",
    "additive score without tanh",
)
FORGOTTEN_LINES = frozenset({"no scaling", "ReLU forgotten", "tanh forgotten", "additive score without tanh"})
RARE = frozenset(
    {
        *NAMES[25:30],  # positions
        "divided by √d_model in multi-head attention",
        "W_O forgotten",
        "weights not renormalised",
        "norm before the addition",
        "W on the wrong side in the multiplicative score",
        "additive score without tanh",
    }
)


@dataclass(frozen=True)
class Belief:
    """A misconception that can be applied to a line; `absent` are lines that such a student does not write."""

    name: str
    index: int
    wrong: Wrong
    absent: frozenset[int] = frozenset()
    variant: int = 0


def beliefs(desk: Desk) -> list[Belief]:
    """Return every misconception that applies to a problem, line by line."""
    finder = Finder(desk)
    return [belief for index, record in enumerate(desk.trace) for belief in finder.of(index, record)]


class Finder:
    """Finds the lines that a misconception can be applied to."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.source = {id(record.value): number for number, record in enumerate(desk.trace)}
        self.given = {id(given_value.value): given_value.name for given_value in desk.trace.givens.values()}

    def made(self, value: Any) -> Record | None:
        """Return the record that produced a value."""
        return self.desk.trace[self.source[id(value)]] if id(value) in self.source else None

    def of(self, index: int, record: Record) -> list[Belief]:
        find = getattr(self, f"of_{record.step.name}", None)
        beliefs: list[Belief] = []

        def add(name: str, rule: Callable[[Inputs], Any], absent: frozenset[int] = frozenset()) -> None:
            def wrong(desk: Desk, number: int, inputs: Inputs, right: Any) -> Any:
                return np.asarray(rule(inputs), dtype=np.float64)

            beliefs.append(Belief(name, index, wrong, absent, len(beliefs)))

        if find:
            find(index, record, add)
        return beliefs

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
                add("divided by √d_model in multi-head attention", lambda inputs: inputs["scores"] / math.sqrt(d_model))

    def _asking_width(self, q: Any) -> int | None:
        maker = self.made(q)
        while maker is not None and maker.step.name in ("rotate", "split"):
            maker = self.made(maker.inputs["x"])
        return maker.inputs["x"].shape[1] if maker is not None and maker.step.name == "project" else None

    def of_softmax(self, index: int, record: Record, add: Any) -> None:
        if "exponentials" in record.inputs:
            return  # a student who writes the exponentials divides these
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
            add("KQᵀ instead of QKᵀ", lambda inputs: inputs["k"] @ inputs["q"].T)

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
                add("V computed with W_K", lambda inputs: plus(inputs["x"] @ key.value, inputs))
        if is_bilinear and w.shape[0] == w.shape[1]:
            add("W on the wrong side in the multiplicative score", lambda inputs: inputs["x"] @ inputs["w"].T)
        self._other_state(record, add)

    def of_transform(self, index: int, record: Record, add: Any) -> None:
        w = record.inputs["w"]
        if record.inputs.get("b") is not None:
            add("bias forgotten", lambda inputs: inputs["x"] @ inputs["w"].T)
        if record.where.endswith("attention.key") and record.symbol == "Wh" and w.shape[0] == w.shape[1]:
            add("W on the wrong side in the multiplicative score", lambda inputs: inputs["x"] @ inputs["w"])
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
            add("AᵀV instead of AV", lambda inputs: inputs["weights"].T @ inputs["v"])

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
        if mean is None or variance is None or "deviation" in record.inputs:
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
            scale_and_shift = {name: inputs[name] for name in rest if name in inputs}
            return REFERENCE["normalise"](x=x, mean=mu, variance=spread, **scale_and_shift)

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

            add("norm before the addition", early, absent)

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
                "2i in the exponent taken as the dimension",
                lambda inputs: reference(positions, dimensions, width, "sinusoidal-odd-exponent", base),
            )
        add("2i in the exponent taken as the dimension", lambda inputs: table(positions, dimensions, 2 * dimensions))
        add(
            "position and dimension swapped",
            lambda inputs: reference(dimensions.astype(float), positions.astype(int), width, "sinusoidal", base).T,
        )
        if np.array_equal(positions, np.arange(len(positions))):
            add("positions from 1", lambda inputs: reference(positions + 1, dimensions, width, "sinusoidal", base))
        add("degrees instead of radians", lambda inputs: table(positions, dimensions, even, math.pi / 180))
        if np.array_equal(dimensions, np.arange(width)) and width % 2 == 0 and width > 2:

            def blocks(inputs: Inputs) -> Any:
                angles = REFERENCE["angle"](positions, width, base)
                return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

            add("sine and cosine in blocks", blocks)

"""Attention in a recurrent encoder-decoder: one decoder state attends to all encoder states.

eᵢ = score(s, hᵢ),  α = softmax(e),  a = Σ αᵢ hᵢ,  new state [a; s]
"""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.steps.vocabulary import ACTIVATE, ADD, JOIN, MIX, PROJECT, SCALE, SCORE, TRANSFORM
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Matrix, State, Tokens, Vector
from clearhead.worksheet.dense import StateOutputLayer
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.shapes import Shapes
from clearhead.worksheet.softmax import work_softmax

_NEEDS = {
    "dot": (),
    "scaled-dot": (),
    "multiplicative": ("W",),
    "additive": ("W_h", "W_s", "v"),
    "additive-concatenated": ("W", "v"),
}
_WEIGHTS = ("W", "W_h", "W_s", "v")


class Seq2SeqAttentionProblem(Problem):
    """Attention of one decoder state over the encoder states of a recurrent network."""

    summary: ClassVar[str] = (
        "attention in a recurrent encoder-decoder: scores, weights, context, new state; with an optional output layer"
    )

    kind: Literal["seq2seq-attention"] = "seq2seq-attention"
    h: Matrix = Field(description="the encoder states, one per row (per column in layout columns)")
    s: State = Field(description="the decoder state")
    score: Literal["dot", "scaled-dot", "multiplicative", "additive", "additive-concatenated"] = Field(
        "dot",
        description="dot: s·hᵢ; scaled-dot: s·hᵢ/√d; multiplicative: sᵀ W hᵢ; additive: vᵀ tanh(W_h hᵢ + W_s s); "
        "additive-concatenated: vᵀ tanh(W [hᵢ; s])",
    )
    order: Literal["s(Wh)", "(sW)h"] = Field(
        "s(Wh)",
        description="the order of the products in the multiplicative score: s(Wh) computes W hᵢ first, (sW)h computes "
        "sᵀW first",
    )
    W: Matrix | None = Field(
        None, description="weights of the multiplicative or additive-concatenated score, on the left of the state"
    )
    W_h: Matrix | None = Field(None, description="weights of the encoder states in the additive score")
    W_s: Matrix | None = Field(None, description="weights of the decoder state in the additive score")
    v: Vector | None = Field(None, description="the vector v of the additive scores")
    W_c: Matrix | None = Field(None, description="weights of the new state tanh(W_c [a; s])")
    output: StateOutputLayer | None = Field(
        None, description="an output layer on the new state, softmax(W s + b): {W, b, activation, classes}"
    )
    tokens: Tokens = Field((), description="names of the encoder states")

    def mistakes(self, shapes: Shapes) -> None:
        """Report weights that are missing, unused or of the wrong shape."""
        needs = _NEEDS[self.score]
        for name in _WEIGHTS:
            if name in needs and getattr(self, name) is None:
                shapes.add(
                    ("score", name), f"score {self.score} needs {name}: {type(self).model_fields[name].description}."
                )
            if name not in needs and getattr(self, name) is not None:
                shapes.add(
                    ("score", name), f"score {self.score} does not use {name}. Remove it, or choose another score."
                )
        shapes.names("tokens", self.tokens, "h", shapes.tokens(self.h))
        width, state = shapes.width(self.h), len(self.s)
        if self.score in ("dot", "scaled-dot") and width != state:
            shapes.add(
                ("h", "s", "score"),
                f"the states in h are {width} wide and s is {state} wide, so they have no dot product. "
                f"Give s {width} numbers, or use score: multiplicative or additive.",
            )
        if self.score == "multiplicative" and self.W is not None:
            self._check_weights(shapes, "W", self.W, ("s", state), ("h", width))
        if self.score == "additive-concatenated" and self.W is not None and self.v is not None:
            self._check_weights(shapes, "W", self.W, ("v", len(self.v)), ("[h; s]", width + state))
        if self.score == "additive" and self.W_h is not None and self.W_s is not None and self.v is not None:
            self._check_weights(shapes, "W_h", self.W_h, ("v", len(self.v)), ("h", width))
            self._check_weights(shapes, "W_s", self.W_s, ("v", len(self.v)), ("s", state))
        if self.W_c is not None:
            self._check_weights(shapes, "W_c", self.W_c, None, ("[a; s]", width + state))
        if self.order != "s(Wh)" and self.score != "multiplicative":
            shapes.add(
                ("order", "score"),
                f"score {self.score} does not use order. Remove it, or choose score: multiplicative.",
            )
        if self.output is not None:
            new_state = width + state if self.W_c is None else len(self.W_c)
            self.output.output_mistakes(shapes, "the new state", new_state)

    def _check_weights(
        self, shapes: Shapes, name: str, weights: Array, rows: tuple[str, int] | None, columns: tuple[str, int]
    ) -> None:
        """Check weights on the left of a vector; `rows` and `columns` are the names and widths they must match."""
        shape = f"{name} is {weights.shape[0]} × {weights.shape[1]}"
        if rows is not None and weights.shape[0] != rows[1]:
            output, length = rows
            shapes.add((name, output), f"{shape}, but {output} has {length} numbers. Give {name} {length} rows.")
        if weights.shape[1] != columns[1]:
            source, width = columns
            shapes.add((name, source), f"{shape}, but {source} is {width} wide. Give {name} {width} columns.")

    def work(self, pen: Pen) -> None:
        """Write scores, weights, context and new state."""
        names = self.tokens or tuple(f"h{i}" for i in range(1, self.h.shape[pen.layout == "columns"] + 1))
        h = pen.give("h", self.h, rows=names)
        s = pen.give_vector("s", self.s, rows=("s",))
        scores = self._work_scores(pen.at("attention"), h, s)
        weights = work_softmax(pen.at("attention"), scores, symbol="α")
        context = pen.at("attention").work(MIX, symbol="a", weights=weights, v=h)
        state = pen.at("state").work(JOIN, symbol="s′", parts=(context, s))
        if self.W_c is not None:
            before = self._transform(pen.at("state"), "W_c", self.W_c, state, "W_c s′")
            state = pen.at("state").work(ACTIVATE, symbol="s̃", x=before, function="tanh")
        if self.output is not None:
            self.output.work_output(pen.at("output"), state)

    def _work_scores(self, pen: Pen, h: Array, s: Array) -> Array:
        if self.score == "dot":
            return pen.work(SCORE, symbol="e", q=s, k=h)
        if self.score == "scaled-dot":
            raw = pen.work(SCORE, symbol="e", q=s, k=h)
            return pen.work(SCALE, symbol="e′", scores=raw, root_of=s.shape[1])
        if self.score == "multiplicative":
            assert self.W is not None
            if self.order == "(sW)h":
                return pen.work(SCORE, symbol="e", q=self._weighted_state(pen.at("query"), self.W, s), k=h)
            return pen.work(SCORE, symbol="e", q=s, k=self._transform(pen.at("key"), "W", self.W, h, "Wh"))
        assert self.v is not None
        if self.score == "additive-concatenated":
            assert self.W is not None
            pairs = pen.at("key").work(JOIN, symbol="[h; s]", parts=(h, s))
            before = self._transform(pen.at("key"), "W", self.W, pairs, "W[h; s]")
        else:
            assert self.W_h is not None
            assert self.W_s is not None
            keys = self._transform(pen.at("key"), "W_h", self.W_h, h, "W_h h")
            query = self._transform(pen.at("query"), "W_s", self.W_s, s, "W_s s")
            before = pen.at("key").work(ADD, symbol="U", a=keys, b=query)
        activated = pen.at("key").work(ACTIVATE, symbol="T", x=before, function="tanh")
        v = pen.give_as_rows("v", self.v[None, :], rows=("s",))
        return pen.work(SCORE, symbol="e", q=v, k=activated)

    def _weighted_state(self, pen: Pen, weights: Array, s: Array) -> Array:
        """Write sᵀW; with states as columns this is the product Wᵀ s."""
        w = pen.give("W", weights)
        if pen.layout == "columns":
            return pen.work(SCORE, symbol="Wᵀs", q=s, k=w)
        return pen.work(PROJECT, symbol="sᵀW", x=s, w=w)

    def _transform(self, pen: Pen, name: str, weights: Array, x: Array, symbol: str) -> Array:
        """Write W xᵢ. With tokens as columns this is the product W x."""
        w = pen.give(name, weights, symbol=name)
        return pen.work(PROJECT if pen.layout == "columns" else TRANSFORM, symbol=symbol, x=x, w=w)

"""The cells of a recurrent network: a plain cell, the gates of an LSTM and the gates of a GRU, one time step each.

plain   h = tanh(W x + U h + b)
LSTM    c = f ⊙ c + i ⊙ g, h = o ⊙ tanh(c)
GRU     h = (1 - z) ⊙ n + z ⊙ h
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from clearhead.steps.step import Step
from clearhead.steps.vocabulary import ACTIVATE, ADD, COMPLEMENT, MULTIPLY, PROJECT, TRANSFORM
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Matrix, Vector
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields
from clearhead.worksheet.shapes import Shapes, size

ResetPlace = Literal["before", "after"]
UpdateRule = Literal["keep", "replace"]


class CellWeights(ProblemFields):
    """W x + U h + b of a recurrent cell or of one of its gates, with the weights on the left."""

    W: Matrix = Field(description="weights of the input, one row for each number of the state")
    U: Matrix = Field(description="weights of the previous state, a square matrix")
    b: Vector | None = Field(None, description="bias")

    def cell_mistakes(self, shapes: Shapes, name: str, width: int, state: int) -> None:
        """Report weights that do not fit the input or the state."""
        for letter, matrix, columns, of in (("W", self.W, width, "an input"), ("U", self.U, state, "the state")):
            if matrix.shape != (state, columns):
                shapes.add(
                    (letter,),
                    f"{name}{letter} is {size(matrix)}, but the state has {state} numbers and {of} {columns}. "
                    f"Make it {state} × {columns}.",
                )
        if self.b is not None:
            shapes.vector(f"{name}b", self.b, state, f"the state has {state} numbers")

    def work_input(self, pen: Pen, name: str, x: Array) -> Array:
        """Write W x + b; `name` is the gate's letter, or empty for a plain cell."""
        w, b = pen.give(_named("W", name), self.W), _given_bias(pen, _named("b", name), self.b)
        bias = "" if b is None else f" + {_named('b', name)}"
        return pen.at("from_input").work(_product(pen), symbol=f"{_named('W', name)} x{bias}", x=x, w=w, b=b)

    def work_state(self, pen: Pen, name: str, h: Array) -> Array:
        """Write U h."""
        u = pen.give(_named("U", name), self.U)
        return pen.at("from_state").work(_product(pen), symbol=f"{_named('U', name)} h", x=h, w=u)

    def work_sum(self, pen: Pen, name: str, x: Array, h: Array, symbol: str) -> Array:
        """Write W x + U h + b."""
        return pen.work(
            ADD, symbol=_named(symbol, name), a=self.work_input(pen, name, x), b=self.work_state(pen, name, h)
        )

    def work_cell(self, pen: Pen, x: Array, h: Array, symbol: str) -> Array:
        """Write tanh(W x + U h + b)."""
        return pen.work(ACTIVATE, symbol=symbol, x=self.work_sum(pen, "", x, h, "z"), function="tanh")


class LstmGates(ProblemFields):
    """The four gates of an LSTM."""

    letters: ClassVar[dict[str, str]] = {"forget": "f", "input": "i", "candidate": "g", "output": "o"}

    forget: CellWeights = Field(description="forget gate, how much of the cell state to retain: {W, U, b}")
    input: CellWeights = Field(description="input gate, how much of the candidate to add: {W, U, b}")
    candidate: CellWeights = Field(description="candidate, the new content of the cell state: {W, U, b}")
    output: CellWeights = Field(description="output gate, how much of the cell state to output: {W, U, b}")

    def work_lstm(self, pen: Pen, x: Array, h: Array, c: Array, sub: str) -> tuple[Array, Array]:
        """Write c = f ⊙ c + i ⊙ g and h = o ⊙ tanh(c); return h and c."""
        gates = {}
        for gate, letter in self.letters.items():
            here, weights = pen.at(f"{gate}_gate"), getattr(self, gate)
            before = weights.work_sum(here, letter, x, h, "z")
            function = "tanh" if gate == "candidate" else "sigmoid"
            gates[gate] = here.work(ACTIVATE, symbol=f"{letter}{sub}", x=before, function=function)
        old_memory = pen.at("kept").work(MULTIPLY, symbol=f"kept{sub}", a=gates["forget"], b=c)
        new_memory = pen.at("new").work(MULTIPLY, symbol=f"new{sub}", a=gates["input"], b=gates["candidate"])
        memory = pen.work(ADD, symbol=f"c{sub}", a=old_memory, b=new_memory)
        shown = pen.work(ACTIVATE, symbol=f"tanh c{sub}", x=memory, function="tanh")
        return pen.work(MULTIPLY, symbol=f"h{sub}", a=gates["output"], b=shown), memory


class GruWeights(CellWeights):
    """W x + b and U h + c of a gate of a GRU; only some libraries have the second bias."""

    c: Vector | None = Field(None, description="a second bias, of the state: U h + c, as in PyTorch")

    def cell_mistakes(self, shapes: Shapes, name: str, width: int, state: int) -> None:
        """Report weights that do not fit the input or the state."""
        super().cell_mistakes(shapes, name, width, state)
        if self.c is not None:
            shapes.vector(f"{name}c", self.c, state, f"the state has {state} numbers")

    def work_state(self, pen: Pen, name: str, h: Array, symbol: str = "") -> Array:
        """Write U h + c."""
        u, c = pen.give(_named("U", name), self.U), _given_bias(pen, _named("c", name), self.c)
        return pen.at("from_state").work(_product(pen), symbol=symbol or self.state_symbol(name), x=h, w=u, b=c)

    def state_symbol(self, name: str, state: str = "h") -> str:
        """Return the symbol of U h + c for a gate and the symbol of its state."""
        return f"{_named('U', name)} {state}" + ("" if self.c is None else f" + {_named('c', name)}")


class GruGates(ProblemFields):
    """The three gates of a GRU."""

    letters: ClassVar[dict[str, str]] = {"reset": "r", "update": "z", "candidate": "n"}

    reset: GruWeights = Field(description="reset gate, how much of the state the candidate uses: {W, U, b, c}")
    update: GruWeights = Field(description="update gate, how the old state and the candidate are mixed: {W, U, b, c}")
    candidate: GruWeights = Field(description="candidate, the new content of the state: {W, U, b, c}")

    def work_gru(self, pen: Pen, x: Array, h: Array, sub: str, rules: "GruRules") -> Array:
        """Write the gates, the candidate and the new state."""
        gates = {}
        for gate in ("reset", "update"):
            here, letter, weights = pen.at(f"{gate}_gate"), self.letters[gate], getattr(self, gate)
            before = weights.work_sum(here, letter, x, h, "a")
            gates[gate] = here.work(ACTIVATE, symbol=f"{letter}{sub}", x=before, function="sigmoid")
        candidate = self._work_candidate(pen.at("candidate_gate"), x, h, gates["reset"], rules.reset, sub)
        return rules.work_update(pen, gates["update"], h, candidate, sub)

    def _work_candidate(self, pen: Pen, x: Array, h: Array, r: Array, place: ResetPlace, sub: str) -> Array:
        """Write tanh(W x + b + U (r ⊙ h)), or tanh(W x + b + r ⊙ (U h + c))."""
        weights = self.candidate
        from_input = weights.work_input(pen, "n", x)
        if place == "before":
            part = pen.at("reset").work(MULTIPLY, symbol="(r ⊙ h)", a=r, b=h)
            from_state = weights.work_state(pen, "n", part, weights.state_symbol("n", "(r ⊙ h)"))
        else:
            symbol = weights.state_symbol("n") if weights.c is None else f"({weights.state_symbol('n')})"
            state = weights.work_state(pen, "n", h, symbol)
            from_state = pen.at("reset").work(MULTIPLY, symbol=f"r ⊙ {symbol}", a=r, b=state)
        before = pen.work(ADD, symbol="a_n", a=from_input, b=from_state)
        return pen.work(ACTIVATE, symbol=f"n{sub}", x=before, function="tanh")


@dataclass(frozen=True)
class GruRules:
    """The two choices in which descriptions of the GRU differ."""

    reset: ResetPlace
    update: UpdateRule

    def sentences(self, gates: GruGates) -> tuple[str, str]:
        """Return both rules as notes for the sheet."""
        share, mixture = ("the old state", "(1 - z) ⊙ n + z ⊙ h")
        if self.update == "replace":
            share, mixture = ("the candidate", "(1 - z) ⊙ h + z ⊙ n")
        b = "" if gates.candidate.b is None else " + b"
        c = "" if gates.candidate.c is None else " + c"
        part = f"U (r ⊙ h){c}" if self.reset == "before" else f"r ⊙ (U h{c})" if c else "r ⊙ U h"
        other = "after" if self.reset == "before" else "before"
        return (
            f"z is the weight of {share}, h = {mixture}. Some textbooks exchange z and 1 - z.",
            f"the reset gate is applied {self.reset} the product with U, n = tanh(W x{b} + {part}). "
            f"Some textbooks apply it {other} the product.",
        )

    def work_update(self, pen: Pen, z: Array, h: Array, n: Array, sub: str) -> Array:
        """Write h = (1 - z) ⊙ n + z ⊙ h, or h = (1 - z) ⊙ h + z ⊙ n."""
        rest = pen.work(COMPLEMENT, symbol=f"(1 - z{sub})", x=z)
        old, new = (z, rest) if self.update == "keep" else (rest, z)
        old_part = pen.at("kept").work(MULTIPLY, symbol=f"kept{sub}", a=old, b=h)
        new_part = pen.at("new").work(MULTIPLY, symbol=f"new{sub}", a=new, b=n)
        return pen.work(ADD, symbol=f"h{sub}", a=old_part, b=new_part)


def _named(letter: str, gate: str) -> str:
    return f"{letter}_{gate}" if gate else letter


def _given_bias(pen: Pen, name: str, bias: Array | None) -> Array | None:
    return None if bias is None else pen.give(name, bias)


def _product(pen: Pen) -> Step:
    """Return the step that multiplies with the weights on the left."""
    return PROJECT if pen.layout == "columns" else TRANSFORM

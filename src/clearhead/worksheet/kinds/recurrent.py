"""A recurrent network that reads the tokens one by one: a plain cell or an LSTM."""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.steps.step import Step
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ACTIVATE, ADD, MULTIPLY, PICK, PROJECT, TRANSFORM
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Matrix, State, Vector
from clearhead.worksheet.dense import StateOutputLayer
from clearhead.worksheet.input_tokens import EmbeddedTokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem, ProblemFields
from clearhead.worksheet.shapes import Shapes, size

GATES = {"forget": "f", "input": "i", "candidate": "g", "output": "o"}


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

    def work_cell(self, pen: Pen, name: str, x: Array, h: Array, activation: str, symbol: str) -> Array:
        """Write f(W x + U h + b)."""
        step: Step = PROJECT if pen.layout == "columns" else TRANSFORM
        sub = f"_{name}" if name else ""
        w, u = pen.give(f"W{sub}", self.W), pen.give(f"U{sub}", self.U)
        b = None if self.b is None else pen.give(f"b{sub}", self.b)
        from_input = pen.at("from_input").work(
            step, symbol=f"W{sub} x{f' + b{sub}' if b is not None else ''}", x=x, w=w, b=b
        )
        from_state = pen.at("from_state").work(step, symbol=f"U{sub} h", x=h, w=u)
        both = pen.work(ADD, symbol=f"z{sub}", a=from_input, b=from_state)
        return pen.work(ACTIVATE, symbol=symbol, x=both, function=activation)


class LstmGates(ProblemFields):
    """The four gates of an LSTM."""

    forget: CellWeights = Field(description="forget gate, how much of the cell state to retain: {W, U, b}")
    input: CellWeights = Field(description="input gate, how much of the candidate to add: {W, U, b}")
    candidate: CellWeights = Field(description="candidate, the new content of the cell state: {W, U, b}")
    output: CellWeights = Field(description="output gate, how much of the cell state to output: {W, U, b}")


class RecurrentOutput(StateOutputLayer):
    """The output layer of a recurrent network, after the last token or after every token."""

    after: Literal["last", "every"] = Field(
        "last", description="last: one output after the last token; every: one output after every token"
    )


class RecurrentProblem(EmbeddedTokens, Problem):
    """A recurrent network that reads the tokens one by one: a plain cell or an LSTM."""

    summary: ClassVar[str] = (
        "a recurrent network, step by step: h = tanh(W x + U h + b), or an LSTM; with an optional output layer"
    )

    kind: Literal["recurrent"] = "recurrent"
    cell: CellWeights | None = Field(None, description="a plain cell: {W, U, b}")
    lstm: LstmGates | None = Field(None, description="an LSTM: {forget, input, candidate, output}, each {W, U, b}")
    h0: State = Field(description="the hidden state before the first token")
    c0: State | None = Field(None, description="for an LSTM: the cell state before the first token")
    output: RecurrentOutput | None = Field(
        None, description="an output layer, softmax(W h + b): {W, b, activation, classes, after}"
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Report missing values and shapes that do not fit."""
        self.embedding_mistakes(shapes)
        if (self.cell is None) == (self.lstm is None):
            shapes.add(("cell", "lstm"), "recurrent needs either cell or lstm, not both.")
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "recurrent needs X, or an embedding with tokens.")
            return
        width, state = self.size(shapes)[1], len(self.h0)
        if self.cell is not None:
            self.cell.cell_mistakes(shapes, "", width, state)
            if self.c0 is not None:
                shapes.add(("c0", "lstm"), "c0 is only for an lstm. Remove it.")
        if self.lstm is not None:
            for gate in GATES:
                getattr(self.lstm, gate).cell_mistakes(shapes, f"{gate}: ", width, state)
            if self.c0 is None:
                shapes.add(("lstm", "c0"), "an lstm needs c0: the cell state before the first token.")
            else:
                shapes.vector("c0", self.c0, state, f"the state has {state} numbers")
        if self.output is not None:
            self.output.output_mistakes(shapes, "the state", state)

    def work(self, pen: Pen) -> None:
        """Write the states in order."""
        x = self.work_embedding(pen.at("input"))
        h = pen.give_vector("h0", self.h0, symbol="h₀")
        c = None if self.c0 is None else pen.give_vector("c0", self.c0, symbol="c₀")
        for time in range(len(x)):
            here, sub = pen.at("time", time), subscript(time + 1)
            token = here.work(PICK, symbol=f"x{sub}", x=x, row=time + 1)
            if self.cell is not None:
                h = self.cell.work_cell(here, "", token, h, "tanh", f"h{sub}")
            elif self.lstm is not None and c is not None:
                h, c = self._lstm_step(here, token, h, c, sub)
            if self.output is not None and self.output.after == "every":
                self.output.work_output(here.at("output"), h, sub)
        if self.output is not None and self.output.after == "last":
            self.output.work_output(pen.at("output"), h)

    def _lstm_step(self, pen: Pen, x: Array, h: Array, c: Array, sub: str) -> tuple[Array, Array]:
        """c = f ⊙ c + i ⊙ g, h = o ⊙ tanh(c)"""
        gates = {}
        for gate, letter in GATES.items():
            activation = "tanh" if gate == "candidate" else "sigmoid"
            gates[gate] = getattr(self.lstm, gate).work_cell(
                pen.at(f"{gate}_gate"), letter, x, h, activation, f"{letter}{sub}"
            )
        old_memory = pen.at("kept").work(MULTIPLY, symbol=f"kept{sub}", a=gates["forget"], b=c)
        new_memory = pen.at("new").work(MULTIPLY, symbol=f"new{sub}", a=gates["input"], b=gates["candidate"])
        memory = pen.work(ADD, symbol=f"c{sub}", a=old_memory, b=new_memory)
        shown = pen.work(ACTIVATE, symbol=f"tanh c{sub}", x=memory, function="tanh")
        return pen.work(MULTIPLY, symbol=f"h{sub}", a=gates["output"], b=shown), memory

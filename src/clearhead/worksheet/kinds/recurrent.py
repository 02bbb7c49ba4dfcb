"""A recurrent network that reads the tokens one by one: a plain cell, an LSTM or a GRU."""

from typing import ClassVar, Literal

from pydantic import Field

from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import PICK
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import State
from clearhead.worksheet.dense import StateOutputLayer
from clearhead.worksheet.input_tokens import EmbeddedTokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import Problem
from clearhead.worksheet.recurrent_cells import CellWeights, GruGates, GruRules, LstmGates, ResetPlace, UpdateRule
from clearhead.worksheet.shapes import Shapes


class RecurrentOutput(StateOutputLayer):
    """The output layer of a recurrent network, after the last token or after every token."""

    after: Literal["last", "every"] = Field(
        "last", description="last: one output after the last token; every: one output after every token"
    )


class RecurrentProblem(EmbeddedTokens, Problem):
    """A recurrent network that reads the tokens one by one: a plain cell, an LSTM or a GRU."""

    summary: ClassVar[str] = (
        "a recurrent network, step by step: h = tanh(W x + U h + b), an LSTM or a GRU; with an optional output layer"
    )

    kind: Literal["recurrent"] = "recurrent"
    cell: CellWeights | None = Field(None, description="a plain cell: {W, U, b}")
    lstm: LstmGates | None = Field(None, description="an LSTM: {forget, input, candidate, output}, each {W, U, b}")
    gru: GruGates | None = Field(None, description="a GRU: {reset, update, candidate}, each {W, U, b, c}")
    reset: ResetPlace = Field(
        "after",
        description="for a GRU, where the reset gate is applied. after: after the product with U, "
        "n = tanh(W x + b + r ⊙ (U h + c)), as in cuDNN and PyTorch; before: before it, "
        "n = tanh(W x + b + U (r ⊙ h)), as in Cho et al. (2014)",
    )
    update: UpdateRule = Field(
        "keep",
        description="for a GRU, what the update gate z is the weight of. keep: the old state, h = (1 - z) ⊙ n + z ⊙ h, "
        "as in PyTorch and Cho et al. (2014); replace: the candidate, h = (1 - z) ⊙ h + z ⊙ n, as in Chung et al. "
        "(2014)",
    )
    h0: State = Field(description="the hidden state before the first token")
    c0: State | None = Field(None, description="for an LSTM: the cell state before the first token")
    output: RecurrentOutput | None = Field(
        None, description="an output layer, softmax(W h + b): {W, b, activation, classes, after}"
    )

    def mistakes(self, shapes: Shapes) -> None:
        """Report missing values and shapes that do not fit."""
        self.embedding_mistakes(shapes)
        if sum(cell is not None for cell in (self.cell, self.lstm, self.gru)) != 1:
            shapes.add(("cell", "lstm", "gru"), "recurrent needs exactly one of cell, lstm and gru.")
        for name in ("reset", "update"):
            if self.gru is None and name in self.model_fields_set:
                shapes.add((name, "gru"), f"{name} is only for a gru. Remove it.")
        if not self.is_given:
            shapes.add(("X", "embedding", "tokens"), "recurrent needs X, or an embedding with tokens.")
            return
        width, state = self.size(shapes)[1], len(self.h0)
        if self.cell is not None:
            self.cell.cell_mistakes(shapes, "", width, state)
        for gates in (self.lstm, self.gru):
            for gate in () if gates is None else gates.letters:
                getattr(gates, gate).cell_mistakes(shapes, f"{gate}: ", width, state)
        if self.lstm is None and self.c0 is not None:
            shapes.add(("c0", "lstm"), "c0 is only for an lstm. Remove it.")
        if self.lstm is not None and self.c0 is None:
            shapes.add(("lstm", "c0"), "an lstm needs c0: the cell state before the first token.")
        elif self.lstm is not None and self.c0 is not None:
            shapes.vector("c0", self.c0, state, f"the state has {state} numbers")
        if self.output is not None:
            self.output.output_mistakes(shapes, "the state", state)

    def work(self, pen: Pen) -> None:
        """Write the states in order."""
        if self.gru is not None:
            for sentence in GruRules(self.reset, self.update).sentences(self.gru):
                pen.warn(sentence)
        x = self.work_embedding(pen.at("input"))
        h = pen.give_vector("h0", self.h0, symbol="h₀")
        c = None if self.c0 is None else pen.give_vector("c0", self.c0, symbol="c₀")
        for time in range(len(x)):
            here, sub = pen.at("time", time), subscript(time + 1)
            token = here.work(PICK, symbol=f"x{sub}", x=x, row=time + 1)
            h, c = self._work_step(here, token, h, c, sub)
            if self.output is not None and self.output.after == "every":
                self.output.work_output(here.at("output"), h, sub)
        if self.output is not None and self.output.after == "last":
            self.output.work_output(pen.at("output"), h)

    def _work_step(self, pen: Pen, x: Array, h: Array, c: Array | None, sub: str) -> tuple[Array, Array | None]:
        """Write one time step; return the new state and, of an LSTM, the new cell state."""
        if self.lstm is not None and c is not None:
            return self.lstm.work_lstm(pen, x, h, c, sub)
        if self.gru is not None:
            return self.gru.work_gru(pen, x, h, sub, GruRules(self.reset, self.update)), None
        assert self.cell is not None
        return self.cell.work_cell(pen, x, h, f"h{sub}"), None

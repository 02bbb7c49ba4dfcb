"""Recurrent cells in two versions: PyTorch's fused kernels over a sequence, and one step with every number recorded.

LSTM: c = f ⊙ c + i ⊙ g, h = o ⊙ tanh(c), with f, i, o = σ(W x + b + U h + b′) and g = tanh(W x + b + U h + b′).
GRU: n = tanh(W x + b + r ⊙ (U h + b′)), h = (1 - z) ⊙ n + z ⊙ h, with r, z = σ(W x + b + U h + b′), as in PyTorch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ACTIVATE, ADD, COMPLEMENT, MULTIPLY, TRANSFORM

Cell = nn.GRU | nn.LSTM
_GATES: Mapping[type[nn.Module], Mapping[str, str]] = {  # in the order of PyTorch's weights, with their letters
    nn.LSTM: {"input": "i", "forget": "f", "candidate": "g", "output": "o"},
    nn.GRU: {"reset": "r", "update": "z", "candidate": "n"},
}


@dataclass(frozen=True, eq=False)
class CellState:
    """The state between two tokens: the hidden state h, and the cell state c of an LSTM."""

    hidden: Tensor
    memory: Tensor | None = None

    def changed(self, change: Callable[[Tensor], Tensor]) -> "CellState":
        """Return the state with `change` applied to both tensors."""
        return CellState(change(self.hidden), None if self.memory is None else change(self.memory))


def make_cell(kind: str, num_inputs: int, width: int) -> Cell:
    """Return a cell of that kind, `gru` or `lstm`."""
    return (
        nn.LSTM(num_inputs, width, batch_first=True) if kind == "lstm" else nn.GRU(num_inputs, width, batch_first=True)
    )


def initialise_cell(cell: Cell) -> None:
    """Set the biases to 0, but that of a forget gate to 1, so that an LSTM forgets little at first."""
    _, _, input_bias, state_bias = cell.all_weights[0]
    nn.init.zeros_(input_bias)
    nn.init.zeros_(state_bias)
    if isinstance(cell, nn.LSTM):
        with torch.no_grad():
            input_bias[cell.hidden_size : 2 * cell.hidden_size] = 1.0


def join_weights(cell: Cell) -> None:
    """Put the weights of a cell into one block of memory, as cuDNN wants them; its values and parameters stay the same.

    PyTorch does this itself when a cell moves to a GPU, but not in bfloat16: then every call copies the weights, and
    PyTorch warns about it.
    """
    weights = cell.all_weights[0]
    block = torch.cat([weight.detach().flatten() for weight in weights])
    parts = torch.split(block, [weight.numel() for weight in weights])
    for weight, part in zip(weights, parts, strict=True):
        weight.data = part.view_as(weight)


def run_cell(cell: Cell, x: Tensor, state: CellState | None = None) -> tuple[Tensor, CellState]:
    """Run the fused kernel over a sequence (N, T, D) and return the outputs (N, T, E) and the last state (N, E).

    The kernel of cuDNN keeps what gradients need only if it is called for training, which without dropout computes the
    same. It is therefore called so wherever gradients can be needed, also in eval mode, and not by `cell(x)`.
    """
    weights = tuple(cell.all_weights[0])
    x = x.to(weights[0].dtype)  # under autocast, cuDNN's kernel is only used for inputs in float32
    if state is None:
        zeros = x.new_zeros(len(x), cell.hidden_size)
        state = CellState(zeros, zeros)
    first = state.changed(lambda part: part.to(x.dtype)[None].contiguous())
    # has biases, layers, dropout, is training, is bidirectional, is batch first
    settings = (True, 1, 0.0, cell.training or torch.is_grad_enabled(), False, True)
    if isinstance(cell, nn.LSTM):
        assert first.memory is not None
        output, hidden, memory = torch.lstm(x, (first.hidden, first.memory), weights, *settings)
        return output, CellState(hidden[0], memory[0])
    output, hidden = torch.gru(x, first.hidden, weights, *settings)
    return output, CellState(hidden[0])


class TracedCell:
    """A cell whose steps are recorded one by one. Its weights are given once, where it is built.

    `state` is the symbol of its states, `h` unless a layer has two directions.
    """

    def __init__(self, cell: Cell, trace: Tracer, state: str = "h") -> None:
        self.letters, self._state = _GATES[type(cell)], state
        self._width, self._has_memory = cell.hidden_size, isinstance(cell, nn.LSTM)
        w, u, b, c = (weight.chunk(len(self.letters)) for weight in cell.all_weights[0])
        self._weights = {gate: (w[i], b[i], u[i], c[i]) for i, gate in enumerate(self.letters)}
        for gate, letter in self.letters.items():
            for name, weight in zip(("W", "b", "U", "c"), self._weights[gate], strict=True):
                trace.at(f"{gate}_gate").give(f"{name}_{letter}", weight)

    def start(self, x: Tensor, trace: Tracer) -> CellState:
        """Give and return the state of zeros before the first token x (…, D)."""
        zeros = x.new_zeros(*x.shape[:-1], self._width)
        trace.give("h0", zeros, symbol="h₀")
        if not self._has_memory:
            return CellState(zeros)
        memory = torch.zeros_like(zeros)
        trace.give("c0", memory, symbol="c₀")
        return CellState(zeros, memory)

    def step(self, x: Tensor, state: CellState, time: int, trace: Tracer) -> CellState:
        """Read one token x (…, D) at `time` and return the next state."""
        sub = subscript(time + 1)
        if state.memory is None:
            return CellState(self._gru(x, state.hidden, sub, trace))
        gates = {gate: self._gate(gate, "z", x, state.hidden, sub, trace) for gate in self.letters}
        old_part = gates["forget"] * state.memory
        trace.at("kept").record(MULTIPLY, old_part, symbol=f"kept{sub}", a=gates["forget"], b=state.memory)
        new_part = gates["input"] * gates["candidate"]
        trace.at("new").record(MULTIPLY, new_part, symbol=f"new{sub}", a=gates["input"], b=gates["candidate"])
        memory = old_part + new_part
        trace.record(ADD, memory, symbol=f"c{sub}", a=old_part, b=new_part)
        shown = torch.tanh(memory)
        trace.record(ACTIVATE, shown, symbol=f"tanh c{sub}", x=memory, function="tanh")
        hidden = gates["output"] * shown
        trace.record(MULTIPLY, hidden, symbol=f"{self._state}{sub}", a=gates["output"], b=shown)
        return CellState(hidden, memory)

    def _products(self, gate: str, x: Tensor, h: Tensor, trace: Tracer) -> tuple[Tensor, Tensor]:
        """Record W x + b and U h + c."""
        (w, b, u, c), letter = self._weights[gate], self.letters[gate]
        from_input, from_state = F.linear(x, w, b), F.linear(h, u, c)
        symbols = f"W_{letter} x + b_{letter}", f"U_{letter} h + c_{letter}"
        if letter == "n":  # of a GRU, which multiplies the sum by the reset gate
            symbols = symbols[0], f"({symbols[1]})"
        trace.at("from_input").record(TRANSFORM, from_input, symbol=symbols[0], x=x, w=w, b=b)
        trace.at("from_state").record(TRANSFORM, from_state, symbol=symbols[1], x=h, w=u, b=c)
        return from_input, from_state

    def _gate(self, gate: str, symbol: str, x: Tensor, h: Tensor, sub: str, trace: Tracer) -> Tensor:
        here, letter = trace.at(f"{gate}_gate"), self.letters[gate]
        from_input, from_state = self._products(gate, x, h, here)
        before = from_input + from_state
        here.record(ADD, before, symbol=f"{symbol}_{letter}", a=from_input, b=from_state)
        is_candidate = gate == "candidate"
        value = torch.tanh(before) if is_candidate else torch.sigmoid(before)
        here.record(ACTIVATE, value, symbol=f"{letter}{sub}", x=before, function="tanh" if is_candidate else "sigmoid")
        return value

    def _gru(self, x: Tensor, h: Tensor, sub: str, trace: Tracer) -> Tensor:
        r, z = (self._gate(gate, "a", x, h, sub, trace) for gate in ("reset", "update"))
        here = trace.at("candidate_gate")
        from_input, from_state = self._products("candidate", x, h, here)
        part = r * from_state
        here.at("reset").record(MULTIPLY, part, symbol="r ⊙ (U_n h + c_n)", a=r, b=from_state)
        before = from_input + part
        here.record(ADD, before, symbol="a_n", a=from_input, b=part)
        n = torch.tanh(before)
        here.record(ACTIVATE, n, symbol=f"n{sub}", x=before, function="tanh")
        rest = 1 - z
        trace.record(COMPLEMENT, rest, symbol=f"(1 - z{sub})", x=z)
        old_part, new_part = z * h, rest * n
        trace.at("kept").record(MULTIPLY, old_part, symbol=f"kept{sub}", a=z, b=h)
        trace.at("new").record(MULTIPLY, new_part, symbol=f"new{sub}", a=rest, b=n)
        hidden = old_part + new_part
        trace.record(ADD, hidden, symbol=f"{self._state}{sub}", a=old_part, b=new_part)
        return hidden

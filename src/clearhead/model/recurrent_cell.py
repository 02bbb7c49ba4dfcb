"""Recurrent cells in two versions: PyTorch's fused kernels over a sequence, and one step with every number recorded.

LSTM: c = f ⊙ c + i ⊙ g, h = o ⊙ tanh(c), with f, i, o = σ(W x + b + U h + b′) and g = tanh(W x + b + U h + b′).
GRU: n = tanh(W x + b + r ⊙ (U h + b′)), h = (1 - z) ⊙ n + z ⊙ h, with r, z = σ(W x + b + U h + b′), as in PyTorch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from clearhead.model.recorded_steps import activate_traced, add_traced, linear_traced, multiply_traced
from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import COMPLEMENT

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


@dataclass
class RecurrentState:
    """The states of B texts, one per row: each tensor of a layer is (B, 1, D)."""

    layers: list[CellState]
    fed: Tensor | None = None  # (B, 1, D), the last attentional state, with input feeding
    keys: Tensor | None = None  # (B, S, D), what attention compares with
    length: int = 0  # tokens so far, including padding

    def change(self, change: Callable[[Tensor], Tensor]) -> None:
        """Apply `change` to the tensors of each text, which have the axes (B, K, D)."""
        self.layers = [layer.changed(change) for layer in self.layers]
        self.fed = None if self.fed is None else change(self.fed)

    def keep_old(self, old: "RecurrentState", is_real: Tensor) -> None:
        """Return to the old state in the rows whose token was padding; `is_real` is (B, 1, 1)."""
        self.layers = [
            CellState(
                torch.where(is_real, new.hidden, before.hidden),
                None
                if new.memory is None or before.memory is None
                else torch.where(is_real, new.memory, before.memory),
            )
            for new, before in zip(self.layers, old.layers, strict=True)
        ]
        self.fed = None if self.fed is None or old.fed is None else torch.where(is_real, self.fed, old.fed)

    def reorder(self, index: Tensor) -> None:
        """Reorder the rows, or drop some of them."""
        self.change(lambda x: x.index_select(0, index))
        self.keys = None if self.keys is None else self.keys.index_select(0, index)


@dataclass
class RecurrentBeams(RecurrentState):
    """The states of several continuations per row: each tensor of a layer is (B, continuations, D)."""

    def follow(self, parents: Tensor) -> None:
        """Continue with new hypotheses (B, K′), each with the state of its parent."""
        self.change(lambda x: x.gather(1, parents[..., None].expand(-1, -1, x.shape[-1])))


def make_cell(kind: str, num_inputs: int, width: int) -> Cell:
    """Return a cell of that kind, `gru` or `lstm`."""
    cells: Mapping[str, type[Cell]] = {"lstm": nn.LSTM, "gru": nn.GRU}
    return cells[kind](num_inputs, width, batch_first=True)


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
        old_part = multiply_traced(gates["forget"], state.memory, f"kept{sub}", trace.at("kept"))
        new_part = multiply_traced(gates["input"], gates["candidate"], f"new{sub}", trace.at("new"))
        memory = add_traced(old_part, new_part, f"c{sub}", trace)
        shown = activate_traced(memory, "tanh", f"tanh c{sub}", trace)
        return CellState(multiply_traced(gates["output"], shown, f"{self._state}{sub}", trace), memory)

    def _products(self, gate: str, x: Tensor, h: Tensor, trace: Tracer) -> tuple[Tensor, Tensor]:
        """Record W x + b and U h + c."""
        (w, b, u, c), letter = self._weights[gate], self.letters[gate]
        symbols = f"W_{letter} x + b_{letter}", f"U_{letter} h + c_{letter}"
        if letter == "n":  # of a GRU, which multiplies the sum by the reset gate
            symbols = symbols[0], f"({symbols[1]})"
        from_input = linear_traced(x, w, b, symbols[0], trace.at("from_input"))
        return from_input, linear_traced(h, u, c, symbols[1], trace.at("from_state"))

    def _gate(self, gate: str, symbol: str, x: Tensor, h: Tensor, sub: str, trace: Tracer) -> Tensor:
        here, letter = trace.at(f"{gate}_gate"), self.letters[gate]
        from_input, from_state = self._products(gate, x, h, here)
        before = add_traced(from_input, from_state, f"{symbol}_{letter}", here)
        return activate_traced(before, "tanh" if gate == "candidate" else "sigmoid", f"{letter}{sub}", here)

    def _gru(self, x: Tensor, h: Tensor, sub: str, trace: Tracer) -> Tensor:
        r, z = (self._gate(gate, "a", x, h, sub, trace) for gate in ("reset", "update"))
        here = trace.at("candidate_gate")
        from_input, from_state = self._products("candidate", x, h, here)
        part = multiply_traced(r, from_state, "r ⊙ (U_n h + c_n)", here.at("reset"))
        n = activate_traced(add_traced(from_input, part, "a_n", here), "tanh", f"n{sub}", here)
        rest = 1 - z
        trace.record(COMPLEMENT, rest, symbol=f"(1 - z{sub})", x=z)
        old_part = multiply_traced(z, h, f"kept{sub}", trace.at("kept"))
        new_part = multiply_traced(rest, n, f"new{sub}", trace.at("new"))
        return add_traced(old_part, new_part, f"{self._state}{sub}", trace)

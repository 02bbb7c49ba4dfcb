"""The decoder of a recurrent model, token by token, with every number recorded."""

import torch
from torch import Tensor

from clearhead.model.base import Memory
from clearhead.model.recorded_steps import (
    activate_traced,
    add_traced,
    append_traced,
    embed_traced,
    join_traced,
    pick_traced,
    rows_traced,
)
from clearhead.model.recurrent_attention import TracedAttention
from clearhead.model.recurrent_cell import CellState, RecurrentBeams, RecurrentState, TracedCell
from clearhead.model.recurrent_decoder import RecurrentDecoder
from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import MIX, PICK, SPLIT


def decode_traced(
    decoder: RecurrentDecoder, target: Tensor, memory: Memory | None, state: RecurrentState | None, trace: Tracer
) -> Tensor:
    """Return the decoder's states (B, T, D), computed from the recorded values. Without a state, texts begin here."""
    embedded = embed_traced(decoder.embedding, target, trace.at("target"))
    is_one_step = isinstance(state, RecurrentBeams) or target.shape[1] == 1
    tokens = [embedded]
    if not is_one_step:
        tokens = [pick_traced(embedded, i, trace.at("target", "time", i)) for i in range(target.shape[1])]
    steps = _TracedSteps(decoder, memory, tokens[0].shape[1], trace.at("decoder"))
    if state is None:
        state = steps.start(tokens[0])
    outputs = [steps.step(token, state) for token in tokens]
    return append_traced(outputs, "S", trace.at("decoder", "states"))


class _TracedSteps:
    """A decoder whose weights have been given to a trace."""

    def __init__(self, decoder: RecurrentDecoder, memory: Memory | None, num_queries: int, trace: Tracer) -> None:
        self.decoder, self.memory, self.trace = decoder, memory, trace
        self.cells = [TracedCell(cell, trace.at(number)) for number, cell in enumerate(decoder.cells)]
        self.attention: TracedAttention | None = None
        if decoder.attention is not None:
            assert memory is not None
            self.attention = TracedAttention(decoder.attention, memory, num_queries, self._attention_trace)

    @property
    def _attention_trace(self) -> Tracer:
        """The place of attention: after the last layer."""
        return self.trace.at(len(self.cells) - 1, "cross_attention")

    def start(self, x: Tensor) -> RecurrentState:
        """Return the state before the first token x (B, 1, D)."""
        here, bridge, width = self.trace.at("start"), self.decoder.bridge, self.decoder.width
        if bridge is None or self.memory is None:
            return RecurrentState([cell.start(x, here.at(number)) for number, cell in enumerate(self.cells)])
        last = _last_traced(self.memory, self.decoder.is_bidirectional, here)
        names = ("hidden", "memory") if self.decoder.has_cell_state else ("hidden",)
        layers = []
        for number in range(len(self.cells)):
            parts = []
            for place, name in enumerate(names, start=number * len(names)):
                part, symbol = here.at(number, name), f"{name[0].replace('m', 'c')}₀"
                before = rows_traced(bridge, slice(place * width, (place + 1) * width), last, "W h + b", part)
                parts.append(activate_traced(before, "tanh", symbol, part))
            layers.append(CellState(*parts))
        fed = None
        if self.decoder.has_input_feeding:
            fed = torch.zeros_like(layers[0].hidden)
            here.give("fed", fed, symbol="s̃₀")
        return RecurrentState(layers, fed)

    def step(self, x: Tensor, state: RecurrentState) -> Tensor:
        """Read one token of each text or continuation (B, K, D), update the state, and return (B, K, D)."""
        time, layers = state.length, []
        sub = subscript(time + 1)
        if state.fed is not None:
            x = join_traced((x, state.fed), f"[x; s̃]{sub}", self.trace.at("input", "time", time))
        for number, (cell, before) in enumerate(zip(self.cells, state.layers, strict=True)):
            here = self.trace.at(number, "time", time)
            after = cell.step(x, before, time, here)
            layers.append(after)
            has_residual = number and self.decoder.has_residuals
            x = add_traced(x, after.hidden, f"y{sub}", here.at("residual")) if has_residual else after.hidden
        if self.attention is not None:
            x = self.attention.step(x, time, self._attention_trace.at("time", time))
        state.layers, state.length = layers, time + 1
        state.fed = None if state.fed is None else x
        return x


def _last_traced(memory: Memory, is_bidirectional: bool, trace: Tracer) -> Tensor:
    """Record the state of each direction after its last token."""
    if not is_bidirectional:
        return _last_token(memory.states, memory, trace.at("forward"))
    halves = []
    for number, side in enumerate(("forward", "reverse")):
        half = memory.states.chunk(2, dim=-1)[number]
        trace.at(side).record(SPLIT, half, symbol=f"H_{side}", x=memory.states, head=number + 1, num_heads=2)
        halves.append(half)
    last = _last_token(halves[0], memory, trace.at("forward"))
    first = halves[1][:, :1]
    trace.at("reverse").record(PICK, first, symbol="h_first", x=halves[1], row=1)
    return join_traced((last, first), "h", trace)


def _last_token(states: Tensor, memory: Memory, trace: Tracer) -> Tensor:
    """Return the state (B, 1, D) of the last token of each sentence; with padding, by weights of 1 and 0."""
    keys, length = memory.mask.keys, states.shape[1]
    if keys is None or bool(keys.all()):
        last = states[:, -1:]
        trace.record(PICK, last, symbol="h_last", x=states, row=length)
        return last
    places = (keys.sum(dim=1) - 1).clamp(min=0)
    weights = torch.nn.functional.one_hot(places, length)[:, None].to(states.dtype)  # (B, 1, S)
    trace.give("last", weights)
    last = weights @ states
    trace.record(MIX, last, symbol="h_last", weights=weights, v=states)
    return last

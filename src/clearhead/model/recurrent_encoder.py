"""The encoder of a recurrent model: layers that read a sentence from its start, and with two directions from its end.

The reverse direction reads each sentence reversed within its own length, so that it never starts in padding. The states
of padding are 0.
"""

import torch
from torch import Tensor, nn

from clearhead.model.config import ModelConfig
from clearhead.model.norm import dropout
from clearhead.model.recorded_steps import (
    add_traced,
    append_traced,
    embed_traced,
    hide_traced,
    join_traced,
    pick_traced,
)
from clearhead.model.recurrent_cell import Cell, CellState, TracedCell, make_cell, run_cell
from clearhead.steps import Tracer
from clearhead.steps.symbols import subscript


class RecurrentLayer(nn.Module):
    """One layer of the encoder. With two directions, each has half of the width."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.d_model // 2 if config.is_bidirectional else config.d_model
        self.forward_cell = make_cell(config.cell, config.d_model, width)
        self.reverse_cell = make_cell(config.cell, config.d_model, width) if config.is_bidirectional else None

    def forward(self, x: Tensor, reversal: Tensor | None) -> Tensor:
        """Return the states (B, S, D); `reversal` is from `reversed_places`, or None without padding."""
        ahead, _ = run_cell(self.forward_cell, x)
        if self.reverse_cell is None:
            return ahead
        back, _ = run_cell(self.reverse_cell, reverse(x, reversal))
        return torch.cat((ahead, reverse(back, reversal)), dim=-1)


def reversed_places(is_real: Tensor) -> Tensor:
    """Return the index (B, S) that reverses each sentence within its length and leaves padding in place."""
    places = torch.arange(is_real.shape[1], device=is_real.device)[None]
    last = is_real.sum(dim=1, keepdim=True) - 1
    return torch.where(places <= last, last - places, places)


def reverse(x: Tensor, reversal: Tensor | None) -> Tensor:
    """Return the tokens of x (B, S, D) in reversed order. Applied twice, it changes nothing."""
    return x.flip(1) if reversal is None else x.gather(1, reversal[..., None].expand_as(x))


class RecurrentEncoder(nn.Module):
    """Embeddings and layers, with residuals from the second layer on."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dropout, self.has_residuals = config.dropout, config.has_residuals
        self.embedding = nn.Embedding(config.source_vocabulary, config.d_model)
        self.layers = nn.ModuleList(RecurrentLayer(config) for _ in range(config.encoder_blocks))

    def forward(self, source: Tensor, is_real: Tensor | None, *, trace: Tracer) -> Tensor:
        """Return the states (B, S, D) of sentences (B, S); `is_real` is None if there is no padding."""
        if trace.is_on:
            return _encode_traced(self, source, is_real, trace)
        x = dropout(self.embedding(source), self.dropout, self.training)
        reversal = None if is_real is None else reversed_places(is_real)
        for number, layer in enumerate(self.layers):
            y = dropout(layer(x, reversal), self.dropout, self.training)
            x = x + y if number and self.has_residuals else y
        return x if is_real is None else torch.where(is_real[..., None], x, 0.0)


def _encode_traced(encoder: RecurrentEncoder, source: Tensor, is_real: Tensor | None, trace: Tracer) -> Tensor:
    """Compute the states token by token and record every step."""
    here = trace.at("input")
    embedded = embed_traced(encoder.embedding, source, here)
    x = [pick_traced(embedded, time, here.at("time", time)) for time in range(source.shape[1])]
    real = _give_real(is_real, source.shape[1], here)
    for number, layer in enumerate(encoder.layers):
        assert isinstance(layer, RecurrentLayer)
        here = trace.at("encoder", number)
        y = _layer_traced(layer, x, real, here)
        if number and encoder.has_residuals:
            y = [
                add_traced(before, after, f"y{subscript(time + 1)}", here.at("time", time))
                for time, (before, after) in enumerate(zip(x, y, strict=True))
            ]
        x = y
    here = trace.at("encoder", "states")
    states = [
        hide_traced(state, real[time], f"y″{subscript(time + 1)}", here.at("padding", time))
        for time, state in enumerate(x)
    ]
    return append_traced(states, "H", here)


def _give_real(is_real: Tensor | None, length: int, trace: Tracer) -> list[Tensor | None]:
    """Give for each time which sentences have a token (B, 1, 1), or None if all of them have one."""
    real: list[Tensor | None] = [None] * length
    for time in range(length) if is_real is not None else ():
        assert is_real is not None
        column = is_real[:, time, None, None]
        if not bool(column.all()):
            trace.at("time", time).give("M", column)
            real[time] = column
    return real


def _layer_traced(layer: RecurrentLayer, x: list[Tensor], real: list[Tensor | None], trace: Tracer) -> list[Tensor]:
    """Return the states of a layer, (B, 1, D) for each token."""
    if layer.reverse_cell is None:
        return _read_traced(layer.forward_cell, x, [None] * len(x), trace.at("forward"))
    ahead = _read_traced(layer.forward_cell, x, [None] * len(x), trace.at("forward"), "h_forward")
    back = _read_traced(layer.reverse_cell, x[::-1], real[::-1], trace.at("reverse"), "h_reverse", is_reversed=True)
    return [
        join_traced(pair, f"h{subscript(time + 1)}", trace.at("time", time))
        for time, pair in enumerate(zip(ahead, back[::-1], strict=True))
    ]


def _read_traced(
    cell: Cell,
    x: list[Tensor],
    real: list[Tensor | None],
    trace: Tracer,
    symbol: str = "h",
    *,
    is_reversed: bool = False,
) -> list[Tensor]:
    """Read tokens in this order. After padding, the state is 0 again: a sentence begins where the padding ends."""
    traced = TracedCell(cell, trace, symbol)
    state, outputs, count = traced.start(x[0], trace), [], len(x)
    for number, (token, is_real) in enumerate(zip(x, real, strict=True)):
        time = count - 1 - number if is_reversed else number
        here, sub = trace.at("time", time), subscript(time + 1)
        state = traced.step(token, state, time, here)
        hidden = hide_traced(state.hidden, is_real, f"{symbol}{sub}″", here.at("padding"))
        memory = state.memory
        if memory is not None and number + 1 < count:
            memory = hide_traced(memory, is_real, f"c{sub}″", here.at("padding"))
        state = CellState(hidden, memory)
        outputs.append(hidden)
    return outputs

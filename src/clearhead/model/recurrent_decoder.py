"""The decoder of a recurrent model: all tokens at once with fused kernels, or token by token with a state.

The state before the first token comes from the last states of the encoder, through the bridge tanh(W s + b). With
input feeding, every token also reads the last attentional state, so that tokens cannot be computed at once.
"""

from copy import copy

import torch
from torch import Tensor, nn

from clearhead.model.base import Memory
from clearhead.model.config import ModelConfig
from clearhead.model.norm import dropout
from clearhead.model.recurrent_attention import MemoryAttention
from clearhead.model.recurrent_cell import Cell, CellState, RecurrentBeams, RecurrentState, make_cell, run_cell


class RecurrentDecoder(nn.Module):
    """Embeddings, layers with residuals from the second one on, bridge and attention."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, has_memory = config.d_model, config.shape == "encoder-decoder"
        self.width, self.dropout, self.has_residuals = width, config.dropout, config.has_residuals
        self.is_bidirectional = config.is_bidirectional  # of the encoder
        self.has_cell_state, self.has_input_feeding = config.cell == "lstm", config.has_input_feeding
        self.embedding = nn.Embedding(config.target_size, width)
        inputs = [2 * width if self.has_input_feeding else width] + [width] * (config.decoder_blocks - 1)
        self.layers = nn.ModuleList(make_cell(config.cell, num_inputs, width) for num_inputs in inputs)
        num_states = len(inputs) * (2 if self.has_cell_state else 1)
        self.bridge = nn.Linear(width, num_states * width) if has_memory else None
        self.attention = MemoryAttention(config) if config.has_memory_attention else None

    @property
    def cells(self) -> list[Cell]:
        """The layers."""
        return [layer for layer in self.layers if isinstance(layer, nn.GRU | nn.LSTM)]

    # Before the first token

    def start(self, memory: Memory | None, size: int, device: torch.device) -> RecurrentState:
        """Return the state of `size` texts before their first token. The keys of attention are computed here, once."""
        if self.bridge is None or memory is None:
            zeros = torch.zeros(size, 1, self.width, device=device, dtype=self.embedding.weight.dtype)
            return RecurrentState([CellState(zeros, zeros if self.has_cell_state else None) for _ in self.layers])
        packed = torch.tanh(self.bridge(last_states(memory, self.is_bidirectional)))  # (B, 1, all states)
        parts = torch.split(packed, self.width, dim=-1)
        layers = (
            [CellState(*parts[i : i + 2]) for i in range(0, len(parts), 2)]
            if self.has_cell_state
            else [CellState(part) for part in parts]
        )
        fed = torch.zeros_like(parts[0]) if self.has_input_feeding else None
        return RecurrentState(layers, fed, None if self.attention is None else self.attention.keys(memory))

    # All tokens at once

    def forward(self, target: Tensor, memory: Memory | None) -> Tensor:
        """Return the states (B, T, D) from which logits are projected; `target` is the decoder's input (B, T)."""
        state = self.start(memory, len(target), target.device)
        if self.has_input_feeding:
            return torch.cat([self.step(token, memory, state) for token in torch.split(target, 1, dim=1)], dim=1)
        x = dropout(self.embedding(target), self.dropout, self.training)
        for number, (cell, first) in enumerate(zip(self.cells, state.layers, strict=True)):
            output, _ = run_cell(cell, x, first.changed(lambda part: part[:, 0]))
            x = self._next_input(number, x, output)
        return self._attend(x, memory, state)

    def _next_input(self, number: int, x: Tensor, output: Tensor) -> Tensor:
        y = dropout(output, self.dropout, self.training)
        return x + y if number and self.has_residuals else y

    def _attend(self, x: Tensor, memory: Memory | None, state: RecurrentState) -> Tensor:
        if self.attention is None:
            return x
        assert memory is not None
        assert state.keys is not None
        return dropout(self.attention(x, state.keys, memory), self.dropout, self.training)

    # Token by token

    def continue_texts(self, target: Tensor, memory: Memory | None, state: RecurrentState, is_real: Tensor) -> Tensor:
        """Read new tokens (B, T), or one token of each continuation (B, K), and return the decoder's states.

        Padding, where `is_real` (B, T) is False, does not change a state.
        """
        if isinstance(state, RecurrentBeams) or target.shape[1] == 1:
            return self.step(target, memory, state)
        outputs = []
        for time, token in enumerate(torch.split(target, 1, dim=1)):
            old = copy(state)
            outputs.append(self.step(token, memory, state))
            state.keep_old(old, is_real[:, time, None, None])
        return torch.cat(outputs, dim=1)

    def step(self, tokens: Tensor, memory: Memory | None, state: RecurrentState) -> Tensor:
        """Read one token of each text or continuation (B, K), update the state, and return (B, K, D)."""
        x = dropout(self.embedding(tokens), self.dropout, self.training)
        if state.fed is not None:
            x = torch.cat((x, state.fed.to(x.dtype)), dim=-1)
        layers = []
        for number, (cell, before) in enumerate(zip(self.cells, state.layers, strict=True)):
            flat = before.changed(lambda part: part.flatten(0, 1))
            output, after = run_cell(cell, x.flatten(0, 1)[:, None], flat)  # a sequence of one token
            layers.append(after.changed(lambda part: part.view(*tokens.shape, self.width)))
            x = self._next_input(number, x, output.view(*tokens.shape, self.width))
        x = self._attend(x, memory, state)
        state.layers, state.length = layers, state.length + 1
        state.fed = None if state.fed is None else x
        return x


def last_states(memory: Memory, is_bidirectional: bool) -> Tensor:
    """Return the state (B, 1, D) of each direction after its last token: the last token, and the first in reverse."""
    states, keys = memory.states, memory.mask.keys
    if keys is None:
        last = states[:, -1:]
    else:
        places = (keys.sum(dim=1) - 1).clamp(min=0)
        last = states.gather(1, places[:, None, None].expand(-1, 1, states.shape[-1]))
    if not is_bidirectional:
        return last
    half = states.shape[-1] // 2
    return torch.cat((last[..., :half], states[:, :1, half:]), dim=-1)

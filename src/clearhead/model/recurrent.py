"""The recurrent model: an encoder-decoder of GRUs or LSTMs, with or without attention, or either half alone.

Teacher forcing uses PyTorch's fused kernels over entire sentences. While decoding, a state of fixed size takes the
place of cached keys and values.
"""

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn

from clearhead.model.base import DecoderCache, Memory, SequenceModel
from clearhead.model.config import ModelConfig
from clearhead.model.gates import check_gates
from clearhead.model.mask import CAUSAL, EVERYTHING, Mask, real_tokens
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.recurrent_cell import Cell, RecurrentBeams, RecurrentState, initialise_cell, join_weights
from clearhead.model.recurrent_decoder import RecurrentDecoder
from clearhead.model.recurrent_decoder_trace import decode_traced
from clearhead.model.recurrent_encoder import RecurrentEncoder


class RecurrentModel(SequenceModel):
    """A model that reads tokens one after the other and keeps a state."""

    architecture = "recurrent"
    example_places = "encoder.0.forward, decoder.*.cross_attention"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.encoder = RecurrentEncoder(config) if config.shape != "decoder" else None
        self.decoder = RecurrentDecoder(config) if config.shape != "encoder" else None
        self.output = self._make_output()
        self._initialise()
        self._tie(*(None if side is None else side.embedding for side in (self.encoder, self.decoder)))

    def _initialise_module(self, module: nn.Module) -> None:
        super()._initialise_module(module)
        if isinstance(module, nn.GRU | nn.LSTM):
            initialise_cell(module)

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source."""
        return self.config.has_memory_attention

    def encode(
        self,
        source: Tensor,
        *,
        is_padded: bool = True,
        sentences: Tensor | None = None,
        probe: Probe = NO_PROBE,
    ) -> Memory:
        """Encode sentences (B, S), one per row, padded on the right."""
        assert self.encoder is not None, "this model has no encoder"
        assert sentences is None, "a recurrent model reads one sentence per row"
        check_gates(probe.gates, self.config)
        is_real = source != self.config.pad if is_padded else None
        mask = EVERYTHING if is_real is None else Mask(keys=is_real)
        return Memory(self.encoder(source, is_real, trace=probe.trace), mask)

    def decode_states(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: DecoderCache | None = None,
        *,
        mask: Mask = CAUSAL,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """Return the decoder's states (B, T, D). A token sees all earlier ones; no other mask is possible."""
        assert self.decoder is not None, "this model has no decoder"
        assert mask is CAUSAL, "a recurrent decoder reads one text per row from its start"
        assert memory is not None or self.config.shape == "decoder", "the decoder of this model needs a memory"
        assert cache is None or isinstance(cache, RecurrentState)
        check_gates(probe.gates, self.config)
        if probe.trace.is_on:
            return decode_traced(self.decoder, target, memory, cache, probe.trace)
        if cache is None:
            states: Tensor = self.decoder(target, memory)
            return states
        is_real = real_tokens(target, self.config, is_start=cache.length == 0)
        return self.decoder.continue_texts(target, memory, cache, is_real)

    def start_cache(self, memory: Memory | None, size: int, device: torch.device) -> RecurrentState:
        """Return the state of a batch before its first token."""
        assert self.decoder is not None, "this model has no decoder"
        return self.decoder.start(memory, size, device)

    def start_beams(self, memory: Memory | None, size: int, device: torch.device) -> RecurrentBeams:
        """Return the state of a batch with several continuations per row."""
        state = self.start_cache(memory, size, device)
        return RecurrentBeams(state.layers, state.fed, state.keys)

    # Parameters

    def _cells(self) -> list[Cell]:
        return [module for module in self.modules() if isinstance(module, nn.GRU | nn.LSTM)]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or convert all parameters, as `to`, `cuda` and `bfloat16` do."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # PyTorch's hook has no types
        for cell in self._cells():
            weight = cell.all_weights[0][0]
            if weight.is_cuda and weight.dtype == torch.bfloat16:
                join_weights(cell)
        return self

    def weight_matrices(self) -> list[Tensor]:
        """Return the weights of all linear layers and cells, except the output."""
        return [*super().weight_matrices(), *(weight for cell in self._cells() for weight in cell.all_weights[0][:2])]

    def blocks(self) -> list[nn.Module]:
        """Return no layers: the fused kernels of the cells gain nothing from a compiler."""
        return []

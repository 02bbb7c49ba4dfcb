"""The convolutional model: an encoder-decoder of gated convolutions, or either half alone (Gehring et al. 2017).

A layer sees `kernel` neighbouring tokens, so how far the model sees grows with the number of its layers. Where it
differs from the paper: scores are divided by √d, but the mixed values are not multiplied by the square root of the
source length; weights are not normalised, and the gradients of the encoder are not scaled.
"""

import torch
from torch import Tensor, nn

from clearhead.model.base import DecoderCache, Memory
from clearhead.model.convolution import (
    ConvolutionalDecoderBlock,
    ConvolutionalEncoderBlock,
    GatedConvolution,
    Source,
    add_scaled,
)
from clearhead.model.convolution_cache import ConvolutionBeams, ConvolutionCache, LayerPast
from clearhead.model.mask import CAUSAL, EVERYTHING, Mask
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.stack import Stack, StackedModel

_GATED_SHARE = 0.293  # E[σ(g)²] for a normal g of variance 1: the share of the variance that a gate leaves


class ConvolutionalModel(StackedModel):
    """An encoder-decoder, an encoder that classifies, or a decoder that is a language model."""

    architecture = "convolutional"
    example_places = "encoder.*, decoder.0.cross_attention"

    def _make_block(self, side: str, number: int) -> nn.Module:
        return (ConvolutionalEncoderBlock if side == "encoder" else ConvolutionalDecoderBlock)(self.config)

    def _initialise(self) -> None:
        """Initialise so that the variance of the states is the same in every layer.

        Dropout on the input of a convolution multiplies its variance by 1 / (1 - dropout). Positions are as large as
        the scaled embeddings: with smaller ones, attention does not find the right place in a model of few layers.
        """
        super()._initialise()
        for module in self.modules():
            if isinstance(module, GatedConvolution):
                variance = (1.0 - self.config.dropout) / module.filter.in_features
                value, gate = module.filter.weight.chunk(2)
                nn.init.normal_(value, std=(variance / _GATED_SHARE) ** 0.5)
                nn.init.normal_(gate, std=variance**0.5)
            elif isinstance(module, Stack) and isinstance(module.position, nn.Parameter):
                nn.init.normal_(module.position)

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source."""
        return self.can_translate and self.config.decoder_blocks > 0

    # One pass

    def encode(
        self,
        source: Tensor,
        *,
        is_padded: bool = True,
        sentences: Tensor | None = None,
        probe: Probe = NO_PROBE,
    ) -> Memory:
        """Encode sentences (B, S). Padding is set to 0 before every convolution."""
        assert self.encoder is not None, "this model has no encoder"
        assert sentences is None, "a convolution would mix the sentences of a packed row"
        mask = Mask(keys=source != self.config.pad) if is_padded else EVERYTHING
        places = torch.arange(source.shape[1], device=source.device)[None]
        self._check_places(places, source.shape[1], "source")
        embedded = x = self.encoder.embed(source, places, probe.trace.at("input"))
        real = _as_numbers(mask.keys, x)
        for number, block in enumerate(self.encoder_blocks):
            x = block(x, real, trace=probe.trace.at("encoder", number))
        values = None
        if self.has_cross_attention:
            values = add_scaled(x, embedded, "V", probe.trace.at("encoder", "values"))
        return Memory(x, mask, values=values)

    def decode_states(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: DecoderCache | None = None,
        *,
        mask: Mask = CAUSAL,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """Return the decoder's states (B, T, D), from which the logits are projected."""
        assert self.decoder is not None, "this model has no decoder"
        assert mask.packed is None, "a convolution would mix the sentences of a packed row"
        assert mask.explicit is None, "a convolution sees all tokens of its window"
        places, longest = torch.arange(target.shape[1], device=target.device)[None], target.shape[1]
        if cache is not None:
            assert isinstance(cache, ConvolutionCache | ConvolutionBeams)
            places = cache.advance(target, self.config)
            longest = cache.longest
        self._check_places(places, longest, "target")
        embedded = x = self.decoder.embed(target, places, probe.trace.at("target"))
        source, real = self._source(memory, target), _as_numbers(mask.keys, x)
        for number, block in enumerate(self.decoder_blocks):
            past = None if cache is None else LayerPast(cache, number)
            x = block(x, embedded, source, real=real, past=past, trace=probe.trace.at("decoder", number))
        return x

    def _source(self, memory: Memory | None, target: Tensor) -> Source | None:
        """Return what the layers of the decoder attend to."""
        if not self.has_cross_attention:
            return None
        assert memory is not None, "the decoder of this model needs a memory"
        assert memory.values is not None
        length = memory.states.shape[1]
        allowed = memory.mask.allowed(target.shape[1], length, target.device)[:, 0]  # (B or 1, T, S)
        return Source(memory.states, memory.values, allowed)

    def start_cache(self, memory: Memory | None, size: int, device: torch.device) -> ConvolutionCache:
        """Return the empty cache of a batch."""
        return ConvolutionCache(self._no_inputs(size, device), torch.zeros(size, dtype=torch.long, device=device))

    def start_beams(self, memory: Memory | None, size: int, device: torch.device) -> ConvolutionBeams:
        """Return the empty cache of a batch with several continuations per row."""
        return ConvolutionBeams([inputs[:, None] for inputs in self._no_inputs(size, device)])

    def _no_inputs(self, size: int, device: torch.device) -> list[Tensor]:
        nothing = torch.zeros(size, self.config.kernel - 1, self.config.d_model, dtype=self.dtype, device=device)
        return [nothing for _ in self.decoder_blocks]


def _as_numbers(keys: Tensor | None, x: Tensor) -> Tensor | None:
    """Return (B, T, 1): 1 for real tokens and 0 for padding, in the dtype of the states x, or None without a mask."""
    return None if keys is None else keys[..., None].to(x.dtype)

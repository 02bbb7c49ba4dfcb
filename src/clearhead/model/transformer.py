"""The Transformer: an encoder-decoder, or either half alone. It takes ids and masks and returns logits.

One definition serves training, decoding and explanations: `encode`, `decode` (with a cache), and the methods of
`SequenceModel`, such as `loss` and `trace`, which runs the same forward pass and records every step.
"""

import torch
from torch import Tensor, nn

from clearhead.errors import ConfigError
from clearhead.model.base import DecoderCache, Memory, SequenceModel
from clearhead.model.cache import BeamCache, Cache
from clearhead.model.layers import BlockCache, TransformerBlock, empty_key_values
from clearhead.model.mask import CAUSAL, EVERYTHING, Mask, Packed, PreparedMask, prepare
from clearhead.model.positions import packed_places
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.stack import Stack, StackedModel


class Transformer(StackedModel):
    """A model whose tokens see each other by attention."""

    architecture = "transformer"
    example_places = "encoder.*, decoder.0.cross_attention"

    def _make_block(self, side: str, number: int) -> TransformerBlock:
        is_reader = side == "decoder" and self.config.shape == "encoder-decoder"
        return TransformerBlock(self.config, f"{side}.{number}", self.config.d_model if is_reader else None)

    def _initialise_module(self, module: nn.Module) -> None:
        super()._initialise_module(module)
        if isinstance(module, Stack) and isinstance(module.position, nn.Parameter):
            nn.init.normal_(module.position, std=module.width**-0.5)

    # Capabilities

    @property
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source."""
        return self.can_translate and any(
            self.config.num_heads_at(f"decoder.{number}.cross_attention")
            for number in range(self.config.decoder_blocks)
        )

    @property
    def can_record_steps(self) -> bool:
        """Whether a step can be recorded as a CUDA graph: on a GPU only."""
        return self.device.type == "cuda"

    # One pass

    def encode(
        self,
        source: Tensor,
        *,
        is_padded: bool = True,
        sentences: Tensor | None = None,
        probe: Probe = NO_PROBE,
    ) -> Memory:
        """Encode sentences (B, S). Padding is masked, and sentences in the same row do not see each other."""
        assert self.encoder is not None, "this model has no encoder"
        assert probe.edit is None or not probe.trace.is_on, "states that are edited have no trace"
        if sentences is not None:
            mask, places = Mask(packed=Packed(sentences, sentences)), packed_places(sentences)
        else:
            mask = Mask(keys=source != self.config.pad) if is_padded else EVERYTHING
            places = torch.arange(source.shape[1], device=source.device)[None]
        self._check_places(places, source.shape[1], "source")
        x = self.encoder.embed(source, places, probe.trace.at("input"))
        prepared = prepare(mask, source.shape[1], source.shape[1], source.device)
        turned = places if self.config.positions == "rotary" else None
        for number, block in enumerate(self.encoder_blocks):
            x = block(x, prepared, places=turned, probe=probe.at("encoder", number))
            if probe.edit is not None:
                x = probe.edit(number, x)
        if self.encoder.last_norm is not None:
            x = self.encoder.last_norm(x, mask.keys, trace=probe.trace.at("encoder", "norm"))
        return Memory(x, mask, sentences)

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
        length = target.shape[1]
        places, num_keys, longest = torch.arange(length, device=target.device)[None], length, length
        if mask.packed is not None:
            assert cache is None, "packed rows cannot be decoded step by step"
            places = packed_places(mask.packed.queries)
        assert cache is None or isinstance(cache, Cache | BeamCache)
        if cache is not None:
            places, mask = cache.advance(target, self.config)
            num_keys, longest = cache.num_keys, cache.longest
        self._check_places(places, longest, "target")
        own = prepare(mask, length, num_keys, target.device)
        across = self._memory_mask(memory, length, mask.packed)
        x = self.decoder.embed(target, places, probe.trace.at("target"))
        turned = places if self.config.positions == "rotary" else None
        for number, block in enumerate(self.decoder_blocks):
            block_cache = None if cache is None else cache.blocks[number]
            x = block(x, own, across, places=turned, cache=block_cache, probe=probe.at("decoder", number))
        if self.decoder.last_norm is not None:
            x = self.decoder.last_norm(x, None, trace=probe.trace.at("decoder", "norm"))
        return x

    def _memory_mask(
        self, memory: Memory | None, length: int, packed: Packed | None
    ) -> tuple[Tensor, PreparedMask] | None:
        if memory is None:
            assert self.config.shape != "encoder-decoder", "the decoder of this model needs a memory"
            return None
        mask = memory.mask
        if packed is not None:
            assert memory.sentences is not None, "the target is packed, but the source is not"
            mask = Mask(packed=Packed(packed.queries, memory.sentences))
        return memory.states, prepare(mask, length, memory.states.shape[1], memory.states.device)

    def start_cache(self, memory: Memory | None, size: int, device: torch.device) -> Cache:
        """Return the empty cache of a batch. The keys and values of the memory are computed here, once."""
        return Cache(
            self._block_caches(memory, size, device),
            torch.zeros(size, 0, dtype=torch.bool, device=device),
            torch.zeros(size, dtype=torch.long, device=device),
        )

    def start_beams(self, memory: Memory | None, size: int, device: torch.device) -> BeamCache:
        """Return the empty cache of a batch with several continuations per row."""
        nothing = torch.zeros(size, 1, 0, dtype=torch.bool, device=device)
        return BeamCache(self._block_caches(memory, size, device), nothing)

    def _block_caches(self, memory: Memory | None, size: int, device: torch.device) -> list[BlockCache]:
        dtype = self.dtype if memory is None else memory.states.dtype
        blocks = []
        for block in self.decoder_blocks:
            assert isinstance(block, TransformerBlock)
            memory_cache = None
            if block.cross_attention is not None:
                assert memory is not None
                memory_cache = block.cross_attention.key_values(memory.states)
            blocks.append(BlockCache(empty_key_values(block.self_attention, size, device, dtype), memory_cache))
        return blocks


def require_transformer(model: SequenceModel, what: str) -> Transformer:
    """Return the model, or raise ConfigError if it is not a Transformer, which `what` needs: `pruning`."""
    if not isinstance(model, Transformer):
        kind = model.config.architecture
        raise ConfigError(f"{what} needs the heads and layers of a Transformer, but this model is {kind}.")
    return model

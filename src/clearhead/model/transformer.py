"""The Transformer: an encoder-decoder, or either half alone. It takes ids and masks and returns logits.

One definition serves training, decoding and explanations: `encode`, `decode` (with a cache), `loss`,
and `trace`, which runs the same forward pass and records every step.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.errors import TraceError
from clearhead.model.attention import Places, record_product
from clearhead.model.batch import Batch, check_batch, check_length
from clearhead.model.cache import BeamCache, Cache
from clearhead.model.config import ModelConfig
from clearhead.model.dropout import dropout
from clearhead.model.gates import NO_GATES, HeadGates, check_gates
from clearhead.model.layers import BlockCache, DecoderBlock, EncoderBlock, empty_key_values
from clearhead.model.loss import Loss
from clearhead.model.mask import CAUSAL, EVERYTHING, Mask, Packed, PreparedMask, counted_tokens, prepare
from clearhead.model.memory import Memory
from clearhead.model.norm import NORMS
from clearhead.model.positions import is_first, packed_places, sinusoids
from clearhead.model.tracing import PartTrace, traced_bytes
from clearhead.steps import NO_TRACE, Trace, Tracer
from clearhead.steps.vocabulary import ADD, EMBED, MEAN, MULTIPLY

MAX_TRACE_BYTES = 2 * 2**30
StateEdit = Callable[
    [int, Tensor], Tensor
]  # the number of a layer and its output (B, S, D) → the output to continue with


class Stack(nn.Module):
    """Embedding, positions and final norm of the encoder or the decoder."""

    def __init__(self, config: ModelConfig, width: int, vocabulary: int, norm: str) -> None:
        super().__init__()
        self.width, self.dropout = width, config.dropout
        self.scale = math.sqrt(width) if config.scale_embedding else 1.0
        self.embedding = nn.Embedding(vocabulary, width)
        self.position: Tensor | None
        if config.positions == "learned":
            self.position = nn.Parameter(torch.empty(config.max_length, width))
        else:
            is_sinusoidal = config.positions == "sinusoidal"
            table = sinusoids(config.max_length, width, config.sinusoids) if is_sinusoidal else None
            self.register_buffer("position", table, persistent=False)
        self.last_norm = NORMS[norm](width, config.epsilon) if config.ends_with_norm else None

    def embed(self, ids: Tensor, places: Tensor, trace: Tracer) -> Tensor:
        """Look up the embeddings and add the positions: (B, T) → (B, T, D)"""
        trace.give("tokens", ids)
        trace.give("E", self.embedding.weight)
        x: Tensor = self.embedding(ids)
        trace.at("embedding").record(EMBED, x, ids=ids, table=self.embedding.weight)
        if self.scale != 1.0:
            scaled = x * self.scale
            self._record_scale(trace, scaled, x)
            x = scaled
        if self.position is not None:
            position = F.embedding(places, self.position)
            here = trace.at("position")
            here.give("P", self.position)
            here.give("positions", places, symbol="pos")
            here.record(EMBED, position, symbol="P", ids=places, table=self.position)
            total = x + position
            trace.record(ADD, total, symbol="X′", a=x, b=position)
            x = total
        return dropout(x, self.dropout, self.training)

    def _record_scale(self, trace: Tracer, scaled: Tensor, x: Tensor) -> None:
        """Record x √d, with the root in the precision in which PyTorch multiplies."""
        if trace.is_on:
            dtype = torch.promote_types(x.dtype, torch.float32)
            root = torch.full((1, 1), self.scale, dtype=dtype, device=x.device)
            trace.give("scale", root, symbol="√d")
            trace.at("scaled").record(MULTIPLY, scaled, symbol="X̂", a=x, b=root)


class Transformer(nn.Module):
    """An encoder-decoder, an encoder that classifies, or a decoder that is a language model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder: Stack | None
        self.decoder: Stack | None
        self.encoder = self.decoder = None
        if config.shape != "decoder":
            self.encoder = Stack(config, config.d_model, config.source_vocabulary, config.encoder_norm)
            self.encoder_blocks = nn.ModuleList(EncoderBlock(config, number) for number in range(config.encoder_blocks))
        if config.shape != "encoder":
            memory = config.d_model if config.shape == "encoder-decoder" else None
            self.decoder = Stack(config, config.decoder_width, config.target_size, config.decoder_norm)
            self.decoder_blocks = nn.ModuleList(
                DecoderBlock(config, memory, number) for number in range(config.decoder_blocks)
            )
        width = config.d_model if config.shape == "encoder" else config.decoder_width
        has_bias = config.has_output_bias or config.shape == "encoder"
        self.output = nn.Linear(width, config.num_outputs, bias=has_bias)
        self._initialise()
        self._tie()

    def _initialise(self) -> None:
        """Initialise: Glorot-uniform weights, zero biases, embeddings with deviation 1/√d (zero for padding)."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
                with torch.no_grad():
                    module.weight[self.config.pad].zero_()
            elif isinstance(module, Stack) and isinstance(module.position, nn.Parameter):
                nn.init.normal_(module.position, std=module.width**-0.5)

    def _tie(self) -> None:
        if self.decoder is None or self.config.tied == "none":
            return
        self.output.weight = self.decoder.embedding.weight
        if self.config.tied == "three" and self.encoder is not None:
            self.encoder.embedding.weight = self.decoder.embedding.weight

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return self.output.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the parameters."""
        return self.output.weight.dtype

    # Capabilities

    @property
    def can_translate(self) -> bool:
        """Whether it reads a source and writes a target."""
        return self.config.shape == "encoder-decoder"

    @property
    def can_classify(self) -> bool:
        """Whether its logits are those of classes."""
        return self.config.shape == "encoder"

    @property
    def can_continue_text(self) -> bool:
        """Whether it writes a target without a source."""
        return self.config.shape == "decoder"

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
        gates: HeadGates = NO_GATES,
        edit: StateEdit | None = None,
        trace: Tracer = NO_TRACE,
    ) -> Memory:
        """Encode sentences (B, S). Padding is masked, and sentences in the same row do not see each other.

        `edit` can read or replace the states after every layer; such a pass has no trace.
        """
        assert self.encoder is not None, "this model has no encoder"
        assert edit is None or not trace.is_on, "states that are edited have no trace"
        if sentences is not None:
            mask, places = Mask(packed=Packed(sentences, sentences)), packed_places(sentences)
        else:
            mask = Mask(keys=source != self.config.pad) if is_padded else EVERYTHING
            places = torch.arange(source.shape[1], device=source.device)[None]
        self._check_places(places, source.shape[1], "source")
        x = self.encoder.embed(source, places, trace.at("input"))
        prepared = prepare(mask, source.shape[1], source.shape[1], source.device)
        turned = Places(places, places) if self.config.positions == "rotary" else None
        for number, block in enumerate(self.encoder_blocks):
            x = block(x, prepared, turned, gates=gates.at("encoder", number), trace=trace.at("encoder", number))
            if edit is not None:
                x = edit(number, x)
        if self.encoder.last_norm is not None:
            x = self.encoder.last_norm(x, mask.keys, trace=trace.at("encoder", "norm"))
        return Memory(x, mask, sentences)

    def decode(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: Cache | BeamCache | None = None,
        *,
        mask: Mask = CAUSAL,
        gates: HeadGates = NO_GATES,
        trace: Tracer = NO_TRACE,
    ) -> Tensor:
        """Return logits (B, T, V) of the token after each token of `target`, which has only new tokens with a cache."""
        states = self.decode_states(target, memory, cache, mask=mask, gates=gates, trace=trace)
        return self.project(states, trace=trace)

    def decode_states(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: Cache | BeamCache | None = None,
        *,
        mask: Mask = CAUSAL,
        gates: HeadGates = NO_GATES,
        trace: Tracer = NO_TRACE,
    ) -> Tensor:
        """Return the decoder's states (B, T, D), from which the logits are projected."""
        assert self.decoder is not None, "this model has no decoder"
        length = target.shape[1]
        places, num_keys, longest = torch.arange(length, device=target.device)[None], length, length
        if mask.packed is not None:
            assert cache is None, "packed rows cannot be decoded step by step"
            places = packed_places(mask.packed.queries)
        if cache is not None:
            places, mask = cache.advance(target, self.config)
            num_keys, longest = cache.num_keys, cache.longest
        self._check_places(places, longest, "target")
        own = prepare(mask, length, num_keys, target.device)
        across = self._memory_mask(memory, length, mask.packed)
        x = self.decoder.embed(target, places, trace.at("target"))
        turned = Places(places, places) if self.config.positions == "rotary" else None
        for number, block in enumerate(self.decoder_blocks):
            block_cache = None if cache is None else cache.blocks[number]
            block_gates, here = gates.at("decoder", number), trace.at("decoder", number)
            x = block(x, own, across, places=turned, cache=block_cache, gates=block_gates, trace=here)
        if self.decoder.last_norm is not None:
            x = self.decoder.last_norm(x, None, trace=trace.at("decoder", "norm"))
        return x

    def _check_places(self, places: Tensor, length: int, side: str) -> None:
        """Reject sentences longer than the position table. Reads the places only if the shape exceeds the limit."""
        if length > self.config.max_length and not torch.compiler.is_compiling():
            check_length(int(places.max()) + 1, self.config, side)

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

    def project(self, states: Tensor, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Return the logits of states."""
        logits: Tensor = self.output(states)
        record_product(trace.at("output"), logits, states, self.output.weight, self.output.bias, "out")
        return logits

    def mean_states(
        self, source: Tensor, *, is_padded: bool = True, gates: HeadGates = NO_GATES, trace: Tracer = NO_TRACE
    ) -> Tensor:
        """Return the mean (B, 1, D) of each sentence's states, the input of a classifier's output layer."""
        memory = self.encode(source, is_padded=is_padded, gates=gates, trace=trace)
        keys = memory.mask.keys
        counted = torch.ones_like(source, dtype=torch.bool) if keys is None else counted_tokens(keys)
        weight = counted[..., None].to(memory.states.dtype)
        mean = (memory.states * weight).sum(dim=1, keepdim=True) / weight.sum(dim=1, keepdim=True)
        trace.at("output").give("counted", counted)
        trace.at("output").record(MEAN, mean, x=memory.states, over="tokens", counted=counted)
        return mean

    def classify(self, source: Tensor, *, is_padded: bool = True, trace: Tracer = NO_TRACE) -> Tensor:
        """Return the logits (B, C) of the mean of a sentence's states."""
        return self.project(self.mean_states(source, is_padded=is_padded, trace=trace), trace=trace)[:, 0]

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
            assert isinstance(block, DecoderBlock)
            memory_cache = None
            if block.cross_attention is not None:
                assert memory is not None
                memory_cache = block.cross_attention.key_values(memory.states)
            blocks.append(BlockCache(empty_key_values(block.self_attention, size, device, dtype), memory_cache))
        return blocks

    # A batch

    def shifted(self, target: Tensor, sentences: Tensor | None = None) -> Tensor:
        """Return the decoder's input for `target`: the start token, then all tokens except the last."""
        start = torch.full_like(target[:, :1], self.config.start_id)
        decoder_input = torch.cat((start, target[:, :-1]), dim=1)
        return (
            decoder_input
            if sentences is None
            else torch.where(is_first(sentences), self.config.start_id, decoder_input)
        )

    def forward(self, batch: Batch, *, gates: HeadGates = NO_GATES, trace: Tracer = NO_TRACE) -> Tensor:
        """Return logits: (B, T, V), or (B, C) for a classifier."""
        logits = self.project(self.states(batch, gates=gates, trace=trace), trace=trace)
        return logits[:, 0] if self.config.shape == "encoder" else logits

    def states(self, batch: Batch, *, gates: HeadGates = NO_GATES, trace: Tracer = NO_TRACE) -> Tensor:
        """Return the states from which the logits are projected: (B, T, D), or (B, 1, D) for a classifier."""
        if self.config.shape == "encoder":
            assert batch.source is not None
            return self.mean_states(batch.source, is_padded=batch.is_padded, gates=gates, trace=trace)
        assert batch.target is not None
        memory = None
        if self.config.shape == "encoder-decoder":
            assert batch.source is not None
            source_sentences = batch.source_sentences
            memory = self.encode(
                batch.source, is_padded=batch.is_padded, sentences=source_sentences, gates=gates, trace=trace
            )
        sentences = batch.target_sentences
        mask = CAUSAL if sentences is None else Mask(is_causal=True, packed=Packed(sentences, sentences))
        decoder_input = self.shifted(batch.target, sentences)
        return self.decode_states(decoder_input, memory, mask=mask, gates=gates, trace=trace)

    def loss(self, batch: Batch, label_smoothing: float = 0.0, *, gates: HeadGates = NO_GATES) -> Loss:
        """Return the summed cross-entropy of a batch, excluding padding."""
        return self.loss_from_states(self.states(batch, gates=gates), batch, label_smoothing)

    def loss_from_states(self, states: Tensor, batch: Batch, label_smoothing: float = 0.0) -> Loss:
        """Return the summed cross-entropy of a batch from its states."""
        logits = self.project(states).flatten(0, 1)
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))  # the sum of many logarithms needs float32
        labels, ignored = self.labels(batch).flatten(), self.ignore_index
        total = F.cross_entropy(logits, labels, ignore_index=ignored, label_smoothing=label_smoothing, reduction="sum")
        return Loss(total, (labels != ignored).sum())

    def labels(self, batch: Batch) -> Tensor:
        """Return the correct answers: target ids (B, T), or classes (B,)."""
        labels = batch.labels if self.config.shape == "encoder" else batch.target
        assert labels is not None
        return labels

    @property
    def ignore_index(self) -> int:
        """The label that is excluded from the loss: padding, or PyTorch's default for a classifier."""
        return -100 if self.config.shape == "encoder" else self.config.pad

    # Parameters

    def weight_matrices(self) -> list[Tensor]:
        """Return the weights of all linear layers except the output, which can be tied to the embeddings."""
        return [
            module.weight for module in self.modules() if isinstance(module, nn.Linear) and module is not self.output
        ]

    def blocks(self) -> list[nn.Module]:
        """Return the layers of encoder and decoder."""
        stacks = [getattr(self, name, ()) for name in ("encoder_blocks", "decoder_blocks")]
        return [block for stack in stacks for block in stack]

    # Tracing

    def trace(
        self,
        batch: Batch,
        only: str | Sequence[str] = (),
        max_bytes: int = MAX_TRACE_BYTES,
        *,
        gates: HeadGates = NO_GATES,
    ) -> tuple[Tensor, Trace]:
        """Return the logits and the steps that computed them. `only` selects places: `decoder.*.cross_attention`."""
        if self.training:
            raise TraceError(
                "the model is in training mode, where dropout changes every number. Call model.eval() first."
            )
        check_batch(batch, self.config)
        check_gates(gates, self.config, batch.num_rows)
        wanted = (only,) if isinstance(only, str) else tuple(only)
        need = traced_bytes(self.config, batch.source, batch.target, self.dtype.itemsize)
        if need > max_bytes:
            raise TraceError(
                f"this trace would take about {need / 2**30:.1f} GiB, and the limit is "
                f"{max_bytes / 2**30:.1f} GiB. Trace fewer or shorter sentences, or raise max_bytes."
            )
        trace = PartTrace(wanted)
        output = self.forward(batch, gates=gates, trace=trace)
        if not trace.records:
            raise TraceError(
                f"nothing was traced: no place matches {', '.join(wanted)}. Try encoder.*, decoder.0.cross_attention."
            )
        return output, trace

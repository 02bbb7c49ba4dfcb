"""What search, engines and training know of a model, and what all architectures have in common.

An architecture adds `encode`, `decode_states` and what its decoder remembers between steps. Outside this package only
the code that reads and writes weights names the class of an architecture.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.errors import ConfigError, TraceError
from clearhead.model.architecture import Architecture
from clearhead.model.batch import Batch, check_batch
from clearhead.model.config import ModelConfig
from clearhead.model.gates import check_gates
from clearhead.model.mask import CAUSAL, Mask, Packed, counted_tokens
from clearhead.model.positions import is_first
from clearhead.model.probe import NO_PROBE, Probe
from clearhead.model.recorded_steps import product_traced
from clearhead.model.tracing import MAX_TRACE_BYTES, PartTrace, traced_bytes
from clearhead.steps import NO_TRACE, Trace, Tracer
from clearhead.steps.vocabulary import MEAN


class Loss(NamedTuple):
    """The summed loss of a batch, and the number of tokens (or sentences) in the sum."""

    total: Tensor
    num_tokens: Tensor

    @property
    def mean(self) -> Tensor:
        """The mean loss per token."""
        return self.total / self.num_tokens.clamp(min=1)


@dataclass(frozen=True, eq=False)
class Memory:
    """The encoder's output for a batch of sentences, with the mask of its real tokens."""

    states: Tensor  # (B, S, D)
    mask: Mask
    sentences: Tensor | None = None  # (B, S), for packed rows
    values: Tensor | None = None  # (B, S, D), where what attention mixes is not the states

    def reorder(self, index: Tensor) -> "Memory":
        """Return a memory with the entries of the batch reordered."""
        keys = None if self.mask.keys is None else self.mask.keys.index_select(0, index)
        values = None if self.values is None else self.values.index_select(0, index)
        return Memory(self.states.index_select(0, index), replace(self.mask, keys=keys), values=values)


class DecoderCache(Protocol):
    """What a decoder remembers of the tokens that it has read, one text per row: keys and values, or a state."""

    def reorder(self, index: Tensor) -> None:
        """Reorder the rows, or drop some of them."""


class DecoderBeams(DecoderCache, Protocol):
    """What a decoder remembers of several continuations per row."""

    def follow(self, parents: Tensor) -> None:
        """Continue with new hypotheses (B, K′), each with the past of its parent."""


class SequenceModel(nn.Module):
    """An encoder-decoder, an encoder that classifies, or a decoder that is a language model.

    Axes: B batch, S source, T target, D model, V vocabulary, C classes.
    """

    architecture: ClassVar[Architecture]
    example_places: ClassVar[str]  # of a trace, for an error message
    output: nn.Linear

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.architecture != self.architecture:
            raise ConfigError(
                f"the config describes a {config.architecture} model, which {type(self).__name__} is not. "
                "Build it with clearhead.model.build_model(config)."
            )
        self.config = config

    def _make_output(self) -> nn.Linear:
        """Return the output layer: logits of tokens or classes."""
        config = self.config
        width = config.d_model if config.shape == "encoder" else config.decoder_width
        return nn.Linear(width, config.num_outputs, bias=config.has_output_bias or config.shape == "encoder")

    def _initialise(self) -> None:
        """Initialise: Glorot-uniform weights, zero biases, embeddings with deviation 1/√d (zero for padding)."""
        for module in self.modules():
            self._initialise_module(module)

    def _initialise_module(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            with torch.no_grad():
                module.weight[self.config.pad].zero_()

    def _tie(self, source: nn.Embedding | None, target: nn.Embedding | None) -> None:
        """Share the embeddings of the target with the output, and with the source, as `tied` says."""
        if target is None or self.config.tied == "none":
            return
        self.output.weight = target.weight
        if self.config.tied == "three" and source is not None:
            source.weight = target.weight

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
    @abstractmethod
    def has_cross_attention(self) -> bool:
        """Whether its decoder has attention weights over the source."""

    @property
    def can_record_steps(self) -> bool:
        """Whether a step can be recorded as a CUDA graph: only if an architecture says so."""
        return False

    # One pass

    @abstractmethod
    def encode(
        self,
        source: Tensor,
        *,
        is_padded: bool = True,
        sentences: Tensor | None = None,
        probe: Probe = NO_PROBE,
    ) -> Memory:
        """Encode sentences (B, S). `is_padded=False` promises that there is no padding; `sentences` (B, S) numbers the
        sentences that share a row."""

    @abstractmethod
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

    @abstractmethod
    def start_cache(self, memory: Memory | None, size: int, device: torch.device) -> DecoderCache:
        """Return an empty cache for `size` texts, one per row."""

    @abstractmethod
    def start_beams(self, memory: Memory | None, size: int, device: torch.device) -> DecoderBeams:
        """Return an empty cache for `size` rows, each with several continuations of one text."""

    def decode(
        self,
        target: Tensor,
        memory: Memory | None = None,
        cache: DecoderCache | None = None,
        *,
        mask: Mask = CAUSAL,
        probe: Probe = NO_PROBE,
    ) -> Tensor:
        """Return the logits (B, T, V) of the token after each token of `target` (B, T).

        With a cache, `target` contains only the tokens that are new since the last call: (B, 1) for the result of
        `start_cache`, (B, continuations) for that of `start_beams`, which has one column per hypothesis.
        """
        states = self.decode_states(target, memory, cache, mask=mask, probe=probe)
        return self.project(states, trace=probe.trace)

    def project(self, states: Tensor, *, trace: Tracer = NO_TRACE) -> Tensor:
        """Return the logits of states."""
        return product_traced(self.output, states, "out", trace.at("output"))

    def mean_states(self, source: Tensor, *, is_padded: bool = True, probe: Probe = NO_PROBE) -> Tensor:
        """Return the mean (B, 1, D) of each sentence's states, the input of a classifier's output layer."""
        memory = self.encode(source, is_padded=is_padded, probe=probe)
        keys = memory.mask.keys
        counted = torch.ones_like(source, dtype=torch.bool) if keys is None else counted_tokens(keys)
        weight = counted[..., None].to(memory.states.dtype)
        mean = (memory.states * weight).sum(dim=1, keepdim=True) / weight.sum(dim=1, keepdim=True)
        here = probe.trace.at("output")
        here.give("counted", counted)
        here.record(MEAN, mean, x=memory.states, over="tokens", counted=counted)
        return mean

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

    def forward(self, batch: Batch, *, probe: Probe = NO_PROBE) -> Tensor:
        """Return logits: (B, T, V), or (B, C) for a classifier."""
        logits = self.project(self.states(batch, probe=probe), trace=probe.trace)
        return logits[:, 0] if self.config.shape == "encoder" else logits

    def states(self, batch: Batch, *, probe: Probe = NO_PROBE) -> Tensor:
        """Return the states from which the logits are projected: (B, T, D), or (B, 1, D) for a classifier."""
        if self.config.shape == "encoder":
            assert batch.source is not None
            return self.mean_states(batch.source, is_padded=batch.is_padded, probe=probe)
        assert batch.target is not None
        memory = None
        if self.config.shape == "encoder-decoder":
            assert batch.source is not None
            memory = self.encode(batch.source, is_padded=batch.is_padded, sentences=batch.source_sentences, probe=probe)
        sentences = batch.target_sentences
        mask = CAUSAL if sentences is None else Mask(is_causal=True, packed=Packed(sentences, sentences))
        decoder_input = self.shifted(batch.target, sentences)
        return self.decode_states(decoder_input, memory, mask=mask, probe=probe)

    def loss(self, batch: Batch, label_smoothing: float = 0.0, *, probe: Probe = NO_PROBE) -> Loss:
        """Return the summed cross-entropy of a batch, excluding padding."""
        return self.loss_from_states(self.states(batch, probe=probe), batch, label_smoothing)

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

    @abstractmethod
    def blocks(self) -> list[nn.Module]:
        """Return the layers, which are compiled one by one."""

    # Tracing

    def trace(
        self,
        batch: Batch,
        only: str | Sequence[str] = (),
        max_bytes: int = MAX_TRACE_BYTES,
        *,
        probe: Probe = NO_PROBE,
    ) -> tuple[Tensor, Trace]:
        """Return the logits and the steps that computed them. `only` selects places: `decoder.*.cross_attention`."""
        if probe.edit is not None:
            raise TraceError("a patched model has no trace: some of its states come from another sentence. Trace both.")
        if self.training:
            raise TraceError(
                "the model is in training mode, where dropout changes every number. Call model.eval() first."
            )
        check_batch(batch, self.config)
        check_gates(probe.gates, self.config, batch.num_rows)
        wanted = (only,) if isinstance(only, str) else tuple(only)
        need = traced_bytes(self.config, batch.source, batch.target, self.dtype.itemsize)
        if need > max_bytes:
            raise TraceError(
                f"this trace would take about {need / 2**30:.1f} GiB, and the limit is "
                f"{max_bytes / 2**30:.1f} GiB. Trace fewer or shorter sentences, or raise max_bytes."
            )
        trace = PartTrace(wanted)
        output = self.forward(batch, probe=replace(probe, trace=trace))
        if not trace.records:
            raise TraceError(f"nothing was traced: no place matches {', '.join(wanted)}. Try {self.example_places}.")
        return output, trace

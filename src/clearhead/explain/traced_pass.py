"""One traced pass in float64 over a sentence and its translation: the arrays of every layer and head.

The whole target is read in one pass (teacher forcing), so a pass costs the same for every number of tokens explained.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from clearhead.errors import ConfigError
from clearhead.formats.head_removal import with_all_heads
from clearhead.model.base import SequenceModel
from clearhead.model.batch import Batch
from clearhead.model.config import ModelConfig
from clearhead.model.heads import AttentionHead, every_head
from clearhead.model.transformer import require_transformer
from clearhead.steps import Record, Trace
from clearhead.worksheet.arrays import Array

StackName = Literal["encoder", "decoder", "cross"]
KINDS: Mapping[StackName, str] = {
    "encoder": "encoder.self_attention",
    "decoder": "decoder.self_attention",
    "cross": "decoder.cross_attention",
}


@dataclass(frozen=True, eq=False)
class TracedProjection:
    """One projection x W + b of an attention layer: input (rows, D), weights (D, H · E) and bias (H · E)."""

    x: Array
    w: Array
    b: Array

    def of_head(self, head: int, num_heads: int) -> "TracedProjection":
        """Return the part of one head: its columns of W and b."""
        width = len(self.b) // num_heads
        columns = slice(head * width, (head + 1) * width)
        return TracedProjection(self.x, self.w[:, columns], self.b[columns])


@dataclass(frozen=True, eq=False)
class AttentionStack:
    """Every head of one kind of attention. L layers, H heads, Q queries, K keys, E width of a head, D width of a token.

    Cross-attention has a row for each token of the decoder's input: row t reads token t - 1 and predicts token t.
    The heads of a pruned model have their numbers from before pruning; the weights of removed heads are zeros.
    A recurrent model has one head, in its last layer. Its scores need not be products of a query and a key, so that it
    has neither here; its values are the states of the encoder, and W_O is the part of W_c that reads their mixture.
    """

    name: StackName
    layers: tuple[int, ...]  # the number of each layer that has such attention
    weights: Array  # (L, H, Q, K)
    q: Array | None  # (L, H, Q, E)
    k: Array | None  # (L, H, K, E)
    v: Array  # (L, H, K, E)
    scores: Array  # (L, H, Q, K): q · k / √E, before the mask
    z: Array  # (L, H, Q, E): weights · v
    outputs: Array  # (L, D, D): W_O, whose rows are the joined heads
    projections: tuple[Mapping[str, TracedProjection], ...] = ()  # of each layer: query, key, value
    removed: frozenset[tuple[int, int]] = frozenset()  # layer and number of each head that was pruned

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return len(self.weights)

    @property
    def num_heads(self) -> int:
        """The number of heads in each layer."""
        return len(self.weights[0])

    @property
    def shifted(self) -> Array:
        """The weights (L, H, Q - 1, K) where each token is read instead of predicted; the last token has none."""
        return self.weights[:, :, 1:]

    @property
    def kept(self) -> list[tuple[int, int]]:
        """The layer and number of every head that was not removed."""
        places = np.ndindex(self.num_layers, self.num_heads)
        return [(layer, head) for layer, head in places if (layer, head) not in self.removed]

    @property
    def kept_weights(self) -> list[Array]:
        """The weights (heads, Q, K) of each layer without removed heads; a layer can have no heads."""
        return [
            layer[[head for head in range(self.num_heads) if (number, head) not in self.removed]]
            for number, layer in enumerate(self.weights)
        ]

    def head_name(self, layer: int, head: int) -> str:
        """Return the place of a head in the model: `decoder.2.cross_attention.head.5`."""
        return str(self.head(layer, head))

    def head(self, layer: int, head: int) -> AttentionHead:
        """Return a head by its layer and number."""
        return AttentionHead(KINDS[self.name].replace(".", f".{self.layers[layer]}."), head)


@dataclass(frozen=True, eq=False)
class TracedPass:
    """The stacks of attention that a model has, the states of its layers, and its logits, all in float64.

    States have one more layer than the model: the first is the input of layer 1.
    """

    stacks: dict[StackName, AttentionStack]
    encoder_states: Array | None  # (L + 1, S, D)
    decoder_states: Array | None  # (L + 1, T, D)
    logits: Tensor  # (T, V), or (1, C) of a classifier
    hidden: tuple[int, ...] = ()  # tokens of other scripts than that of the target language

    def allowed(self, logits: Tensor) -> Tensor:
        """Return logits (T, V) with -∞ for the hidden tokens, as the search reads them: their probability is 0."""
        return logits.index_fill(-1, torch.tensor(self.hidden, dtype=torch.long, device=logits.device), -math.inf)


def complete_model(model: SequenceModel) -> SequenceModel:
    """Return a model in which the heads that a pruned model has lost are zeros, which have no effect."""
    return with_all_heads(require_transformer(model, "pruning")) if model.config.heads_kept else model


def trace_pass(model: SequenceModel, source: Sequence[int] | None, target: Sequence[int] | None) -> TracedPass:
    """Trace a float64 model on one sentence and the tokens that it has to write.

    The removed heads of a pruned model are traced as zeros, so that every layer has the same number of heads. Only a
    Transformer must have attention.
    """
    rows = [None if ids is None else torch.tensor([list(ids)], device=model.device) for ids in (source, target)]
    with torch.no_grad():
        logits, trace = complete_model(model).trace(Batch(rows[0], rows[1], is_padded=False))
    config = model.config
    stacks = {
        name: _stack(trace, name, removed_heads(config, name))
        for name in KINDS
        if trace.find("softmax", _pattern(name))
    }
    if config.architecture == "recurrent" and model.has_cross_attention:
        stacks["cross"] = _recurrent_stack(trace)
    if not stacks and config.architecture == "transformer":
        raise ConfigError("this model has no layers with attention, so that there is nothing to explain.")
    return TracedPass(
        stacks,
        None if source is None else _states(trace, "encoder", "input", config.encoder_blocks),
        None if target is None else _states(trace, "decoder", "target", config.decoder_blocks),
        logits[0] if target is not None else logits,
    )


def removed_heads(config: ModelConfig, name: StackName) -> frozenset[tuple[int, int]]:
    """Return the layer and number of every head of one kind of attention that a pruned model has lost."""
    return frozenset(
        (head.layer, head.number)
        for head in every_head(config.model_copy(update={"heads_kept": {}}))
        if head.kind == KINDS[name] and head.number not in config.heads_kept.get(head.where, (head.number,))
    )


def _pattern(name: StackName) -> str:
    return KINDS[name].replace(".", ".*.") + ".head.*"


def _stack(trace: Trace, name: StackName, removed: frozenset[tuple[int, int]]) -> AttentionStack:
    where = _pattern(name)
    softmax = trace.find("softmax", where)
    score, mix, scale = (trace.find(step, where) for step in ("score", "mix", "scale"))
    place = where.removesuffix("head.*") + "output"
    products = trace.find("project", place)
    layers = tuple(int(record.where.split(".")[1]) for record in products)

    def stacked(values: Sequence[Tensor]) -> Array:
        """(L · H) × (1, rows, columns) → (L, H, rows, columns)"""
        array = to_array(torch.stack([value[0] for value in values]))
        return array.reshape(len(layers), -1, *array.shape[1:])

    weights = stacked([record.value for record in softmax])
    for head in removed:
        weights[head] = 0.0
    return AttentionStack(
        name,
        layers,
        weights,
        stacked([record.inputs["q"] for record in score]),
        stacked([record.inputs["k"] for record in score]),
        stacked([record.inputs["v"] for record in mix]),
        stacked([record.value for record in scale]),
        stacked([record.value for record in mix]),
        to_array(torch.stack([record.inputs["w"] for record in products])),
        tuple(_projections(trace, record.where.removesuffix(".output")) for record in products),
        removed,
    )


def _recurrent_stack(trace: Trace) -> AttentionStack:
    """Return the attention of a recurrent decoder, which records one step after the other."""
    softmax, mix, products = (
        trace.find(step, "decoder.*.cross_attention.time.*") for step in ("softmax", "mix", "transform")
    )
    states = mix[0].inputs["v"]  # (1, S, D)
    width = states.shape[-1]
    products = [record for record in products if record.where.endswith(".state")]

    def rows(values: Sequence[Tensor]) -> Array:
        """Q × (1, 1, columns) → (1, 1, Q, columns)"""
        return to_array(torch.cat(tuple(values), dim=1))[None]

    return AttentionStack(
        "cross",
        (int(softmax[0].where.split(".")[1]),),
        rows([record.value for record in softmax]),
        None,
        None,
        to_array(states)[None],
        rows([record.inputs["scores"] for record in softmax]),
        rows([record.value for record in mix]),
        to_array(products[0].inputs["w"][:, :width].T)[None],
    )


def _projections(trace: Trace, where: str) -> dict[str, TracedProjection]:
    """Return the projections of one attention layer."""
    projections = {}
    for name in ("query", "key", "value"):
        records = trace.find("project", f"{where}.{name}")
        if not records:  # the keys and values of a convolutional model are not projected
            continue
        (record,) = records
        weights, bias = to_array(record.inputs["w"]), record.inputs.get("b")
        b = np.zeros(weights.shape[1]) if bias is None else to_array(bias)
        projections[name] = TracedProjection(to_array(record.inputs["x"][0]), weights, b)
    return projections


def _states(trace: Trace, stack: str, embedding: str, num_layers: int) -> Array:
    """Return the input of the first layer and the output of every layer: the last value that each place records.

    A recurrent layer records one token after the other.
    """
    places = [embedding, *(f"{stack}.{layer}" for layer in range(num_layers))]
    last: dict[str, dict[int, Tensor]] = {place: {} for place in places}
    for record in trace:
        for place in places:
            if record.where == place or record.where.startswith(f"{place}."):
                last[place][_time(record)] = record.value
    return np.stack([to_array(_joined(last[place])[0]) for place in places])


def _time(record: Record) -> int:
    """Return the token of a step of a recurrent layer; -1 for a step of all tokens."""
    words = record.where.split(".")
    return int(words[words.index("time") + 1]) if "time" in words else -1


def _joined(values: dict[int, Tensor]) -> Tensor:
    """Return the states (1, T, D) of all tokens, which are recorded together or one by one."""
    times = sorted(set(values) - {-1})
    return torch.cat([values[time] for time in times], dim=1) if times else values[-1]


def to_array(tensor: Tensor) -> Array:
    """Return a tensor as a float64 array."""
    return np.asarray(tensor.detach().to(device="cpu", dtype=torch.float64).numpy())

"""The Transformer in NumPy: an encoder and a decoder with a cache, for translating where torch is not installed.

It is the shortest complete Transformer of this project. It uses the weights of a checkpoint under their names and
computes the same numbers as `transformer.py`, up to rounding; a test compares the two.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clearhead.model.config import ModelConfig

Array = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def numpy_lacks(config: ModelConfig) -> str | None:
    """Return why this Transformer cannot be a model with this config, as a clause, or None if it can."""
    reasons = {
        f"it only supports Transformers, and the model is {config.architecture}": config.architecture != "transformer",
        f"it only supports encoder-decoders, and the model has the shape {config.shape}": config.shape
        != "encoder-decoder",
        "it does not support rotary positions": config.positions == "rotary",
        "it always scales attention scores, and the model has scale_scores = false": not config.scale_scores,
        "it does not support a norm over all numbers of a sentence": config.encoder_norm == "all",
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


# The parts


def softmax(x: Array) -> Array:
    """exp(x) / Σ exp(x) over the last axis"""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    share: Array = powers / powers.sum(axis=-1, keepdims=True)
    return share


def log_softmax(x: Array) -> Array:
    """x - log Σ exp(x) over the last axis"""
    shifted = x - x.max(axis=-1, keepdims=True)
    log_probs: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_probs


def _gelu(x: Array) -> Array:
    """x Φ(x), with the approximation 7.1.26 of Abramowitz and Stegun, whose error is below 1.5e-7"""
    z = np.abs(x) / np.float32(math.sqrt(2.0))
    t = 1.0 / (1.0 + 0.3275911 * z)
    tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    upper = 1.0 - 0.5 * tail * np.exp(-z * z)  # Φ(|x|)
    activated: Array = x * np.where(x >= 0, upper, 1.0 - upper)
    return activated


_ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": _gelu,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def _sinusoids(length: int, width: int, order: str) -> Array:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same; 'blocks': all sines first"""
    angles = np.arange(length)[:, None] / 10000.0 ** (2.0 * np.arange((width + 1) // 2) / width)  # (T, ⌈D/2⌉)
    table = np.zeros((length, width), dtype=np.float32)
    middle = (width + 1) // 2
    sines, cosines = (
        (slice(0, None, 2), slice(1, None, 2)) if order == "pairs" else (slice(middle), slice(middle, None))
    )
    table[:, sines], table[:, cosines] = np.sin(angles), np.cos(angles[:, : width // 2])
    return table


def complete_weights(config: ModelConfig, weights: Mapping[str, Array]) -> dict[str, Array]:
    """Return the weights of an encoder-decoder with tied ones under every name, and with its table of sinusoids."""
    complete = dict(weights)
    if config.tied != "none":
        shared = "encoder" if config.tied == "three" else "decoder"
        for name in ("decoder.embedding.weight", "output.weight"):
            complete[name] = complete[f"{shared}.embedding.weight"]
    if config.positions == "sinusoidal":
        for side, width in (("encoder", config.d_model), ("decoder", config.decoder_width)):
            complete[f"{side}.position"] = _sinusoids(config.max_length, width, config.sinusoids)
    for where, heads in config.heads_kept.items():
        if not heads:
            complete |= _headless(where, config)
    return complete


def _headless(where: str, config: ModelConfig) -> dict[str, Array]:
    """Return the empty matrices of an attention layer without heads, which a file does not have."""
    width = config.d_model if where.startswith("encoder") else config.decoder_width
    inputs = {"packed": config.d_model if where.endswith("cross_attention") else width, "query": width}
    place = re.sub(r"^(encoder|decoder)\.", r"\1_blocks.", where)
    empty = {f"{place}.{name}.weight": np.zeros((0, size), dtype=np.float32) for name, size in inputs.items()}
    return {**empty, f"{place}.output.weight": np.zeros((width, 0), dtype=np.float32)}


@dataclass
class NumpyCache:
    """What the decoder has computed for B sentences with K hypotheses each; one array for each of its layers.

    `attention` are the weights of the last step over the source: (B, H, K, S).
    """

    memory: list[tuple[Array, Array]]  # keys and values of the source: (B, H, S, E)
    is_hidden: npt.NDArray[np.bool_]  # (B, 1, 1, S): padding
    past: list[tuple[Array, Array]] = field(default_factory=list)  # of the target: (B, K, H, T, E)
    attention: list[Array] = field(default_factory=list)
    length: int = 0  # tokens read so far

    def follow(self, parents: Ids) -> None:
        """Continue with new hypotheses (B, K′), each with the past of its parent."""
        rows = np.arange(len(parents))[:, None]
        self.past = [(keys[rows, parents], values[rows, parents]) for keys, values in self.past]

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only the sentences at `rows`."""
        self.memory = [(keys[rows], values[rows]) for keys, values in self.memory]
        self.past = [(keys[rows], values[rows]) for keys, values in self.past]
        self.is_hidden = self.is_hidden[rows]


class NumpyTransformer:
    """An encoder-decoder in float32 on a CPU; `weights` have the names of a checkpoint, tied ones only once."""

    def __init__(self, config: ModelConfig, weights: Mapping[str, Array]) -> None:
        assert numpy_lacks(config) is None, "numpy_lacks tells which models are supported"
        self.config, self.weights = config, complete_weights(config, weights)

    def encode(self, source: Ids) -> NumpyCache:
        """Encode sentences (B, S), padded on the right; return a cache in which nothing is decoded yet."""
        is_hidden = (source == self.config.pad)[:, None, None, :]
        x = self._embed("encoder", source, 0)
        for number in range(self.config.encoder_blocks):
            x = self._encode_block(x, f"encoder_blocks.{number}", is_hidden)
        x = self._norm(x, "encoder.last_norm") if self.config.ends_with_norm else x
        return NumpyCache([self._memory(x, number) for number in range(self.config.decoder_blocks)], is_hidden)

    def step(self, tokens: Ids, cache: NumpyCache) -> Array:
        """Read the last token of every hypothesis (B, K); return the logits of the next one: (B, K, V)."""
        x = self._embed("decoder", tokens, cache.length)
        past, cache.past, cache.attention, cache.length = cache.past, [], [], cache.length + 1
        for number in range(self.config.decoder_blocks):
            x = self._decode_block(x, number, past, cache)
        x = self._norm(x, "decoder.last_norm") if self.config.ends_with_norm else x
        return self._linear(x, "output")

    def cross_attention(self, source: Ids, target: Sequence[int]) -> list[Array]:
        """Return each layer's weights (H, T + 1, S) over a sentence (S,); row t is the output after t target tokens."""
        cache, rows = self.encode(source[None]), []
        for token in (self.config.start_id, *target):
            self.step(np.array([[token]]), cache)
            rows.append([weights[0, :, 0] for weights in cache.attention])  # (H, S) each
        return [np.stack(layer, axis=1) for layer in zip(*rows, strict=True)]

    def _encode_block(self, x: Array, place: str, is_hidden: npt.NDArray[np.bool_]) -> Array:
        def attend_own(y: Array) -> Array:
            parts = np.split(self._linear(y, f"{place}.self_attention.packed"), 3, axis=-1)
            q, k, v = (self._heads(part, "encoder").swapaxes(1, 2) for part in parts)  # (B, H, S, E)
            mixed, _ = _attend(q, k, v, is_hidden)
            return self._linear(_joined(mixed.swapaxes(1, 2)), f"{place}.self_attention.output")

        x = self._residual(x, f"{place}.residuals.0", attend_own)
        return self._residual(x, f"{place}.residuals.1", lambda y: self._feed_forward(y, place))

    def _decode_block(self, x: Array, number: int, past: list[tuple[Array, Array]], cache: NumpyCache) -> Array:
        place = f"decoder_blocks.{number}"

        def attend_own(y: Array) -> Array:
            parts = np.split(self._linear(y, f"{place}.self_attention.packed"), 3, axis=-1)
            q, k, v = (self._heads(part)[:, :, :, None] for part in parts)  # (B, K, H, 1, E)
            if past:
                k, v = (np.concatenate(pair, axis=3) for pair in zip(past[number], (k, v), strict=True))
            cache.past.append((k, v))
            mixed, _ = _attend(q, k, v)
            return self._linear(_joined(mixed[:, :, :, 0]), f"{place}.self_attention.output")

        def attend_memory(y: Array) -> Array:
            q = self._heads(self._linear(y, f"{place}.cross_attention.query")).swapaxes(1, 2)  # (B, H, K, E)
            mixed, weights = _attend(q, *cache.memory[number], cache.is_hidden)
            cache.attention.append(weights)
            return self._linear(_joined(mixed.swapaxes(1, 2)), f"{place}.cross_attention.output")

        x = self._residual(x, f"{place}.residuals.0", attend_own)
        x = self._residual(x, f"{place}.residuals.1", attend_memory)
        return self._residual(x, f"{place}.residuals.2", lambda y: self._feed_forward(y, place))

    def _embed(self, side: str, ids: Ids, start: int) -> Array:
        """Look up embeddings and add positions; encoder ids (B, S) have one for each column, decoder ids (B, K) one."""
        x = self.weights[f"{side}.embedding.weight"][ids]
        if self.config.scale_embedding:
            x = x * np.float32(math.sqrt(x.shape[-1]))
        if self.config.has_position_table:
            end = start + (ids.shape[1] if side == "encoder" else 1)
            x = x + self.weights[f"{side}.position"][start:end]
        return x

    def _memory(self, x: Array, number: int) -> tuple[Array, Array]:
        """Return the keys and values of the source for a decoder layer: (B, H, S, E) each."""
        k, v = np.split(self._linear(x, f"decoder_blocks.{number}.cross_attention.packed"), 2, axis=-1)
        return self._heads(k).swapaxes(1, 2), self._heads(v).swapaxes(1, 2)

    def _feed_forward(self, y: Array, place: str) -> Array:
        hidden = _ACTIVATIONS[self.config.activation](self._linear(y, f"{place}.feed_forward.first"))
        if self.config.is_gated:
            hidden = hidden * self._linear(y, f"{place}.feed_forward.gate")
        return self._linear(hidden, f"{place}.feed_forward.second")

    def _residual(self, x: Array, name: str, sublayer: Callable[[Array], Array]) -> Array:
        """pre: x + f(norm(x)); post: norm(x + f(x))"""
        if self.config.norm_place == "pre":
            return x + sublayer(self._norm(x, f"{name}.norm"))
        return self._norm(x + sublayer(x), f"{name}.norm")

    def _norm(self, x: Array, name: str) -> Array:
        """γ (x - μ) / √(σ² + ε) + β, or without μ and β for an RMS norm, which has no shift"""
        shift = self.weights.get(f"{name}.shift")
        centred = x if shift is None else x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        y: Array = centred / np.sqrt(variance + np.float32(self.config.epsilon)) * self.weights[f"{name}.gain"]
        return y if shift is None else y + shift

    def _linear(self, x: Array, name: str) -> Array:
        """x Wᵀ + b, where b can be missing"""
        bias = self.weights.get(f"{name}.bias")
        weight = self.weights[f"{name}.weight"]
        rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) @ weight.T  # one product of matrices is fastest
        y: Array = rows.reshape(*x.shape[:-1], len(weight))
        return y if bias is None else y + bias

    def _heads(self, x: Array, side: str = "decoder") -> Array:
        """(B, T, D) → (B, T, H, E)"""
        width = self.config.head_width(side)
        return x.reshape(*x.shape[:-1], x.shape[-1] // width, width)


def _joined(z: Array) -> Array:
    """(B, T, H, E) → (B, T, D)"""
    return z.reshape(*z.shape[:-2], z.shape[-2] * z.shape[-1])


def _attend(q: Array, k: Array, v: Array, is_hidden: npt.NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
    """Z = A V, A = softmax(Q Kᵀ / √d_k), for arrays (…, T, E); return Z and A."""
    scores = q @ k.swapaxes(-1, -2) / np.float32(math.sqrt(q.shape[-1]))
    weights = softmax(scores if is_hidden is None else np.where(is_hidden, np.float32(-np.inf), scores))
    return weights @ v, weights

"""The generators of version 1, by kind; the module of a kind is imported when the kind is first drawn.

A generator draws plain data from a stream of integers, so that its problems are the same on every platform. It never
changes: a better one is a new version, with a list of its own.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from clearhead.quiz.chance import Chance
from clearhead.worksheet.worksheet import Worksheet

Generator = Callable[[Chance, int], dict[str, Any]]
Condition = Callable[[dict[str, Any], Worksheet], str]

_GENERATORS = {
    "seq2seq-attention": "scores.draw_seq2seq",
    "self-attention": "attention.draw_self_attention",
    "masked-self-attention": "attention.draw_masked_self_attention",
    "cross-attention": "attention.draw_cross_attention",
    "multi-head-attention": "attention.draw_multi_head_attention",
    "positions": "positions.draw_positions",
    "context": "scores.draw_context",
    "add-and-norm": "layers.draw_add_and_norm",
    "dense-layer": "layers.draw_dense",
    "feed-forward": "layers.draw_feed_forward",
    "encoder-block": "blocks.draw_encoder_block",
    "decoder-block": "blocks.draw_decoder_block",
    "transformer": "blocks.draw_transformer",
    "word-vectors": "word_vectors.draw_word_vectors",
    "recurrent": "recurrent.draw_recurrent",
    "convolution": "layers.draw_convolution",
    "softmax": "softmax.draw_softmax",
    "parts": "parts.draw_parts",
    "multi-hop": "multi_hop.draw_multi_hop",
}
# Of sheets that are several exercises of `solve` under a name of their own.
_SUMMARIES = {"multi-hop": "two layers of attention, the second of which reads what the first has gathered"}
# A condition of a kind's own, which a draw must meet beside those of every sheet.
_CONDITIONS = {"multi-hop": "multi_hop.broken_promise"}


def generator_of(kind: str) -> Generator:
    """Return the generator of a kind."""
    generator: Generator = _imported(_GENERATORS[kind])
    return generator


def condition_of(kind: str) -> Condition:
    """Return a function that says which condition of the kind a draw breaks, or an empty text."""
    condition: Condition = _imported(_CONDITIONS[kind]) if kind in _CONDITIONS else lambda problem, key: ""
    return condition


def _imported(path: str) -> Any:
    module, _, name = path.partition(".")
    return getattr(import_module(f"clearhead.quiz.kinds.{module}"), name)


def kinds_with_generator() -> tuple[str, ...]:
    """Return the kinds that have a generator: those of `solve`, and multi-hop, a sheet of several exercises."""
    return tuple(_GENERATORS)


_DESCRIPTIONS: dict[str, tuple[str, str, str]] = {
    "seq2seq-attention": (
        "dot products of integers, one step",
        "scaled or multiplicative scores and the new state",
        "additive scores, the new state and an output layer",
    ),
    "self-attention": (
        "two or three tokens with integers, one step",
        "three tokens with one-decimal numbers, the whole layer",
        "two heads, a padding mask and the output projection",
    ),
    "masked-self-attention": (
        "two or three tokens with integers, one step",
        "three tokens with one-decimal numbers, the whole layer",
        "two heads, a causal mask and the output projection",
    ),
    "cross-attention": (
        "two queries, three keys, integers, one step",
        "inputs of different widths, the whole layer",
        "two heads, a padding mask and the output projection",
    ),
    "multi-head-attention": (
        "two heads with integers, one step",
        "two heads and the output projection, the whole layer",
        "the same with a causal mask, every line rounded",
    ),
    "positions": (
        "a table of sines and cosines",
        "the table and its sum with word vectors",
        "rotary positions",
    ),
    "context": (
        "dot products of integers, one step",
        "scaled dot products of one-decimal vectors",
        "positions, scaled dot products and a causal mask",
    ),
    "add-and-norm": (
        "residual and layer norm of integers, one step",
        "residual and layer norm of one-decimal numbers",
        "layer or batch norm with gain and shift, every line rounded",
    ),
    "dense-layer": (
        "integers and ReLU, one step",
        "one-decimal numbers with tanh or sigmoid",
        "three classes and a softmax, every line rounded",
    ),
    "feed-forward": (
        "integers and ReLU, one step",
        "one-decimal numbers and ReLU, both layers",
        "tanh or sigmoid and a softmax, every line rounded",
    ),
    "encoder-block": (
        "attention and residual with integers, one step",
        "attention, residual and layer norm",
        "two heads, layer norm and feed-forward, every line rounded",
    ),
    "decoder-block": (
        "two attentions and residuals with integers, one step",
        "two attentions, residuals and layer norms",
        "two heads, layer norms and feed-forward, every line rounded",
    ),
    "transformer": (
        "one encoder and one decoder layer with integers, one step",
        "one encoder and one decoder layer and the loss of a word",
        "two heads, layer norms, feed-forward and the loss, every line rounded",
    ),
    "word-vectors": (
        "dot products, lengths and cosines of integer vectors, one step",
        "TF-IDF of three documents",
        "similarities of four words, or TF-IDF with the smooth formula",
    ),
    "recurrent": (
        "a plain cell with integers, one step",
        "a plain cell with one-decimal numbers and an output layer",
        "an LSTM or a GRU, every line rounded",
    ),
    "convolution": (
        "one filter over two neighbours, integers",
        "two filters over three neighbours and ReLU",
        "two filters, padding and tanh, every line rounded",
    ),
    "softmax": (
        "three integer scores",
        "two rows of one-decimal scores and a temperature",
        "a causal mask and a temperature, in base e or 2",
    ),
    "parts": (
        "a softmax and a dense layer, one step",
        "positions, then self-attention over their sum",
        "self-attention with two heads, then residual and norm",
    ),
    "multi-hop": (
        "two layers with the same weights and the answer after each, integers, one step",
        "the same with one-decimal numbers, both layers",
        "two layers with weights of their own, every line rounded",
    ),
}


def summary_of(kind: str) -> str:
    """Return in a few words what the sheets of a kind are about."""
    from clearhead.worksheet.kinds import KINDS

    return KINDS[kind].summary if kind in KINDS else _SUMMARIES[kind]


def describe_kind(kind: str) -> tuple[str, str, str]:
    """Return what the three difficulties of a kind ask for."""
    return _DESCRIPTIONS[kind]

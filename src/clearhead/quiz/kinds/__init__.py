"""The generators of version 1, by kind; the module of a kind is imported when the kind is first drawn.

A generator draws plain data from a stream of integers, so that its problems are the same on every platform. It never
changes: a better one is a new version, with a list of its own.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from clearhead.quiz.chance import Chance

Generator = Callable[[Chance, int], dict[str, Any]]

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
}


def generator_of(kind: str) -> Generator:
    """Return the generator of a kind."""
    module, _, name = _GENERATORS[kind].partition(".")
    generator: Generator = getattr(import_module(f"clearhead.quiz.kinds.{module}"), name)
    return generator


def kinds_with_generator() -> tuple[str, ...]:
    """Return the kinds that have a generator, in the order of the kinds of `solve`."""
    from clearhead.worksheet.kinds import KINDS

    return tuple(kind for kind in KINDS if kind in _GENERATORS)

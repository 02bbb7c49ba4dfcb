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
    "self-attention": "attention.draw_self_attention",
    "masked-self-attention": "attention.draw_masked_self_attention",
    "cross-attention": "attention.draw_cross_attention",
    "multi-head-attention": "attention.draw_multi_head_attention",
    "softmax": "softmax.draw_softmax",
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

"""Warnings about the text of a planned run: too little of it, equal sides, or files that do not match."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearhead.data.hold_out import TextPair

FEW_PAIRS = 5_000
_EQUAL_SHARE, _MOSTLY_EQUAL = 0.3, 0.5  # of pairs whose sides are the same; names and numbers are a few percent
_BLOCKS, _LEAST_IN_BLOCK = 20, 200  # parts of the text in which lengths are compared
_UNRELATED = 0.15  # correlation of the lengths of both sides; translations have 0.7 to 0.96
_LEAST_SPREAD = 0.1  # of the logarithms of lengths: in a text sorted by length, the lengths of a part are nearly equal
_MOSTLY_UNRELATED = 0.5  # of the parts


class TextWarning(NamedTuple):
    """A property of a text with which no useful translator can be trained; if `is_certain`, training it is useless."""

    sentence: str
    is_certain: bool = False


def text_warnings(pairs: Sequence[TextPair]) -> Iterator[TextWarning]:
    """Yield a warning for each property of the text with which no useful translator can be trained."""
    if len(pairs) < FEW_PAIRS:
        yield TextWarning(
            f"{len(pairs):,} pairs are very little text: expect translations of sentences like those in the text, and "
            "poor ones of all others."
        )
    num_equal = sum(source == target for source, target in pairs)
    if num_equal > _EQUAL_SHARE * len(pairs):
        yield TextWarning(
            f"The two sides are identical in {100 * num_equal / len(pairs):.0f} % of the pairs: the model will learn "
            "to copy. Are both files in the same language?",
            num_equal > _MOSTLY_EQUAL * len(pairs),
        )
    yield from _misaligned(pairs)


def _misaligned(pairs: Sequence[TextPair]) -> Iterator[TextWarning]:
    """Compare the lengths of both sides: a long sentence has a long translation, unless lines have shifted."""
    size = max(_LEAST_IN_BLOCK, -(-len(pairs) // _BLOCKS))
    starts = [start for start in range(0, len(pairs), size) if len(pairs) - start >= _LEAST_IN_BLOCK]
    correlations = {start: _correlation(pairs[start : start + size]) for start in starts}
    unrelated = [start for start, value in correlations.items() if value is not None and value < _UNRELATED]
    if not unrelated:
        return
    yield TextWarning(
        f"The files look misaligned: long sentences do not have long translations in {len(unrelated)} of "
        f"{len(starts)} parts of the text, first near pair {unrelated[0] + 1:,}. Check that each line is the "
        "translation of the same line in the other file.",
        len(unrelated) >= _MOSTLY_UNRELATED * len(starts),
    )


def _correlation(pairs: Sequence[TextPair]) -> float | None:
    """Return the correlation of the lengths of both sides; None if nearly equal lengths say nothing."""
    source, target = (np.log(1 + side) for side in _lengths(pairs))
    if min(source.std(), target.std()) < _LEAST_SPREAD:
        return None
    return float(np.corrcoef(source, target)[0, 1])


def _lengths(pairs: Sequence[TextPair]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    source, target = (np.array([len(pair[side]) for pair in pairs], dtype=np.float64) for side in (0, 1))
    return source, target

"""Name what a head does on one sentence by a simple rule: where its largest weights are.

Each pattern names one key for a query, such as the token before it. The share of a pattern is the number of rows whose
largest weight is at that key, divided by the rows that have such a key. The kind of a head is the pattern with the
largest share, if it is at least one half and three rows, and the share is its confidence; otherwise it is `mixed`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clearhead.explain.traced_pass import StackName
from clearhead.worksheet.arrays import Array, Ids, Mask

MIXED = "mixed"
_LEAST_SHARE = 0.5
_LEAST_ROWS = 3  # fewer rows can show a pattern by chance
_OFFSETS = (-1, 0, 1, -2, 2, -3, 3)
_NAMES = {-1: "previous token", 0: "same token", 1: "next token"}


@dataclass(frozen=True)
class HeadKind:
    """The kind of a head with its confidence, the mean of the largest weight of a row, and the share by pattern."""

    kind: str
    confidence: float
    largest: float
    patterns: Mapping[str, float]


def head_kind(weights: Array, stack: StackName) -> HeadKind:
    """Return the kind of a head from its weights (Q, K). The confidence of a mixed head is 1 - the largest share."""
    best = weights.argmax(axis=1)
    shares, clear = {}, {}
    for name, (rows, hits) in _patterns(best, weights.shape, stack).items():
        if rows.sum() >= _LEAST_ROWS:
            shares[name] = float(hits[rows].mean())
            if shares[name] >= _LEAST_SHARE and hits[rows].sum() >= _LEAST_ROWS:
                clear[name] = shares[name]
    largest = float(weights.max(axis=1).mean())
    kind = max(clear, key=lambda name: clear[name], default=MIXED)
    confidence = clear.get(kind, 1 - max(shares.values(), default=0.0))
    return HeadKind(kind, confidence, largest, shares)


def _patterns(best: Ids, shape: tuple[int, ...], stack: StackName) -> dict[str, tuple[Mask, Mask]]:
    """Return, for each pattern, the rows that can show it and the rows whose largest weight does."""
    num_queries, num_keys = shape
    query = np.arange(num_queries)
    patterns: dict[str, tuple[Mask, Mask]] = {}
    if stack == "cross":
        every = np.ones(num_queries, dtype=bool)
        diagonal = query * (num_keys - 1) / max(1, num_queries - 1)
        patterns["diagonal"] = every, np.abs(best - diagonal) <= 1
        patterns["first token"] = every, best == 0
    else:
        for offset in _OFFSETS if stack == "encoder" else [offset for offset in _OFFSETS if offset <= 0]:
            key = query + offset
            is_own = (key >= 0) & (key < num_keys) & (stack == "encoder" or query > 0)
            patterns[_NAMES.get(offset, f"offset {offset:+d}".replace("-", "−"))] = is_own, best == key
        patterns["first token"] = query > 1, best == 0  # in the first rows it is also the same or the previous token
    if stack != "decoder":
        can_differ = query < num_queries - 2 if stack == "encoder" else np.ones(num_queries, dtype=bool)
        patterns["end token"] = can_differ, best == num_keys - 1
    return patterns

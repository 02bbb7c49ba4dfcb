"""How well the sense of a word can be read from its vectors: the nearest centroid, and cosines.

All numbers are computed in float64, in which the mean of equal float32 vectors is exactly that vector. Static vectors
of a word therefore give exact ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearhead.worksheet.arrays import Array


@dataclass(frozen=True)
class SenseCosines:
    """The mean cosine of two different sentences' vectors of a word: with the same sense, and with two senses."""

    within: float
    between: float


def read_by_centroid(known: Array, known_senses: Sequence[int], tested: Array, senses: Sequence[int]) -> float:
    """Return the share of tested vectors (T, D) whose nearest centroid of known vectors (K, D) is that of their sense.

    A vector that has the same distance to several centroids counts as the most frequent of the known senses.
    """
    labels = np.asarray(known_senses)
    names, counts = np.unique(labels, return_counts=True)
    order = names[np.argsort(-counts, kind="stable")]  # argmin takes the first of equal distances
    centroids = np.stack([known[labels == name].astype(np.float64).mean(axis=0) for name in order])
    distances = np.square(tested.astype(np.float64)[:, None] - centroids).sum(axis=-1)  # (T, C)
    choices = order[distances.argmin(axis=1)]
    return float((choices == np.asarray(senses)).mean())


def read_by_others(vectors: Array, senses: Sequence[int]) -> float:
    """Return the share of vectors (N, D) whose nearest centroid is that of their sense, each left out of its own.

    A vector that has the same distance to several centroids counts as the most frequent sense of all vectors, so that
    equal vectors give exactly the share of that sense.
    """
    labels, exact = np.asarray(senses), vectors.astype(np.float64)
    names, counts = np.unique(labels, return_counts=True)
    assert counts.min() > 1, "the only vector of a sense cannot be left out of its centroid"
    order = names[np.argsort(-counts, kind="stable")]
    sums = np.stack([exact[labels == name].sum(axis=0) for name in order])  # (C, D)
    own = labels[:, None] == order  # (N, C)
    sizes = own.sum(axis=0) - own
    centroids = (sums - own[..., None] * exact[:, None]) / sizes[..., None]  # (N, C, D)
    distances = np.square(exact[:, None] - centroids).sum(axis=-1)
    return float((order[distances.argmin(axis=1)] == labels).mean())


def sense_cosines(vectors: Array, senses: Sequence[int]) -> SenseCosines:
    """Return the mean cosines of pairs of vectors (N, D), of which every sense has at least two."""
    exact, labels = vectors.astype(np.float64), np.asarray(senses)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    cosines = unit @ unit.T
    is_same = labels[:, None] == labels
    is_other_sentence = ~np.eye(len(labels), dtype=bool)
    return SenseCosines(float(cosines[is_same & is_other_sentence].mean()), float(cosines[~is_same].mean()))

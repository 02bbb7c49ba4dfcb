"""How well the sense of a word can be read from its vectors: by the nearest centroid, by a linear map; and cosines.

All numbers are computed in float64, in which the mean of equal float32 vectors is exactly that vector. Static vectors
of a word therefore give exact ties.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clearhead.worksheet.arrays import Array, Ids

_RIDGE = 0.1  # of the mean squared length of the centred vectors


@dataclass(frozen=True)
class SenseCosines:
    """The mean cosine of two different sentences' vectors of a word: with the same sense, and with two senses."""

    within: float
    between: float


def nearest_senses(vectors: Array, senses: Sequence[int], others: Array) -> Ids:
    """Return for each of the other vectors (T, D) the sense whose centroid of vectors (K, D) is nearest.

    Equal distances count as the first of the most frequent senses.
    """
    labels = np.asarray(senses)
    names, counts = np.unique(labels, return_counts=True)
    order = names[np.argsort(-counts, kind="stable")]  # argmin takes the first of equal distances
    centroids = np.stack([vectors[labels == name].astype(np.float64).mean(axis=0) for name in order])
    distances = np.square(others.astype(np.float64)[:, None] - centroids).sum(axis=-1)  # (T, C)
    return np.asarray(order[distances.argmin(axis=1)])


def linear_senses(vectors: Array, senses: Sequence[int], others: Array) -> Ids:
    """Return for each of the other vectors (T, D) the sense that a linear map finds, which is fitted to vectors (K, D).

    The map is a ridge regression of the senses. It can ignore directions in which the vectors differ for other reasons,
    such as their positions, which a centroid cannot. Equal scores count as the first sense.
    """
    labels, exact = np.asarray(senses), vectors.astype(np.float64)
    names = np.unique(labels)
    mean, is_sense = exact.mean(axis=0), labels[:, None] == names
    centred, goals = exact - mean, is_sense - is_sense.mean(axis=0)  # (K, D), (K, C)
    kernel = centred @ centred.T
    ridge = _RIDGE * np.trace(kernel) / len(kernel) or 1.0  # equal vectors have no variance
    weights = centred.T @ np.linalg.solve(kernel + ridge * np.eye(len(kernel)), goals)  # (D, C)
    scores = (others.astype(np.float64) - mean) @ weights
    return np.asarray(names[scores.argmax(axis=1)])


def read_by_others(vectors: Array, senses: Sequence[int]) -> float:
    """Return the share of vectors (N, D) whose nearest centroid is that of their sense, each tested on the others.

    Every sense has the same number of vectors, at least two. One vector of each sense is left out at a time: with only
    the tested vector left out, its own centroid alone would move away from it, and vectors that say nothing would give
    less than a guess. Equal distances count as the first sense, so that equal vectors give exactly that share.
    """
    labels, exact = np.asarray(senses), vectors.astype(np.float64)
    names, counts = np.unique(labels, return_counts=True)
    assert counts.min() == counts.max() > 1, "every sense needs the same number of vectors"
    groups = np.stack([exact[labels == name] for name in names])  # (C, N / C, D)
    centroids = (groups.sum(axis=1, keepdims=True) - groups) / (groups.shape[1] - 1)  # without one vector each
    distances = np.square(groups[:, None] - centroids).sum(axis=-1)  # (C, C, N / C): vectors, centroids
    return float((distances.argmin(axis=1) == np.arange(len(names))[:, None]).mean())


def read_linearly_by_others(vectors: Array, senses: Sequence[int], num_folds: int = 10) -> float:
    """Return the share of vectors (N, D) whose sense a linear map finds that was fitted to the other folds.

    Every sense has the same number of vectors, at least two, so that it is equally frequent in every fold.
    """
    labels = np.asarray(senses)
    names, counts = np.unique(labels, return_counts=True)
    assert counts.min() == counts.max() > 1, "every sense needs the same number of vectors"
    folds = np.empty(len(labels), dtype=np.int64)
    for name in names:
        folds[labels == name] = np.arange(counts[0]) % num_folds
    choices = np.empty_like(labels)
    for fold in np.unique(folds):
        is_tested = folds == fold
        choices[is_tested] = linear_senses(vectors[~is_tested], labels[~is_tested].tolist(), vectors[is_tested])
    return float((choices == labels).mean())


def sense_cosines(vectors: Array, senses: Sequence[int]) -> SenseCosines:
    """Return the mean cosines of pairs of vectors (N, D), of which every sense has at least two."""
    exact, labels = vectors.astype(np.float64), np.asarray(senses)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    cosines = unit @ unit.T
    is_same = labels[:, None] == labels
    is_other_sentence = ~np.eye(len(labels), dtype=bool)
    return SenseCosines(float(cosines[is_same & is_other_sentence].mean()), float(cosines[~is_same].mean()))

"""How well the sense of a word can be read from its vectors: by the nearest centroid, by a linear map; and cosines.

All numbers are computed in float64, in which the mean of equal float32 vectors is exactly that vector. Static vectors
of a word therefore give exact ties.
"""

from collections.abc import Sequence

import numpy as np

from clearhead.worksheet.arrays import Array, Ids

_RIDGE = 0.1  # of the mean squared length of the centred vectors


def nearest_senses(vectors: Array, senses: Sequence[int] | Ids, others: Array) -> Ids:
    """Return for each of the other vectors (T, D) the sense whose centroid of vectors (K, D) is nearest.

    Equal distances count as the first of the most frequent senses.
    """
    labels = np.asarray(senses)
    names, counts = np.unique(labels, return_counts=True)
    order = names[np.argsort(-counts, kind="stable")]  # argmin takes the first of equal distances
    centroids = np.stack([vectors[labels == name].astype(np.float64).mean(axis=0) for name in order])
    distances = np.square(others.astype(np.float64)[:, None] - centroids).sum(axis=-1)  # (T, C)
    return np.asarray(order[distances.argmin(axis=1)])


def linear_senses(vectors: Array, senses: Sequence[int] | Ids, others: Array) -> Ids:
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


def sense_cosines(vectors: Array, senses: Sequence[int] | Ids) -> tuple[float, float]:
    """Return the mean cosine of two different sentences' vectors (N, D) of a word: with the same sense, and with two.

    Every sense has at least two vectors.
    """
    exact, labels = vectors.astype(np.float64), np.asarray(senses)
    unit = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    cosines = unit @ unit.T
    is_same = labels[:, None] == labels
    is_other_sentence = ~np.eye(len(labels), dtype=bool)
    return float(cosines[is_same & is_other_sentence].mean()), float(cosines[~is_same].mean())

"""Why scores are divided by √d.

A dot product of two vectors of d independent numbers is a sum of d terms, so its variance grows with d. With such large
scores softmax gives almost all weight to one key, and its gradient is then almost zero. Scores divided by √d have the
same variance for every d.
"""

import numpy as np

from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.picture import Panel
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reference import scale, softmax

CLAIM = (
    "The variance of a dot product grows with the dimension d; division by √d keeps it constant, so that softmax "
    "does not saturate."
)
DIMENSIONS = tuple(2**power for power in range(11))
NUM_QUERIES = 8192
NUM_KEYS = 16  # that each query chooses among
_COLUMNS = ("d", "variance", "largest weight", "entropy (nats)", "mean |∂a/∂s|")
_LINES = {0: "q·k", 1: "q·k / √d"}
PANELS = (
    Panel("Variance of a score", ("variance",), "d", tables=_LINES, log="xy"),
    Panel("Largest weight of softmax", ("largest weight",), "d", tables=_LINES, log="x"),
    Panel("Gradient of softmax", ("mean |∂a/∂s|",), "d", tables=_LINES, log="x"),
)


def run(seed: int) -> Measurement:
    """Measure the variance of the scores and their softmax at every width."""
    random = np.random.default_rng(seed)
    plain: Rows = []
    scaled: Rows = []
    for width in DIMENSIONS:
        scores = random_scores(random, width)
        plain.append((width, *_measure(scores)))
        scaled.append((width, *_measure(scale(scores, root_of=width))))
    (width, variance, largest, _, gradient), (_, scaled_variance, scaled_largest, _, scaled_gradient) = (
        map(float, rows[-1]) for rows in (plain, scaled)
    )
    finding = (
        f"At d = {width:.0f} the variance of a score is {variance:.0f}, and {scaled_variance:.2f} after division by "
        f"√d. Without the division, the largest of {NUM_KEYS} weights is {largest:.2f} on average instead of "
        f"{scaled_largest:.2f}, and the gradient of softmax is {scaled_gradient / gradient:.0f} times smaller."
    )
    tables = (
        ResultTable(f"scores q·k: {NUM_QUERIES:,} queries, {NUM_KEYS} keys each, all from N(0, 1)", _COLUMNS, plain),
        ResultTable("scores q·k/√d of the same vectors", _COLUMNS, scaled),
    )
    return Measurement(tables, finding)


def random_scores(random: np.random.Generator, width: int) -> Array:
    """Return the dot products of every query with its keys, one row for each query.

    The keys come from one pool, and query i uses 16 keys from i on. The statistics are the same as with new keys
    for every query, and far fewer numbers are drawn.
    """
    queries = random.standard_normal((NUM_QUERIES, width))
    pool = random.standard_normal((NUM_QUERIES + NUM_KEYS, width))
    dots = [np.einsum("qd,qd->q", queries, pool[start : start + NUM_QUERIES]) for start in range(NUM_KEYS)]
    return np.stack(dots, axis=1)  # (Q, K)


def _measure(scores: Array) -> tuple[float, float, float, float]:
    """Return the variance of the scores, and the largest weight, the entropy and the gradient of their softmax."""
    weights = softmax(scores)
    largest = float(np.mean(np.max(weights, axis=1)))
    return float(np.var(scores)), largest, mean_entropy(weights), gradient_size(weights)


def gradient_size(weights: Array) -> float:
    """Return the mean |∂aᵢ/∂sⱼ| of softmax, whose Jacobian is diag(a) - a aᵀ."""
    outer = weights[:, :, None] * weights[:, None, :]  # (Q, K, K)
    jacobian = weights[:, :, None] * np.eye(weights.shape[1]) - outer
    return float(np.mean(np.abs(jacobian)))


def mean_entropy(weights: Array) -> float:
    """Return the mean of -Σ a ln a, where 0 ln 0 is 0."""
    logarithms = np.log(np.where(weights > 0.0, weights, 1.0))
    return float(np.mean(-np.sum(weights * logarithms, axis=1)))

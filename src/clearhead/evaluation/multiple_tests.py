"""Test many changes of one system on the same sentences: p-values of all of them, corrected for their number."""

from collections.abc import Sequence

import numpy as np

from clearhead.evaluation.counts import Array
from clearhead.evaluation.significance import Resampling

_CHUNK = 256  # trials drawn at once
_TIE = 1e-9  # relative: smaller differences are due to rounding


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for the number of tests by Holm's method (1979), in the same order.

    The smallest of m p-values is multiplied by m, the next by m - 1, and so on; none becomes smaller than the one
    before it, or larger than 1. Rejecting those below α makes any false rejection as unlikely as α.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def randomised_sums(differences: Array, resampling: Resampling = Resampling()) -> list[float]:
    """Return two-sided p-values of sums of paired differences (changes, sentences), by approximate randomisation.

    Under the null hypothesis the two numbers of a sentence can be exchanged, which changes the sign of its difference.
    The same exchanges are used for all changes.
    """
    observed = np.abs(differences.sum(axis=1))
    tie = _TIE * np.abs(differences).sum(axis=1)
    random, num_reaching = np.random.default_rng(resampling.seed), np.zeros(len(differences))
    for start in range(0, resampling.num_trials, _CHUNK):
        size = min(_CHUNK, resampling.num_trials - start)
        signs = 2.0 * random.integers(2, size=(differences.shape[1], size)) - 1.0
        num_reaching += (np.abs(differences @ signs) >= (observed - tie)[:, None]).sum(axis=1)
    return [float(p) for p in (num_reaching + 1) / (resampling.num_trials + 1)]

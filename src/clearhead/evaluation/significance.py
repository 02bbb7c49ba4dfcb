"""Confidence intervals of scores, significance tests of two systems on the same sentences, and of many changes of one.

The results equal those of sacreBLEU's own tests (one of our tests compares them), except for ties, which sacreBLEU does
not count. Unlike there, memory does not grow with the number of samples, exact match can be tested too, and no
environment variable changes the seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.scores import Array, SentenceCounts

SignificanceTest = Literal["bootstrap", "randomisation"]
NUM_SAMPLES, NUM_TRIALS, SEED = 1000, 10_000, 12345  # the defaults of sacreBLEU
_TIE = 1e-9  # smaller differences are due to rounding
_CHUNK = 32  # samples drawn at once; a draw has 32 random bits, so chunks give the same stream as one large draw
_SIGN_CHUNK = 256  # trials of many changes drawn at once; another number draws other signs


@dataclass(frozen=True)
class Interval:
    """The interval with 95 % of the scores of resampled test sets."""

    mean: float
    low: float
    high: float
    signature: str

    def __str__(self) -> str:
        return f"{self.low:.2f} … {self.high:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "level": 0.95, "signature": self.signature}


@dataclass(frozen=True)
class SystemComparison:
    """The result of a significance test between a system and a baseline.

    The p-value of randomisation is two-sided. That of the bootstrap follows sacreBLEU, which compares absolute
    differences with their mean: if nearly all have the same sign it is one-sided, and about half as large.
    """

    metric: str
    baseline: str
    system: str
    difference: float  # system minus baseline
    p_value: float
    test: SignificanceTest
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Resampling:
    """The numbers of samples and trials, and the seed."""

    num_samples: int = NUM_SAMPLES
    num_trials: int = NUM_TRIALS
    seed: int = SEED

    def __post_init__(self) -> None:
        """Raise an error for numbers that are too small for a test."""
        if self.num_samples < 40 or self.num_trials < 40:
            raise ConfigError(
                f"{min(self.num_samples, self.num_trials)} samples are too few for a 95 % interval. Draw at least 40."
            )


def confidence_interval(counts: SentenceCounts, resampling: Resampling = Resampling()) -> Interval:
    """Return the 95 % bootstrap interval of a score: test sets of the same size, drawn with replacement."""
    (scores,) = _resampled_scores(resampling, counts)
    return _interval(scores, counts, resampling)


def difference_interval(
    baseline: SentenceCounts, system: SentenceCounts, resampling: Resampling = Resampling()
) -> Interval:
    """Return the 95 % paired bootstrap interval of the difference of two systems: system minus baseline."""
    if baseline.rows.shape != system.rows.shape:
        raise DataError(
            f"the systems have {len(baseline.rows)} and {len(system.rows)} sentences: a paired interval needs both on "
            "the same test set."
        )
    baseline_scores, system_scores = _resampled_scores(resampling, baseline, system)
    return _interval(system_scores - baseline_scores, system, resampling)


def _interval(values: Array, counts: SentenceCounts, resampling: Resampling) -> Interval:
    ordered = np.sort(values)
    outside = len(ordered) // 40
    signature = _signature(counts, f"bs:{resampling.num_samples}", resampling.seed)
    return Interval(float(ordered.mean()), float(ordered[outside]), float(ordered[-outside - 1]), signature)


def compare(
    names: tuple[str, str],
    baseline: SentenceCounts,
    system: SentenceCounts,
    test: SignificanceTest,
    resampling: Resampling = Resampling(),
) -> SystemComparison:
    """Test whether two systems differ by more than chance, on one metric; `names` are baseline and system."""
    if baseline.rows.shape != system.rows.shape:
        raise DataError(
            f"'{names[0]}' has {len(baseline.rows)} sentences and '{names[1]}' {len(system.rows)}: "
            "a paired test needs both systems on the same test set."
        )
    difference = system.corpus_score.value - baseline.corpus_score.value
    if test == "bootstrap":
        differences, procedure = _bootstrap(baseline, system, resampling), f"bs:{resampling.num_samples}"
    else:
        differences, procedure = _randomisation(baseline, system, resampling), f"ar:{resampling.num_trials}"
    signature = _signature(system, procedure, resampling.seed)
    p_value = _share_reaching(differences, abs(difference))
    return SystemComparison(system.corpus_score.name, *names, difference, p_value, test, signature)


def _bootstrap(baseline: SentenceCounts, system: SentenceCounts, resampling: Resampling) -> Array:
    """Resample test sets; return how far the difference deviates from its mean in each."""
    baseline_scores, system_scores = _resampled_scores(resampling, baseline, system)
    differences = np.abs(system_scores - baseline_scores)
    deviations: Array = differences - differences.mean()
    return deviations


def _randomisation(baseline: SentenceCounts, system: SentenceCounts, resampling: Resampling) -> Array:
    """Swap outputs at random; return the difference of each trial."""
    random = np.random.default_rng(resampling.seed)
    differences = []
    for chunk_size in _chunk_sizes(resampling.num_trials, _CHUNK):
        is_own = random.integers(2, size=(chunk_size, len(system.rows)), dtype=bool).astype(np.float64)
        first = is_own @ baseline.rows + (1.0 - is_own) @ system.rows
        second = (1.0 - is_own) @ baseline.rows + is_own @ system.rows
        differences.append(np.abs(_scores_of_totals(baseline, first) - _scores_of_totals(system, second)))
    return np.concatenate(differences)


def _signature(counts: SentenceCounts, procedure: str, seed: int) -> str:
    """Add the sampling to the signature, where sacreBLEU has it: after the first field."""
    first, _, rest = counts.corpus_score.signature.partition("|")
    return f"{first}|{procedure}|seed:{seed}|{rest}"


def procedure_of(signature: str) -> str:
    """Return the part of a signature about the sampling: `bs:1000|seed:12345`."""
    return "|".join(signature.split("|")[1:3])


def _share_reaching(differences: Array, difference: float) -> float:
    """Return (number as large or larger + 1) / (number + 1), so that no p-value is 0.

    sacreBLEU counts only larger differences. If few sentences differ, chance often produces exactly the same
    difference; without ties, systems that differ in three sentences or none would be called different.
    """
    return (int((differences >= difference - _TIE).sum()) + 1) / (len(differences) + 1)


def _resampled_scores(resampling: Resampling, *systems: SentenceCounts) -> list[Array]:
    """Return the scores of each system on the same resampled test sets."""
    random, num_sentences = np.random.default_rng(resampling.seed), len(systems[0].rows)
    chunks: list[list[Array]] = [[] for _ in systems]
    for chunk_size in _chunk_sizes(resampling.num_samples, _CHUNK):
        drawn: NDArray[np.intp] = random.choice(num_sentences, size=(chunk_size, num_sentences), replace=True)
        # how often each sentence occurs: (samples, sentences)
        weights = np.array([np.bincount(sample, minlength=num_sentences) for sample in drawn], dtype=np.float64)
        for scores, counts in zip(chunks, systems, strict=True):
            scores.append(_scores_of_totals(counts, weights @ counts.rows))
    return [np.concatenate(scores) for scores in chunks]


def _scores_of_totals(counts: SentenceCounts, totals: Array) -> Array:
    return np.array([counts.score_of_total(total) for total in totals])


def _chunk_sizes(number: int, largest: int) -> Iterator[int]:
    for start in range(0, number, largest):
        yield min(largest, number - start)


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
    for size in _chunk_sizes(resampling.num_trials, _SIGN_CHUNK):
        signs = 2.0 * random.integers(2, size=(differences.shape[1], size)) - 1.0
        num_reaching += (np.abs(differences @ signs) >= (observed - tie)[:, None]).sum(axis=1)
    return [float(p) for p in (num_reaching + 1) / (resampling.num_trials + 1)]

"""Confidence intervals of scores, and significance tests of two systems on the same sentences.

The results equal those of sacreBLEU's own tests (one of our tests compares them), except for ties, which sacreBLEU does
not count. Unlike there, memory does not grow with the number of samples, exact match can be tested too, and no
environment variable changes the seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.counts import Array, SentenceCounts

SignificanceTest = Literal["bootstrap", "randomisation"]
NUM_SAMPLES, NUM_TRIALS, SEED = 1000, 10_000, 12345  # the defaults of sacreBLEU
_TIE = 1e-9  # smaller differences are due to rounding
_CHUNK = 32  # samples drawn at once; a draw has 32 random bits, so chunks give the same stream as one large draw


@dataclass(frozen=True)
class Interval:
    """The interval with 95 % of the scores of resampled test sets; `half` is the ± that sacreBLEU prints."""

    mean: float
    low: float
    high: float
    signature: str

    @property
    def half(self) -> float:
        """Half the width."""
        return 0.5 * (self.high - self.low)

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
    scores = np.sort(
        np.concatenate(list(_resampled(resampling, len(counts.rows), lambda w: _resampled_scores(counts, w))))
    )
    outside = len(scores) // 40
    signature = _signature(counts, f"bs:{resampling.num_samples}", resampling.seed)
    return Interval(float(scores.mean()), float(scores[outside]), float(scores[-outside - 1]), signature)


def difference_interval(
    baseline: SentenceCounts, system: SentenceCounts, resampling: Resampling = Resampling()
) -> Interval:
    """Return the 95 % paired bootstrap interval of the difference of two systems: system minus baseline."""
    if baseline.rows.shape != system.rows.shape:
        raise DataError(
            f"the systems have {len(baseline.rows)} and {len(system.rows)} sentences: a paired interval needs both on "
            "the same test set."
        )
    chunks = _resampled(
        resampling, len(system.rows), lambda w: _resampled_scores(system, w) - _resampled_scores(baseline, w)
    )
    differences = np.sort(np.concatenate(list(chunks)))
    outside = len(differences) // 40
    signature = _signature(system, f"bs:{resampling.num_samples}", resampling.seed)
    return Interval(float(differences.mean()), float(differences[outside]), float(differences[-outside - 1]), signature)


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
        p_value, procedure = _bootstrap(baseline, system, abs(difference), resampling), f"bs:{resampling.num_samples}"
    else:
        p_value, procedure = (
            _randomisation(baseline, system, abs(difference), resampling),
            f"ar:{resampling.num_trials}",
        )
    return SystemComparison(
        system.corpus_score.name, *names, difference, p_value, test, _signature(system, procedure, resampling.seed)
    )


def _bootstrap(baseline: SentenceCounts, system: SentenceCounts, difference: float, resampling: Resampling) -> float:
    """Resample test sets, and count how often the difference deviates from its mean by at least the observed one."""
    chunks = _resampled(
        resampling, len(system.rows), lambda w: np.abs(_resampled_scores(system, w) - _resampled_scores(baseline, w))
    )
    differences = np.concatenate(list(chunks))
    return _share_reaching(differences - differences.mean(), difference)


def _randomisation(
    baseline: SentenceCounts, system: SentenceCounts, difference: float, resampling: Resampling
) -> float:
    """Swap outputs at random, and count how often the difference is at least as large as the observed one."""
    random = np.random.default_rng(resampling.seed)
    differences = []
    for chunk_size in _chunk_sizes(resampling.num_trials):
        is_own = random.integers(2, size=(chunk_size, len(system.rows)), dtype=bool).astype(np.float64)
        first = is_own @ baseline.rows + (1.0 - is_own) @ system.rows
        second = (1.0 - is_own) @ baseline.rows + is_own @ system.rows
        differences.append(np.abs(_scores_of_totals(baseline, first) - _scores_of_totals(system, second)))
    return _share_reaching(np.concatenate(differences), difference)


def _signature(counts: SentenceCounts, procedure: str, seed: int) -> str:
    """Add the sampling to the signature, where sacreBLEU has it: after the first field."""
    first, _, rest = counts.corpus_score.signature.partition("|")
    return f"{first}|{procedure}|seed:{seed}|{rest}"


def _share_reaching(differences: Array, difference: float) -> float:
    """Return (number as large or larger + 1) / (number + 1), so that no p-value is 0.

    sacreBLEU counts only larger differences. If few sentences differ, chance often produces exactly the same
    difference; without ties, systems that differ in three sentences or none would be called different.
    """
    return (int((differences >= difference - _TIE).sum()) + 1) / (len(differences) + 1)


def _resampled(resampling: Resampling, num_sentences: int, values: Callable[[Array], Array]) -> Iterator[Array]:
    """Yield the scores of test sets, each given by the number of occurrences of every sentence (samples, sentences)."""
    random = np.random.default_rng(resampling.seed)
    for chunk_size in _chunk_sizes(resampling.num_samples):
        drawn: NDArray[np.intp] = random.choice(num_sentences, size=(chunk_size, num_sentences), replace=True)
        yield values(np.array([np.bincount(sample, minlength=num_sentences) for sample in drawn], dtype=np.float64))


def _chunk_sizes(number: int) -> Iterator[int]:
    for start in range(0, number, _CHUNK):
        yield min(_CHUNK, number - start)


def _resampled_scores(counts: SentenceCounts, weights: Array) -> Array:
    return _scores_of_totals(counts, weights @ counts.rows)


def _scores_of_totals(counts: SentenceCounts, totals: Array) -> Array:
    return np.array([counts.score_of_total(total) for total in totals])

"""How far a score may be chance: confidence intervals, and tests of two systems on the same sentences.

The numbers are those of sacreBLEU's own tests (a test of ours compares them), but for ties, which it leaves out.
Memory does not grow with the number of samples, exact match can be tested too, and no environment variable moves
the seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import ConfigError, DataError
from clearhead.evaluation.counts import Array, SentenceCounts

SignificanceTest = Literal["bootstrap", "randomisation"]
NUM_SAMPLES, NUM_TRIALS, SEED = 1000, 10_000, 12345  # as sacreBLEU has them
_TIE = 1e-9  # differences this close are equal but for rounding
_CHUNK = 32  # samples drawn at once; 32 random bits come in one draw, so that parts make the same stream as the whole


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the scores of resampled test sets lie; `half` is the ± that sacreBLEU prints."""

    mean: float
    low: float
    high: float
    signature: str

    @property
    def half(self) -> float:
        """Half the width."""
        return 0.5 * (self.high - self.low)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "level": 0.95, "signature": self.signature}


@dataclass(frozen=True)
class SystemComparison:
    """Whether the difference of a system from a baseline may be chance.

    The p-value of randomisation is two-sided. That of the bootstrap is sacreBLEU's, which sets differences without
    their sign beside their mean: where nearly all have one sign it is one-sided, and about half as large.
    """

    metric: str
    baseline: str
    system: str
    difference: float  # system less baseline
    p_value: float
    test: SignificanceTest
    signature: str

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Resampling:
    """How many samples and trials are drawn, from which seed."""

    num_samples: int = NUM_SAMPLES
    num_trials: int = NUM_TRIALS
    seed: int = SEED

    def __post_init__(self) -> None:
        """Refuse numbers that decide nothing."""
        if self.num_samples < 40 or self.num_trials < 40:
            raise ConfigError(
                f"{min(self.num_samples, self.num_trials)} samples cannot show the outer 5 %. Draw at least 40."
            )


def confidence_interval(counts: SentenceCounts, resampling: Resampling = Resampling()) -> Interval:
    """Return the 95 % bootstrap interval of a score: test sets of as many sentences, drawn with replacement."""
    scores = np.sort(
        np.concatenate(list(_resampled(resampling, len(counts.rows), lambda w: _resampled_scores(counts, w))))
    )
    outside = len(scores) // 40
    signature = _signature(counts, f"bs:{resampling.num_samples}", resampling.seed)
    return Interval(float(scores.mean()), float(scores[outside]), float(scores[-outside - 1]), signature)


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
            "a paired test needs both of the same test set."
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
    """Draw test sets: how often does the difference stray from its mean by more than the one that was found?"""
    chunks = _resampled(
        resampling, len(system.rows), lambda w: np.abs(_resampled_scores(system, w) - _resampled_scores(baseline, w))
    )
    differences = np.concatenate(list(chunks))
    return _share_reaching(differences - differences.mean(), difference)


def _randomisation(
    baseline: SentenceCounts, system: SentenceCounts, difference: float, resampling: Resampling
) -> float:
    """Swap outputs at random: how often do two systems that cannot differ do so by more than was found?"""
    random = np.random.default_rng(resampling.seed)
    differences = []
    for chunk_size in _chunk_sizes(resampling.num_trials):
        is_own = random.integers(2, size=(chunk_size, len(system.rows)), dtype=bool).astype(np.float64)
        first = is_own @ baseline.rows + (1.0 - is_own) @ system.rows
        second = (1.0 - is_own) @ baseline.rows + is_own @ system.rows
        differences.append(np.abs(_scores_of_totals(baseline, first) - _scores_of_totals(system, second)))
    return _share_reaching(np.concatenate(differences), difference)


def _signature(counts: SentenceCounts, procedure: str, seed: int) -> str:
    """Return the signature with how the samples were drawn, where sacreBLEU puts it: after the first field."""
    first, _, rest = counts.corpus_score.signature.partition("|")
    return f"{first}|{procedure}|seed:{seed}|{rest}"


def _share_reaching(differences: Array, difference: float) -> float:
    """(number as large or larger + 1) / (number + 1), so that no p-value is 0

    sacreBLEU counts only what is larger. Where few sentences differ, chance often makes exactly the same difference:
    not to count it would call two systems different that differ in three sentences, or in none.
    """
    return (int((differences >= difference - _TIE).sum()) + 1) / (len(differences) + 1)


def _resampled(resampling: Resampling, num_sentences: int, values: Callable[[Array], Array]) -> Iterator[Array]:
    """Yield the values of test sets, each given as how often it holds every sentence (samples, sentences)."""
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

"""Hypotheses and their scores: log P / length^α.

An upper bound on the score of all continuations of a hypothesis tells a search when it can stop.
"""

import bisect
import math
from dataclasses import dataclass, field, replace

from clearhead.decoding.search.settings import SearchSettings


@dataclass(frozen=True)
class Hypothesis:
    """Tokens with their log-probabilities, including eos if it has ended.

    Hypotheses are ranked by `score`; `log_prob` is the plain sum over the tokens. An engine that only returns this
    sum sets `total` and leaves `log_probs` empty.
    """

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    has_ended: bool
    total: float | None = None

    @property
    def log_prob(self) -> float:
        """log P of the complete translation, in nats."""
        return math.fsum(self.log_probs) if self.total is None else self.total

    def followed_by(self, token: int, log_prob: float, has_ended: bool) -> "Hypothesis":
        """Return the hypothesis extended by one token."""
        return replace(self, tokens=(*self.tokens, token), log_probs=(*self.log_probs, log_prob), has_ended=has_ended)


def normalised(log_prob: float, length: int, length_penalty: float) -> float:
    """log P / length^α, where the length includes eos"""
    return log_prob / math.pow(length, length_penalty)


def best_attainable(log_prob: float, length: int, limit: int, length_penalty: float) -> float:
    """Return a score that no continuation of a hypothesis exceeds: log P / limit^α

    Every further token adds a log-probability of at most 0, so log P of a continuation is at most `log_prob`, which is
    at most 0. Dividing by the largest possible length gives the largest score.
    """
    return normalised(log_prob, max(length, limit), length_penalty)


@dataclass
class Pool:
    """The best ended hypotheses of one sentence, best first; of two with the same score the earlier comes first."""

    size: int
    best: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> Hypothesis | None:
        """Add a hypothesis; return the worst one if the pool is now too large."""
        place = bisect.bisect_right(self.best, -hypothesis.score, key=lambda other: -other.score)
        self.best.insert(place, hypothesis)
        return self.best.pop() if len(self.best) > self.size else None

    def would_take(self, score: float) -> bool:
        """Return whether a hypothesis with this score would stay in the pool."""
        return len(self.best) < self.size or score > self.best[-1].score

    def nth_score(self, number: int) -> float:
        """Return the n-th best score, counted from 1, or -∞ if there are fewer hypotheses."""
        return self.best[number - 1].score if len(self.best) >= number else -math.inf


def is_finished(pool: Pool, best: float, length: int, limit: int, settings: SearchSettings) -> bool:
    """Return whether the search of a sentence is finished; `best` is the log P of its best unfinished hypothesis."""
    if best == -math.inf:
        return True
    if settings.beam == 1 or settings.stopping == "first":
        return len(pool.best) == pool.size
    if settings.stopping == "likely":
        return pool.nth_score(pool.size) >= normalised(best, length, settings.length_penalty)
    return pool.nth_score(settings.n_best) >= best_attainable(best, length, limit, settings.length_penalty)

"""A translation as ids, and its score: log P / length^α, less what it did not cover of the source.

The score of everything that a hypothesis can still become is bounded here too: a search may stop because of it.
"""

import bisect
import math
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Hypothesis:
    """Tokens with the log-probability of each, eos included where it has ended.

    `score` is what hypotheses are ranked by; `log_prob` is the plain sum over the tokens. An engine that knows that
    sum only gives it as `total`, and no `log_probs`.
    """

    tokens: tuple[int, ...]
    log_probs: tuple[float, ...]
    score: float
    has_ended: bool
    total: float | None = None

    @property
    def log_prob(self) -> float:
        """log P of the whole translation, in nats."""
        return math.fsum(self.log_probs) if self.total is None else self.total

    def followed_by(self, token: int, log_prob: float, has_ended: bool) -> "Hypothesis":
        """Return it with one token more."""
        return replace(self, tokens=(*self.tokens, token), log_probs=(*self.log_probs, log_prob), has_ended=has_ended)


def normalised(log_prob: float, length: int, length_penalty: float) -> float:
    """log P / length^α, of all tokens written, the end included"""
    return log_prob / math.pow(length, length_penalty)


def best_attainable(log_prob: float, length: int, limit: int, length_penalty: float) -> float:
    """Return a score that no continuation of a hypothesis exceeds: log P / limit^α

    Every further token adds a log-probability of at most 0, so log P of a continuation is at most `log_prob`, which
    itself is at most 0; and of all lengths up to the limit the longest divides it by most. Coverage only takes away.
    """
    return normalised(log_prob, max(length, limit), length_penalty)


@dataclass
class Pool:
    """The best ended hypotheses of one sentence, best first; of two that are equal the earlier."""

    size: int
    best: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> Hypothesis | None:
        """Take a hypothesis in, and return the one that has no room."""
        place = bisect.bisect_right(self.best, -hypothesis.score, key=lambda other: -other.score)
        self.best.insert(place, hypothesis)
        return self.best.pop() if len(self.best) > self.size else None

    def would_take(self, score: float) -> bool:
        """Return whether a hypothesis of that score has room."""
        return len(self.best) < self.size or score > self.best[-1].score

    def nth_score(self, number: int) -> float:
        """Return the score of the n-th best, counted from 1, or -∞ where there are fewer."""
        return self.best[number - 1].score if len(self.best) >= number else -math.inf

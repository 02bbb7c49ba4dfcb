"""An n-gram language model with interpolated Kneser-Ney smoothing (Kneser and Ney, 1995; Chen and Goodman, 1998).

p(w | h) = max(c(h w) - D, 0) / c(h) + D · types(h) / c(h) · p(w | h without its first token)

In the highest order c counts n-grams; in the lower ones it counts the different tokens before an n-gram, except for
n-grams at the start of a text, which have none. D = n₁ / (n₁ + 2 n₂) for each order, from the numbers of n-grams that
occur once and twice. Below the unigrams all tokens are equally likely.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

START = -1  # before a text; it is never predicted
Gram = tuple[int, ...]


@dataclass(frozen=True)
class OrderCounts:
    """The counts of one order: of n-grams, and for each history the total and the number of different next tokens."""

    grams: Counter[Gram]
    totals: Counter[Gram] = field(default_factory=Counter)
    types: Counter[Gram] = field(default_factory=Counter)
    discount: float = 0.0

    @staticmethod
    def of(grams: Counter[Gram]) -> "OrderCounts":
        """Return the counts with totals by history and the discount."""
        totals, types = Counter[Gram](), Counter[Gram]()
        sizes = Counter(grams.values())
        for gram, count in grams.items():
            totals[gram[:-1]] += count
            types[gram[:-1]] += 1
        once, twice = max(sizes[1], 1), sizes[2]  # never 0, so that no token has the probability 0
        return OrderCounts(grams, totals, types, once / (once + 2 * twice))


class KneserNey:
    """A model of texts of token ids; each text starts with a start symbol and ends with its last token."""

    def __init__(self, texts: Sequence[Sequence[int]], order: int, num_tokens: int) -> None:
        self.order, self.num_tokens = order, num_tokens
        grams = [Counter[Gram]() for _ in range(order)]
        for text in texts:
            padded = (START, *text)
            for end in range(2, len(padded) + 1):
                # the longest n-gram that ends here; shorter ones are counted below, from the longer ones
                gram = padded[max(0, end - order) : end]
                grams[len(gram) - 1][gram] += 1
        for size in range(order - 1, 0, -1):
            for gram in grams[size]:
                grams[size - 1][gram[1:]] += 1
        self.counts = [OrderCounts.of(counter) for counter in grams]

    def probability(self, history: Gram, token: int) -> float:
        """Return p(token | history); of the history, at most the last order - 1 tokens are used."""
        history = history[max(0, len(history) - self.order + 1) :]
        probability = 1.0 / self.num_tokens
        for size in range(len(history) + 1):
            own = history[len(history) - size :]
            counts = self.counts[size]
            total = counts.totals.get(own, 0)
            if total:
                rest = counts.discount * counts.types[own] / total
                probability = (
                    max(counts.grams.get((*own, token), 0) - counts.discount, 0.0) / total + rest * probability
                )
        return probability

    def log_probs(self, text: Sequence[int]) -> list[float]:
        """Return the logarithm of the probability of each token of a text."""
        padded = (START, *text)
        return [
            math.log(self.probability(padded[max(0, end - self.order + 1) : end], padded[end]))
            for end in range(1, len(padded))
        ]

"""What a metric counts in each sentence: the score of any set of sentences is a function of the sum of their counts.

Buckets, confidence intervals and tests all need scores of many sets; sentences are looked at once for all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import DataError
from clearhead.evaluation.scores import MEASURES, Score, Tokenisation, check_metric, checked, exact_match

Array = NDArray[np.float64]
COUNTED = (*MEASURES, "exact")


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of every sentence, and how a score is made of their sum; `whole` is the score of them all."""

    rows: Array  # (sentences, counts)
    value_of: Callable[[Array], float]
    whole: Score

    def value(self, places: Sequence[int] | NDArray[np.intp]) -> float:
        """Return the score of the sentences at `places`."""
        return self.value_of(self.rows[np.asarray(places, dtype=np.intp)].sum(axis=0))


def count(
    metric: str, outputs: Sequence[str], references: Sequence[Sequence[str]], tokenisation: Tokenisation = "13a"
) -> Counts:
    """Count what the metric is made of, in every sentence."""
    check_metric(metric, COUNTED)
    streams = checked(outputs, references)
    if metric == "exact":
        return _count_hits(outputs, streams)
    measure = MEASURES[metric]
    made: Any = measure.make(tokenisation)  # its methods are typed for lists, and take arrays
    # sacreBLEU's own tests use these two; that the numbers stay those of its command is tested
    rows = np.array(made._extract_corpus_statistics(list(outputs), streams), dtype=np.float64)
    value = float(made._aggregate_and_compute(rows).score)

    def value_of(total: Array) -> float:
        return float(made._compute_score_from_stats(total).score)

    signature = str(made.get_signature())
    return Counts(rows, value_of, Score(measure.title, value, signature, measure.is_higher_better, measure.note))


def _count_hits(outputs: Sequence[str], streams: Sequence[Sequence[str]]) -> Counts:
    hits = [
        output.strip() in {each.strip() for each in right} for output, *right in zip(outputs, *streams, strict=True)
    ]
    rows = np.array([[hit, 1] for hit in hits], dtype=np.float64)
    return Counts(rows, lambda total: float(100.0 * total[0] / total[1]), exact_match(outputs, *streams))


def pooled(several: Sequence[Counts]) -> Counts:
    """Return the mean counts of several outputs of one system, sentence by sentence; its score is that of the means."""
    first = several[0]
    if len(several) == 1:
        return first
    if any(each.rows.shape != first.rows.shape for each in several):
        raise DataError("outputs of one system differ in their number of sentences. Give as many of each.")
    rows: Array = np.mean([each.rows for each in several], axis=0)
    signature = f"{first.whole.signature}|outputs:{len(several)}"
    whole = replace(first.whole, value=first.value_of(rows.sum(axis=0)), signature=signature)
    return Counts(rows, first.value_of, whole)


def count_all(
    metrics: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenisation: Tokenisation = "13a",
) -> Mapping[str, Counts]:
    """Return the counts of every metric by its name."""
    return {name: count(name, outputs, references, tokenisation) for name in metrics}

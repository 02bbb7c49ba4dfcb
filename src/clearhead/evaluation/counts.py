"""Count the statistics of a metric in each sentence; the score of any set of sentences is a function of their sum.

Buckets, confidence intervals and tests need scores of many sets, but each sentence is processed only once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import DataError
from clearhead.evaluation.scores import (
    SACREBLEU_METRICS,
    Score,
    Tokenisation,
    check_line_counts,
    check_line_lengths,
    check_metric,
    exact_match,
)

Array = NDArray[np.float64]
COUNTED_METRICS = (*SACREBLEU_METRICS, "exact")


@dataclass(frozen=True, eq=False)
class SentenceCounts:
    """The counts of every sentence, and the function from their sum to a score; `corpus_score` is the score of all."""

    rows: Array  # (sentences, counts)
    score_of_total: Callable[[Array], float]
    corpus_score: Score

    def value(self, indices: Sequence[int] | NDArray[np.intp]) -> float:
        """Return the score of the sentences at `indices`."""
        return self.score_of_total(self.rows[np.asarray(indices, dtype=np.intp)].sum(axis=0))


def compute_counts(
    metric: str, outputs: Sequence[str], references: Sequence[Sequence[str]], tokenisation: Tokenisation = "13a"
) -> SentenceCounts:
    """Count the statistics of the metric in every sentence."""
    check_metric(metric, COUNTED_METRICS)
    streams = check_line_counts(outputs, references)
    check_line_lengths(metric, outputs, streams)
    if metric == "exact":
        return _count_hits(outputs, streams)
    definition = SACREBLEU_METRICS[metric]
    scorer: Any = definition.make(tokenisation)  # its methods are typed for lists but accept arrays
    # sacreBLEU's significance tests use these two private methods; a test compares the scores with its command
    rows = np.array(scorer._extract_corpus_statistics(list(outputs), streams), dtype=np.float64)
    value = float(scorer._aggregate_and_compute(rows).score)

    def score_of_total(total: Array) -> float:
        return float(scorer._compute_score_from_stats(total).score)

    signature = str(scorer.get_signature())
    return SentenceCounts(
        rows, score_of_total, Score(definition.title, value, signature, definition.is_higher_better, definition.note)
    )


def _count_hits(outputs: Sequence[str], streams: Sequence[Sequence[str]]) -> SentenceCounts:
    hits = [
        output.strip() in {reference.strip() for reference in references_of_line}
        for output, *references_of_line in zip(outputs, *streams, strict=True)
    ]
    rows = np.array([[hit, 1] for hit in hits], dtype=np.float64)
    return SentenceCounts(rows, lambda total: float(100.0 * total[0] / total[1]), exact_match(outputs, *streams))


def average_counts(outputs: Sequence[SentenceCounts]) -> SentenceCounts:
    """Return the mean counts of several outputs of one system, sentence by sentence."""
    first = outputs[0]
    if len(outputs) == 1:
        return first
    if any(counts.rows.shape != first.rows.shape for counts in outputs):
        raise DataError("the outputs of one system must have the same number of sentences, but these differ.")
    rows: Array = np.mean([counts.rows for counts in outputs], axis=0)
    signature = f"{first.corpus_score.signature}|outputs:{len(outputs)}"
    corpus_score = replace(first.corpus_score, value=first.score_of_total(rows.sum(axis=0)), signature=signature)
    return SentenceCounts(rows, first.score_of_total, corpus_score)


def compute_counts_by_metric(
    metrics: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[Sequence[str]],
    tokenisation: Tokenisation = "13a",
) -> Mapping[str, SentenceCounts]:
    """Return the counts of every metric by its name."""
    return {name: compute_counts(name, outputs, references, tokenisation) for name in metrics}

"""Compute scores of translations: BLEU, chrF and TER with sacreBLEU, exact match, accuracy and perplexity.

Each score has a signature that states how it was computed, which shows whether two scores are comparable. The
statistics of a metric are counted in each sentence, and the score of any set of sentences is a function of their sum:
confidence intervals and tests need scores of many sets, but each sentence is processed only once.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from clearhead.errors import ConfigError, DataError, did_you_mean, printable

_MAX_TER_WORDS = 1000
Tokenisation = Literal["13a", "intl", "zh", "char", "none"]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Score:
    """A score with its signature; `note` states what it must not be compared with."""

    name: str
    value: float
    signature: str
    is_higher_better: bool = True
    note: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {self.value:.2f} ({self.signature}){f'. {self.note}' if self.note else ''}"

    def to_dict(self) -> dict[str, Any]:
        """Return the score for JSON."""
        summary = {"name": self.name, "value": self.value, "signature": self.signature}
        return {**summary, "note": self.note} if self.note else summary


@dataclass(frozen=True)
class SacrebleuMetric:
    """A metric of sacreBLEU with its settings."""

    title: str
    make: Callable[[Tokenisation], BLEU | CHRF | TER]
    is_higher_better: bool = True
    note: str = ""


SACREBLEU_METRICS: Mapping[str, SacrebleuMetric] = {
    "bleu": SacrebleuMetric("BLEU", lambda tokenisation: BLEU(tokenize=tokenisation)),
    "tokenised-bleu": SacrebleuMetric(
        "tokenised lower-cased BLEU",  # higher than BLEU, and dependent on the tokeniser
        lambda tokenisation: BLEU(tokenize=tokenisation, lowercase=True, smooth_method="none", force=True),
        note="As papers quote it; not comparable with BLEU",
    ),
    "chrf": SacrebleuMetric("chrF", lambda _: CHRF()),
    "chrf++": SacrebleuMetric("chrF++", lambda _: CHRF(word_order=2)),
    "ter": SacrebleuMetric("TER", lambda _: TER(), is_higher_better=False),
}
COUNTED_METRICS = (*SACREBLEU_METRICS, "exact")


@dataclass(frozen=True, eq=False)
class SentenceCounts:
    """The counts of every sentence, and the function from their sum to a score; `corpus_score` is the score of all."""

    rows: Array  # (sentences, counts)
    score_of_total: Callable[[Array], float]
    corpus_score: Score

    def value(self, indices: Sequence[int]) -> float:
        """Return the score of the sentences at `indices`."""
        return self.score_of_total(self.rows[list(indices)].sum(axis=0))


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
    """Count the outputs that equal a reference, except for surrounding white space."""
    hits = [
        output.strip() in {reference.strip() for reference in references_of_line}
        for output, *references_of_line in zip(outputs, *streams, strict=True)
    ]
    rows = np.array([[hit, 1] for hit in hits], dtype=np.float64)
    signature = f"nrefs:{len(streams)}|case:mixed|space:stripped|unit:sentence"
    corpus_score = Score("exact match", 100.0 * sum(hits) / len(hits), signature)
    return SentenceCounts(rows, lambda total: float(100.0 * total[0] / total[1]), corpus_score)


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


def corpus_score(
    metric: str, outputs: Sequence[str], *references: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    """Return the score of all outputs, with one or more sets of references, for the metric of this name."""
    return compute_counts(metric, outputs, references, tokenisation).corpus_score


def bleu(outputs: Sequence[str], *references: Sequence[str]) -> Score:
    """Return corpus BLEU of detokenised text, in per cent, as printed by `sacrebleu`."""
    return corpus_score("bleu", outputs, *references)


def chrf(outputs: Sequence[str], *references: Sequence[str]) -> Score:
    """Return corpus chrF in per cent."""
    return corpus_score("chrf", outputs, *references)


def exact_match(outputs: Sequence[str], *references: Sequence[str]) -> Score:
    """Return the share of outputs that equal a reference, except for surrounding white space, in per cent."""
    return corpus_score("exact", outputs, *references)


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the share of correct labels, in per cent."""
    check_line_counts(outputs, (references,))
    hits = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score("accuracy", 100.0 * hits / len(outputs), "unit:label|average:micro")


def perplexity(log_probability: float, num_tokens: int, vocabulary: str) -> Score:
    """Return exp(-log P / n) for n tokens, including end tokens, with log P in nats.

    `vocabulary` names the tokeniser, for example by its digest; only perplexities of one vocabulary can be compared.
    """
    if num_tokens < 1:
        raise DataError(f"perplexity needs at least one token, but {num_tokens} were given.")
    rate = -log_probability / num_tokens
    value = math.exp(rate) if rate < math.log(1e300) else math.inf
    return Score("perplexity", value, f"unit:token|eos:yes|vocabulary:{vocabulary}", is_higher_better=False)


def check_metric(name: str, allowed: Collection[str]) -> None:
    """Raise an error with the closest match if a metric is not allowed."""
    if name not in allowed:
        raise ConfigError(
            f"'{printable(name)}' is not a metric.{did_you_mean(name, allowed)} Metrics: {', '.join(allowed)}."
        )


def check_line_counts(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the references if each set has the same length as the outputs, or raise DataError."""
    if not outputs:
        raise DataError("there are no outputs to score. Give at least one sentence.")
    for number, stream in enumerate(references, 1):
        if len(stream) != len(outputs):
            raise DataError(
                f"there are {len(outputs)} outputs and {len(stream)} references (set {number}). "
                "Line i of one belongs to line i of the other, so the numbers of lines must be equal."
            )
    return [list(stream) for stream in references]


def check_line_lengths(metric: str, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise DataError if TER would take minutes or hours for a line; the time of other metrics grows with the length.

    TER looks for shifts of words, in a time that grows with the cube of the number of words: 1,000 take up to a minute.
    """
    if metric != "ter":
        return
    for number, lines in enumerate(zip(outputs, *references, strict=True), 1):
        num_words = max(len(line.split()) for line in lines)
        if num_words > _MAX_TER_WORDS:
            raise DataError(
                f"line {number} has {num_words:,} words, but TER is computed only for lines of at most "
                f"{_MAX_TER_WORDS:,} words. Split the line into sentences, or use other metrics.",
                options=("metric",),
            )

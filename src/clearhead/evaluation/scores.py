"""Compute scores of translations: BLEU, chrF and TER with sacreBLEU, exact match, accuracy and perplexity.

Each score has a signature that states how it was computed, which shows whether two scores are comparable.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from clearhead.errors import ConfigError, DataError, did_you_mean, printable

_MAX_TER_WORDS = 1000
Tokenisation = Literal["13a", "intl", "zh", "char", "none"]


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
        "tokenised lower-cased BLEU",
        lambda tokenisation: BLEU(tokenize=tokenisation, lowercase=True, smooth_method="none", force=True),
        note="As papers quote it; not comparable with BLEU",
    ),
    "chrf": SacrebleuMetric("chrF", lambda _: CHRF()),
    "chrf++": SacrebleuMetric("chrF++", lambda _: CHRF(word_order=2)),
    "ter": SacrebleuMetric("TER", lambda _: TER(), is_higher_better=False),
}


def bleu(
    outputs: Sequence[str], references: Sequence[str], *more: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    """Return corpus BLEU of detokenised text, in per cent, as printed by `sacrebleu`."""
    return _sacrebleu_score("bleu", outputs, references, *more, tokenisation=tokenisation)


def tokenised_bleu(
    outputs: Sequence[str], references: Sequence[str], *more: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    """Return the tokenised lower-cased BLEU that many papers quote, without smoothing; 'none' for tokenised text.

    It is higher than BLEU and depends on the tokeniser. Use it only for comparison with such a paper.
    """
    return _sacrebleu_score("tokenised-bleu", outputs, references, *more, tokenisation=tokenisation)


def chrf(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return corpus chrF in per cent."""
    return _sacrebleu_score("chrf", outputs, references, *more)


def chrf_plus_plus(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return corpus chrF++ in per cent: chrF with word unigrams and bigrams in addition to characters."""
    return _sacrebleu_score("chrf++", outputs, references, *more)


def ter(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return the corpus translation edit rate in per cent: lower is better."""
    return _sacrebleu_score("ter", outputs, references, *more)


def exact_match(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return the share of outputs that equal a reference, except for surrounding white space, in per cent."""
    streams = check_line_counts(outputs, (references, *more))
    hits = sum(
        output.strip() in {reference.strip() for reference in references_of_line}
        for output, *references_of_line in zip(outputs, *streams, strict=True)
    )
    signature = f"nrefs:{len(streams)}|case:mixed|space:stripped|unit:sentence"
    return Score("exact match", 100.0 * hits / len(outputs), signature)


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


METRICS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Score]] = {
    "bleu": bleu,
    "tokenised-bleu": tokenised_bleu,
    "chrf": chrf,
    "chrf++": chrf_plus_plus,
    "ter": ter,
    "exact": exact_match,
    "accuracy": accuracy,
}


def score(metric: str, outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the score of outputs for the metric of this name."""
    return METRICS[check_metric(metric, METRICS)](outputs, references)


def check_metric(name: str, allowed: Collection[str]) -> str:
    """Return the name of a metric, or raise an error with the closest match."""
    if name not in allowed:
        raise ConfigError(
            f"'{printable(name)}' is not a metric.{did_you_mean(name, allowed)} Metrics: {', '.join(allowed)}."
        )
    return name


def _sacrebleu_score(
    name: str, outputs: Sequence[str], *references: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    streams = check_line_counts(outputs, references)
    check_line_lengths(name, outputs, streams)
    definition = SACREBLEU_METRICS[name]
    metric = definition.make(tokenisation)
    value = float(metric.corpus_score(list(outputs), streams).score)
    return Score(definition.title, value, str(metric.get_signature()), definition.is_higher_better, definition.note)


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

"""Scores of translations: BLEU, chrF and TER by sacreBLEU, and simple shares. Each carries its signature.

A signature says how a number was made, so that two numbers can be seen to be comparable or not.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from clearhead.errors import ConfigError, DataError, did_you_mean, printable

Tokenisation = Literal["13a", "intl", "zh", "char", "none"]


@dataclass(frozen=True)
class Score:
    """A number and how it was made; `note` says what it must not be compared with."""

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
    """A metric of sacreBLEU with the settings that are used here."""

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
    """Return corpus BLEU of detokenised text, in per cent, as `sacrebleu` itself prints it."""
    return _sacrebleu_score("bleu", outputs, references, *more, tokenisation=tokenisation)


def tokenised_bleu(
    outputs: Sequence[str], references: Sequence[str], *more: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    """Return the tokenised lower-cased BLEU that many papers quote, without smoothing; 'none' for text cut already.

    It is higher than BLEU, and differs from one tokeniser to the next: it is here to be set beside such a paper.
    """
    return _sacrebleu_score("tokenised-bleu", outputs, references, *more, tokenisation=tokenisation)


def chrf(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return corpus chrF in per cent."""
    return _sacrebleu_score("chrf", outputs, references, *more)


def chrf_plus_plus(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return corpus chrF++ in per cent: chrF with words and pairs of words beside the letters."""
    return _sacrebleu_score("chrf++", outputs, references, *more)


def ter(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return the corpus translation edit rate in per cent: lower is better."""
    return _sacrebleu_score("ter", outputs, references, *more)


def exact_match(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return how many outputs are a reference, letter for letter but for space around them, in per cent."""
    streams = check_line_counts(outputs, (references, *more))
    hits = sum(
        output.strip() in {reference.strip() for reference in references_of_line}
        for output, *references_of_line in zip(outputs, *streams, strict=True)
    )
    signature = f"nrefs:{len(streams)}|case:mixed|space:stripped|unit:sentence"
    return Score("exact match", 100.0 * hits / len(outputs), signature)


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return how many labels are right, in per cent."""
    check_line_counts(outputs, (references,))
    hits = sum(output == reference for output, reference in zip(outputs, references, strict=True))
    return Score("accuracy", 100.0 * hits / len(outputs), "unit:label|average:micro")


def perplexity(log_probability: float, num_tokens: int, vocabulary: str) -> Score:
    """exp(-log P / n), of n tokens, ends included, with log P in nats

    `vocabulary` names the tokeniser (its digest, say): perplexities of different vocabularies do not compare.
    """
    if num_tokens < 1:
        raise DataError(f"perplexity is over at least one token, and {num_tokens} were given.")
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
    """Return the score of outputs by the name of a metric."""
    return METRICS[check_metric(metric, METRICS)](outputs, references)


def check_metric(name: str, allowed: Collection[str]) -> str:
    """Return the name of a metric, or say what it may have been meant to be."""
    if name not in allowed:
        raise ConfigError(
            f"'{printable(name)}' is not a metric.{did_you_mean(name, allowed)} Metrics: {', '.join(allowed)}."
        )
    return name


def _sacrebleu_score(
    name: str, outputs: Sequence[str], *references: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    streams = check_line_counts(outputs, references)
    definition = SACREBLEU_METRICS[name]
    metric = definition.make(tokenisation)
    value = float(metric.corpus_score(list(outputs), streams).score)
    return Score(definition.title, value, str(metric.get_signature()), definition.is_higher_better, definition.note)


def check_line_counts(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the references, each as many as the outputs, or raise DataError."""
    if not outputs:
        raise DataError("there is no output to score. Give at least one sentence.")
    for number, stream in enumerate(references, 1):
        if len(stream) != len(outputs):
            raise DataError(
                f"there are {len(outputs)} outputs and {len(stream)} references (set {number}). "
                "Line i of one belongs to line i of the other: give as many of both."
            )
    return [list(stream) for stream in references]

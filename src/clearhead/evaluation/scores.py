"""Scores of translations: BLEU, chrF and TER by sacreBLEU, and simple shares. Each carries its signature.

A signature says how a number was made, so that two numbers can be seen to be comparable or not.
"""

import math
from collections.abc import Callable, Mapping, Sequence
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
        told = {"name": self.name, "value": self.value, "signature": self.signature}
        return {**told, "note": self.note} if self.note else told


def bleu(
    outputs: Sequence[str], references: Sequence[str], *more: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    """Return corpus BLEU of detokenised text, in per cent, as `sacrebleu` itself prints it."""
    return _by_sacrebleu("BLEU", BLEU(tokenize=tokenisation), outputs, references, *more)


def tokenised_bleu(
    outputs: Sequence[str], references: Sequence[str], *more: Sequence[str], tokenisation: Tokenisation = "13a"
) -> Score:
    """Return the tokenised lower-cased BLEU that many papers quote, without smoothing; 'none' for text cut already.

    It is higher than BLEU, and differs from one tokeniser to the next: it is here to be set beside such a paper.
    """
    made = _by_sacrebleu(
        "tokenised lower-cased BLEU",
        BLEU(tokenize=tokenisation, lowercase=True, smooth_method="none", force=True),
        outputs,
        references,
        *more,
    )
    note = "As papers quote it; not comparable with BLEU"
    return Score(made.name, made.value, made.signature, note=note)


def chrf(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str], word_order: int = 0) -> Score:
    """Return corpus chrF in per cent (chrF++ with a word order of 2)."""
    name = f"chrF{'+' * word_order}"
    return _by_sacrebleu(name, CHRF(word_order=word_order), outputs, references, *more)


def ter(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return the corpus translation edit rate in per cent: lower is better."""
    return _by_sacrebleu("TER", TER(), outputs, references, *more, is_higher_better=False)


def exact_match(outputs: Sequence[str], references: Sequence[str], *more: Sequence[str]) -> Score:
    """Return how many outputs are a reference, letter for letter but for space around them, in per cent."""
    streams = _checked(outputs, (references, *more))
    hits = sum(
        output.strip() in {each.strip() for each in right} for output, *right in zip(outputs, *streams, strict=True)
    )
    signature = f"nrefs:{len(streams)}|case:mixed|space:stripped|unit:sentence"
    return Score("exact match", 100.0 * hits / len(outputs), signature)


def accuracy(outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return how many labels are right, in per cent."""
    _checked(outputs, (references,))
    hits = sum(output == right for output, right in zip(outputs, references, strict=True))
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
    "ter": ter,
    "exact": exact_match,
    "accuracy": accuracy,
}


def score(metric: str, outputs: Sequence[str], references: Sequence[str]) -> Score:
    """Return the score of outputs by the name of a metric."""
    if metric not in METRICS:
        raise ConfigError(
            f"'{printable(metric)}' is not a metric.{did_you_mean(metric, METRICS)} Metrics: {', '.join(METRICS)}."
        )
    return METRICS[metric](outputs, references)


def _by_sacrebleu(
    name: str,
    metric: BLEU | CHRF | TER,
    outputs: Sequence[str],
    *references: Sequence[str],
    is_higher_better: bool = True,
) -> Score:
    streams = _checked(outputs, references)
    value = metric.corpus_score(list(outputs), streams).score
    return Score(name, float(value), str(metric.get_signature()), is_higher_better)


def _checked(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[list[str]]:
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

"""Evaluate systems: scores, confidence intervals, significance tests, buckets and leaks, each with its signature.

The first system is the baseline of all tests. Several outputs of one system (seeds) give a mean score and its spread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import fmean, stdev
from typing import Any

from clearhead.errors import ConfigError, DataError, did_you_mean, printable
from clearhead.evaluation.buckets import Bucket, WordBucket, match_words_by_frequency, score_by_length, score_subset
from clearhead.evaluation.counts import COUNTED_METRICS, SentenceCounts, average_counts, compute_counts_by_metric
from clearhead.evaluation.leaks import Leaks, TrainingPair, scan_training_text
from clearhead.evaluation.scores import Score, Tokenisation, check_metric
from clearhead.evaluation.significance import (
    Interval,
    Resampling,
    SignificanceTest,
    SystemComparison,
    compare,
    confidence_interval,
)

DEFAULT_METRICS = ("bleu", "chrf", "ter", "exact")


@dataclass(frozen=True)
class EvaluationRequest:
    """What to measure in an evaluation, and how."""

    metrics: tuple[str, ...] = DEFAULT_METRICS
    tokenisation: Tokenisation = "13a"
    tests: tuple[SignificanceTest, ...] = ("randomisation",)
    resampling: Resampling | None = field(default_factory=Resampling)  # None: no intervals and no tests
    has_buckets: bool = True


@dataclass(frozen=True)
class HeldOut:
    """A test set: one or more sets of references, the sources if given, and the training text if given."""

    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None = None
    training: Iterable[TrainingPair] | None = None


@dataclass(frozen=True)
class SystemScore:
    """A score of a system: of its single output, or the mean of several outputs with their standard deviation."""

    metric: str
    score: Score
    values: tuple[float, ...]
    interval: Interval | None = None

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over several outputs."""
        return stdev(self.values) if len(self.values) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        summary: dict[str, Any] = {"metric": self.metric, **self.score.to_dict()}
        if len(self.values) > 1:
            summary |= {"values": self.values, "deviation": self.deviation}
        return summary if self.interval is None else {**summary, "interval": self.interval.to_dict()}


@dataclass(frozen=True)
class SystemReport:
    """The scores of one system, and its word matches by frequency in training."""

    name: str
    num_outputs: int
    scores: tuple[SystemScore, ...]
    by_frequency: tuple[WordBucket, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        summary: dict[str, Any] = {
            "name": self.name,
            "outputs": self.num_outputs,
            "scores": [score.to_dict() for score in self.scores],
        }
        if self.by_frequency:
            summary["words_by_training_frequency"] = [bucket.to_dict() for bucket in self.by_frequency]
        return summary


@dataclass(frozen=True)
class EvaluationReport:
    """The results of an evaluation."""

    num_sentences: int
    systems: tuple[SystemReport, ...]
    comparisons: tuple[SystemComparison, ...] = ()
    by_length: tuple[Bucket, ...] = ()
    length_side: str = "reference"
    by_leak: tuple[Bucket, ...] = ()
    leaks: Leaks | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        summary: dict[str, Any] = {
            "sentences": self.num_sentences,
            "systems": [system.to_dict() for system in self.systems],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
        }
        if self.by_length:
            summary["by_length"] = {
                "side": self.length_side,
                "buckets": [bucket.to_dict() for bucket in self.by_length],
            }
        if self.leaks is not None:
            summary["leaks"] = {**self.leaks.to_dict(), "parts": [bucket.to_dict() for bucket in self.by_leak]}
        return summary


def evaluate(
    systems: Mapping[str, Sequence[Sequence[str]]], test: HeldOut, request: EvaluationRequest = EvaluationRequest()
) -> EvaluationReport:
    """Score systems, each with one or more outputs of the test set; the first is the baseline of the tests."""
    check_test_set(systems, test)
    for name in request.metrics:
        check_metric(name, COUNTED_METRICS)
    counts_by_output = {
        name: [
            compute_counts_by_metric(request.metrics, output, test.references, request.tokenisation)
            for output in outputs
        ]
        for name, outputs in systems.items()
    }
    means = {
        name: {metric: average_counts([counts[metric] for counts in output_counts]) for metric in request.metrics}
        for name, output_counts in counts_by_output.items()
    }
    system_reports = [_system_report(name, counts_by_output[name], means[name], request.resampling) for name in systems]
    report = EvaluationReport(len(test.references[0]), tuple(system_reports), _compare_systems(means, request))
    return _add_breakdowns(report, systems, test, means, request)


def _add_breakdowns(
    report: EvaluationReport,
    systems: Mapping[str, Sequence[Sequence[str]]],
    test: HeldOut,
    means: Mapping[str, Mapping[str, SentenceCounts]],
    request: EvaluationRequest,
) -> EvaluationReport:
    """Return the report with scores by length, by leaks and by word frequency."""
    if request.has_buckets:
        side = "reference" if test.sources is None else "source"
        lengths = score_by_length(means, test.references[0] if test.sources is None else test.sources)
        report = replace(report, by_length=lengths, length_side=side)
    if test.training is None:
        return report
    training = scan_training_text(test.training, test.sources, test.references, chain.from_iterable(systems.values()))
    report = replace(report, leaks=training.leaks)
    leaked = training.leaks.leaked
    if leaked:
        unseen = [index for index in range(report.num_sentences) if index not in leaked]
        parts = [("seen in training", sorted(leaked)), ("not seen", unseen)]
        report = replace(
            report, by_leak=tuple(score_subset(means, name, indices) for name, indices in parts if indices)
        )
    if training.frequencies is None:
        return report
    words_by_frequency = [
        match_words_by_frequency([*chain(*outputs)], [*test.references[0]] * len(outputs), training.frequencies)
        for outputs in systems.values()
    ]
    systems_with_words = tuple(
        replace(system, by_frequency=word_buckets)
        for system, word_buckets in zip(report.systems, words_by_frequency, strict=True)
    )
    return replace(report, systems=systems_with_words)


def check_test_set(systems: Mapping[str, Sequence[Sequence[str]]], test: HeldOut) -> None:
    """Raise one error that lists all texts with a different number of lines."""
    if not test.references:
        raise DataError("there are no references. Give at least one set.")
    num_lines = len(test.references[0])
    if num_lines == 0:
        raise DataError("the references are empty. Give at least one sentence.")
    texts = {f"reference {number}": lines for number, lines in enumerate(test.references[1:], 2)}
    if test.sources is not None:
        texts["the source"] = test.sources
    for name, outputs in systems.items():
        for number, lines in enumerate(outputs, 1):
            texts[f"system '{printable(name)}'" + (f" (output {number})" if len(outputs) > 1 else "")] = lines
    wrong = [f"{name} has {len(lines):,}" for name, lines in texts.items() if len(lines) != num_lines]
    if wrong:
        raise DataError(
            f"the reference has {num_lines:,} lines, but {', '.join(wrong)}. Line i of one belongs to line i of the "
            "other, so the files must have the same number of lines."
        )


def _system_report(
    name: str,
    output_counts: Sequence[Mapping[str, SentenceCounts]],
    means: Mapping[str, SentenceCounts],
    resampling: Resampling | None,
) -> SystemReport:
    scores = []
    for metric, counts in means.items():
        corpus_scores = [counts_by_metric[metric].corpus_score for counts_by_metric in output_counts]
        values = tuple(score.value for score in corpus_scores)
        mean = replace(corpus_scores[0], value=fmean(values))
        interval = None if resampling is None else confidence_interval(counts, resampling)
        scores.append(SystemScore(metric, mean, values, interval))
    return SystemReport(name, len(output_counts), tuple(scores))


def _compare_systems(
    means: Mapping[str, Mapping[str, SentenceCounts]], request: EvaluationRequest
) -> tuple[SystemComparison, ...]:
    if request.resampling is None:
        return ()
    baseline, *others = means
    return tuple(
        compare((baseline, other), means[baseline][metric], counts, test, request.resampling)
        for other in others
        for metric, counts in means[other].items()
        for test in request.tests
    )


@dataclass(frozen=True)
class Requirement:
    """A score that every system must reach, or must not exceed if lower is better."""

    metric: str
    bound: float

    def failure(self, system: str, score: Score) -> str | None:
        """Return a sentence if the score does not meet the requirement."""
        is_met = score.value >= self.bound if score.is_higher_better else score.value <= self.bound
        if is_met:
            return None
        side = "below" if score.is_higher_better else "above"
        return (
            f"{score.name} of '{printable(system)}' is {score.value:.2f}, {side} the required {self.bound:g} "
            f"({score.signature})."
        )


def parse_requirement(text: str, metrics: Sequence[str] = tuple(COUNTED_METRICS)) -> Requirement:
    """Parse a requirement such as `bleu=40`."""
    name, _, value = (part.strip() for part in text.partition("="))
    if name not in metrics:
        raise ConfigError(
            f"'{printable(name)}' is not a metric.{did_you_mean(name, metrics)} Metrics: {', '.join(metrics)}."
        )
    try:
        bound = float(value)
    except ValueError:
        bound = float("nan")
    if not 0 <= bound < float("inf"):
        raise ConfigError(f"give a number of at least 0, such as {name}=40.")
    return Requirement(name, bound)


def unmet_requirements(report: EvaluationReport, required: Iterable[Requirement]) -> tuple[str, ...]:
    """Return a sentence for every requirement that a system does not meet."""
    requirements = {requirement.metric: requirement for requirement in required}
    failures = (
        requirements[system_score.metric].failure(system.name, system_score.score)
        for system in report.systems
        for system_score in system.scores
        if system_score.metric in requirements
    )
    return tuple(failure for failure in failures if failure is not None)

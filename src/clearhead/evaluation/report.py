"""Evaluate systems: scores, confidence intervals, significance tests and leaks, each with its signature.

The first system is the baseline of all tests. Several outputs of one system (seeds) give a mean score and its spread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

from clearhead.errors import ConfigError, DataError, printable
from clearhead.evaluation.leaks import Leaks, TrainingPair, find_leaks
from clearhead.evaluation.scores import (
    COUNTED_METRICS,
    Score,
    SentenceCounts,
    Tokenisation,
    average_counts,
    check_metric,
    compute_counts,
)
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
    """The scores of one system."""

    name: str
    num_outputs: int
    scores: tuple[SystemScore, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {
            "name": self.name,
            "outputs": self.num_outputs,
            "scores": [score.to_dict() for score in self.scores],
        }


@dataclass(frozen=True)
class PartScores:
    """A part of the test set: its name, its size, and the scores of each system on it by metric."""

    name: str
    num_sentences: int
    scores: Mapping[str, Mapping[str, float]]  # system -> metric -> value

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        return {"name": self.name, "sentences": self.num_sentences, "scores": self.scores}


@dataclass(frozen=True)
class EvaluationReport:
    """The results of an evaluation."""

    num_sentences: int
    systems: tuple[SystemReport, ...]
    comparisons: tuple[SystemComparison, ...] = ()
    leaks: Leaks | None = None
    by_leak: tuple[PartScores, ...] = ()  # the sentences that are in the training text, and the others

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON."""
        summary: dict[str, Any] = {
            "sentences": self.num_sentences,
            "systems": [system.to_dict() for system in self.systems],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
        }
        if self.leaks is not None:
            summary["leaks"] = {**self.leaks.to_dict(), "parts": [part.to_dict() for part in self.by_leak]}
        return summary


def evaluate(
    systems: Mapping[str, Sequence[Sequence[str]]], test: HeldOut, request: EvaluationRequest = EvaluationRequest()
) -> EvaluationReport:
    """Score systems, each with one or more outputs of the test set; the first is the baseline of the tests."""
    check_test_set(systems, test)
    for name in request.metrics:
        check_metric(name, COUNTED_METRICS)
    system_reports: list[SystemReport] = []
    means: dict[str, dict[str, SentenceCounts]] = {}
    for name, outputs in systems.items():
        counts_by_metric = {
            metric: [compute_counts(metric, output, test.references, request.tokenisation) for output in outputs]
            for metric in request.metrics
        }
        means[name] = {metric: average_counts(counts) for metric, counts in counts_by_metric.items()}
        scores = tuple(
            _system_score(metric, counts, means[name][metric], request.resampling)
            for metric, counts in counts_by_metric.items()
        )
        system_reports.append(SystemReport(name, len(outputs), scores))
    report = EvaluationReport(len(test.references[0]), tuple(system_reports), _compare_systems(means, request))
    if test.training is None:
        return report
    leaks = find_leaks(test.training, test.sources, test.references)
    return replace(report, leaks=leaks, by_leak=_score_leaks(leaks, means))


def _score_leaks(leaks: Leaks, means: Mapping[str, Mapping[str, SentenceCounts]]) -> tuple[PartScores, ...]:
    """Score the leaked sentences and the others; return no parts if there is no leak."""
    if not leaks.leaked:
        return ()
    unseen = [index for index in range(leaks.num_sentences) if index not in leaks.leaked]
    parts = []
    for name, indices in (("seen in training", sorted(leaks.leaked)), ("not seen", unseen)):
        if indices:
            scores = {
                system: {metric: counts.value(indices) for metric, counts in metrics.items()}
                for system, metrics in means.items()
            }
            parts.append(PartScores(name, len(indices), scores))
    return tuple(parts)


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


def _system_score(
    metric: str, outputs: Sequence[SentenceCounts], mean: SentenceCounts, resampling: Resampling | None
) -> SystemScore:
    values = tuple(counts.corpus_score.value for counts in outputs)
    score = replace(outputs[0].corpus_score, value=fmean(values))
    return SystemScore(metric, score, values, None if resampling is None else confidence_interval(mean, resampling))


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


def parse_requirement(text: str, metrics: Sequence[str] = COUNTED_METRICS) -> Requirement:
    """Parse a requirement such as `bleu=40`."""
    name, _, value = (part.strip() for part in text.partition("="))
    check_metric(name, metrics)
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

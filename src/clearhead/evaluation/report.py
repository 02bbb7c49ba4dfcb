"""An evaluation as a whole: systems in; scores, intervals, tests, buckets and leaks out, each with its signature.

The first system is the baseline of all tests. Several outputs of one system (seeds) are one system with a spread.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from statistics import fmean, stdev
from typing import Any

from clearhead.errors import ConfigError, DataError, did_you_mean, printable
from clearhead.evaluation.buckets import Bucket, WordBucket, by_frequency, by_length, part
from clearhead.evaluation.comet import check_comet, comet
from clearhead.evaluation.counts import COUNTED, Counts, count_all, pooled
from clearhead.evaluation.leaks import Leaks, TrainingPair, look_through
from clearhead.evaluation.scores import Score, Tokenisation, check_metric
from clearhead.evaluation.significance import Comparison, Interval, Resampling, Test, compare, interval

DEFAULT_METRICS = ("bleu", "chrf", "ter", "exact")
KNOWN_METRICS = (*COUNTED, "comet")


@dataclass(frozen=True)
class Asked:
    """What an evaluation is to measure, and how."""

    metrics: tuple[str, ...] = DEFAULT_METRICS
    tokenisation: Tokenisation = "13a"
    tests: tuple[Test, ...] = ("randomisation",)
    resampling: Resampling | None = field(default_factory=Resampling)  # None: no intervals and no tests
    has_buckets: bool = True
    comet_model: str | None = None


@dataclass(frozen=True)
class HeldOut:
    """What systems are judged on: references (one set or more), the sources if there are any, and training text."""

    references: Sequence[Sequence[str]]
    sources: Sequence[str] | None = None
    training: Iterable[TrainingPair] | None = None


@dataclass(frozen=True)
class Measured:
    """A score of a system: of its one output, or the mean over several with their standard deviation."""

    metric: str
    score: Score
    values: tuple[float, ...]
    interval: Interval | None = None

    @property
    def deviation(self) -> float | None:
        """The standard deviation of a sample, over several outputs."""
        return stdev(self.values) if len(self.values) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        told: dict[str, Any] = {"metric": self.metric, **self.score.to_dict()}
        if len(self.values) > 1:
            told |= {"values": self.values, "deviation": self.deviation}
        return told if self.interval is None else {**told, "interval": self.interval.to_dict()}


@dataclass(frozen=True)
class SystemReport:
    """The scores of one system, and its words by how often they were seen in training."""

    name: str
    num_outputs: int
    measured: tuple[Measured, ...]
    by_frequency: tuple[WordBucket, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        told: dict[str, Any] = {
            "name": self.name,
            "outputs": self.num_outputs,
            "scores": [each.to_dict() for each in self.measured],
        }
        if self.by_frequency:
            told["words_by_training_frequency"] = [each.to_dict() for each in self.by_frequency]
        return told


@dataclass(frozen=True)
class Report:
    """Everything that an evaluation found."""

    num_sentences: int
    systems: tuple[SystemReport, ...]
    comparisons: tuple[Comparison, ...] = ()
    by_length: tuple[Bucket, ...] = ()
    length_side: str = "reference"
    by_leak: tuple[Bucket, ...] = ()
    leaks: Leaks | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        told: dict[str, Any] = {
            "sentences": self.num_sentences,
            "systems": [each.to_dict() for each in self.systems],
            "comparisons": [each.to_dict() for each in self.comparisons],
        }
        if self.by_length:
            told["by_length"] = {"side": self.length_side, "buckets": [each.to_dict() for each in self.by_length]}
        if self.leaks is not None:
            told["leaks"] = {**self.leaks.to_dict(), "parts": [each.to_dict() for each in self.by_leak]}
        return told


def evaluate(systems: Mapping[str, Sequence[Sequence[str]]], test: HeldOut, asked: Asked = Asked()) -> Report:
    """Measure systems, each with one output of the test set or several; the first is the baseline of the tests."""
    check_test_set(systems, test)
    for name in asked.metrics:
        check_metric(name, KNOWN_METRICS)
    model = check_comet(asked.comet_model, test.sources) if "comet" in asked.metrics else None
    counted = [name for name in asked.metrics if name != "comet"]
    every = {
        name: [count_all(counted, output, test.references, asked.tokenisation) for output in outputs]
        for name, outputs in systems.items()
    }
    means = {
        name: {metric: pooled([counts[metric] for counts in several]) for metric in counted}
        for name, several in every.items()
    }
    found = [_report(name, every[name], means[name], asked.resampling) for name in systems]
    if model is not None:
        assert test.sources is not None
        for index, outputs in enumerate(systems.values()):
            made = [comet(model, output, test.references[0], test.sources) for output in outputs]
            found[index] = replace(found[index], measured=(*found[index].measured, _measured("comet", made)))
    report = Report(len(test.references[0]), tuple(found), _compared(means, asked))
    return _looked_closer(report, systems, test, means, asked)


def _looked_closer(
    report: Report,
    systems: Mapping[str, Sequence[Sequence[str]]],
    test: HeldOut,
    means: Mapping[str, Mapping[str, Counts]],
    asked: Asked,
) -> Report:
    """Return the report with its parts: by length, by what was seen in training, by frequency of words."""
    if asked.has_buckets:
        side = "reference" if test.sources is None else "source"
        lengths = by_length(means, test.references[0] if test.sources is None else test.sources)
        report = replace(report, by_length=lengths, length_side=side)
    if test.training is None:
        return report
    training = look_through(test.training, test.sources, test.references, chain.from_iterable(systems.values()))
    report = replace(report, leaks=training.leaks)
    seen = training.leaks.seen
    if seen:
        rest = [place for place in range(report.num_sentences) if place not in seen]
        parts = [("seen in training", sorted(seen)), ("not seen", rest)]
        report = replace(report, by_leak=tuple(part(means, name, places) for name, places in parts if places))
    if training.frequencies is None:
        return report
    words = [
        by_frequency([*chain(*outputs)], [*test.references[0]] * len(outputs), training.frequencies)
        for outputs in systems.values()
    ]
    told = tuple(replace(each, by_frequency=some) for each, some in zip(report.systems, words, strict=True))
    return replace(report, systems=told)


def check_test_set(systems: Mapping[str, Sequence[Sequence[str]]], test: HeldOut) -> None:
    """Refuse texts that do not belong together, all of them in one error."""
    if not test.references:
        raise DataError("there are no references. Give at least one set.")
    number = len(test.references[0])
    if number == 0:
        raise DataError("the references are empty. Give at least one sentence.")
    sides = {f"reference {place}": lines for place, lines in enumerate(test.references[1:], 2)}
    if test.sources is not None:
        sides["the source"] = test.sources
    for name, outputs in systems.items():
        for place, lines in enumerate(outputs, 1):
            sides[f"system '{printable(name)}'" + (f" (output {place})" if len(outputs) > 1 else "")] = lines
    wrong = [f"{name} has {len(lines):,}" for name, lines in sides.items() if len(lines) != number]
    if wrong:
        raise DataError(
            f"the reference has {number:,} lines, but {', '.join(wrong)}. Line i of one belongs to line i of the "
            "other: give as many of each."
        )


def _report(
    name: str,
    several: Sequence[Mapping[str, Counts]],
    means: Mapping[str, Counts],
    how: Resampling | None,
) -> SystemReport:
    measured = []
    for metric, counts in means.items():
        made = _measured(metric, [each[metric].whole for each in several])
        measured.append(made if how is None else replace(made, interval=interval(counts, how)))
    return SystemReport(name, len(several), tuple(measured))


def _measured(metric: str, scores: Sequence[Score]) -> Measured:
    values = tuple(each.value for each in scores)
    return Measured(metric, replace(scores[0], value=fmean(values)), values)


def _compared(means: Mapping[str, Mapping[str, Counts]], asked: Asked) -> tuple[Comparison, ...]:
    if asked.resampling is None:
        return ()
    baseline, *others = means
    return tuple(
        compare((baseline, other), means[baseline][metric], counts, test, asked.resampling)
        for other in others
        for metric, counts in means[other].items()
        for test in asked.tests
    )


@dataclass(frozen=True)
class Requirement:
    """A score that every system must reach; of a metric where lower is better, one that none may exceed."""

    metric: str
    bound: float

    def failure(self, system: str, score: Score) -> str | None:
        """Return a sentence if the score does not reach it."""
        is_met = score.value >= self.bound if score.is_higher_better else score.value <= self.bound
        if is_met:
            return None
        side = "under" if score.is_higher_better else "over"
        return (
            f"{score.name} of {printable(system)} is {score.value:.2f}, {side} the {self.bound:g} that is required "
            f"({score.signature})."
        )


def read_requirement(text: str, known: Sequence[str] = KNOWN_METRICS) -> Requirement:
    """Read `bleu=40`."""
    name, _, value = (each.strip() for each in text.partition("="))
    if name not in known:
        raise ConfigError(
            f"--require {printable(text)}: '{printable(name)}' is not a metric.{did_you_mean(name, known)} "
            f"Metrics: {', '.join(known)}."
        )
    try:
        bound = float(value)
    except ValueError:
        bound = float("nan")
    if not 0 <= bound < float("inf"):
        raise ConfigError(f"--require {printable(text)}: give a number from 0 upwards, as in {name}=40.")
    return Requirement(name, bound)


def failures(report: Report, required: Iterable[Requirement]) -> tuple[str, ...]:
    """Return a sentence for every system and requirement that it does not meet."""
    asked = {each.metric: each for each in required}
    told = (
        asked[made.metric].failure(system.name, made.score)
        for system in report.systems
        for made in system.measured
        if made.metric in asked
    )
    return tuple(each for each in told if each is not None)

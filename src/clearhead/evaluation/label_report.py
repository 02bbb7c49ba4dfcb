"""Compare predicted labels with correct ones: accuracy, macro-F1 with confidence intervals, and a confusion matrix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clearhead.errors import printable
from clearhead.evaluation.scores import Array, Score, SentenceCounts, accuracy
from clearhead.evaluation.significance import Interval, Resampling, confidence_interval, procedure_of
from clearhead.evaluation.tables import ScoreTable


@dataclass(frozen=True)
class LabelScore:
    """A score of the labels, with its 95 % interval if there is one."""

    score: Score
    interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the score for JSON."""
        interval = None if self.interval is None else self.interval.to_dict()
        return {**self.score.to_dict(), "interval": interval}


@dataclass(frozen=True)
class LabelReport:
    """Scores, and how often each label (row) was predicted as each label (column)."""

    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    scores: tuple[LabelScore, ...]
    num_skipped: int = 0

    @property
    def num_texts(self) -> int:
        """The number of texts that were compared."""
        return sum(map(sum, self.confusion))

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        per_label = zip(self.labels, *_precision_recall_f1(np.array(self.confusion, dtype=np.float64)), strict=True)
        return {
            "texts": self.num_texts,
            "skipped": self.num_skipped,
            "scores": [score.to_dict() for score in self.scores],
            "labels": {
                label: {"precision": precision, "recall": recall, "f1": f1}
                for label, precision, recall, f1 in per_label
            },
            "confusion": {
                label: dict(zip(self.labels, row, strict=True))
                for label, row in zip(self.labels, self.confusion, strict=True)
            },
        }


def report_labels(
    predictions: Sequence[str], references: Sequence[str], labels: Sequence[str], resampling: Resampling | None
) -> LabelReport:
    """Compare predictions with references, which must all be among `labels`; None computes no intervals."""
    micro = accuracy(predictions, references)
    numbers = {label: number for number, label in enumerate(labels)}
    size = len(labels)
    rows = np.zeros((len(references), size * size))
    cells = [numbers[gold] * size + numbers[label] for gold, label in zip(references, predictions, strict=True)]
    rows[np.arange(len(cells)), cells] = 1.0
    total = rows.sum(axis=0)
    num_used = len({*predictions, *references})
    macro = Score("macro-F1", macro_f1(total), f"unit:label|average:macro|labels:{num_used}")
    functions: tuple[tuple[Score, Callable[[Array], float]], ...] = ((micro, _share_of_hits), (macro, macro_f1))
    scores = []
    for score, score_of_total in functions:
        counts = SentenceCounts(rows, score_of_total, score)
        scores.append(LabelScore(score, None if resampling is None else confidence_interval(counts, resampling)))
    confusion = tuple(tuple(int(count) for count in row) for row in total.reshape(size, size))
    return LabelReport(tuple(labels), confusion, tuple(scores))


def _share_of_hits(total: Array) -> float:
    """Return the accuracy in per cent of a flat confusion matrix."""
    return float(100.0 * np.trace(_square(total)) / total.sum())


def macro_f1(total: Array) -> float:
    """Return the mean F1 in per cent over the labels that occur, as scikit-learn does, of a flat confusion matrix."""
    matrix = _square(total)
    is_used = (matrix.sum(axis=0) + matrix.sum(axis=1)) > 0
    return float(_precision_recall_f1(matrix)[2][is_used].mean())


def _square(total: Array) -> Array:
    size = round(len(total) ** 0.5)
    return total.reshape(size, size)


def _precision_recall_f1(matrix: Array) -> tuple[Array, Array, Array]:
    """Return precision, recall and F1 of each label in per cent; 0 where there is nothing to divide by."""
    hits = np.diag(matrix)
    predicted, correct = matrix.sum(axis=0), matrix.sum(axis=1)

    def percentage(part: Array, total: Array) -> Array:
        return np.divide(100.0 * part, total, out=np.zeros_like(part), where=total > 0)

    return percentage(hits, predicted), percentage(hits, correct), percentage(2 * hits, predicted + correct)


def label_tables(report: LabelReport) -> list[ScoreTable]:
    """Return the tables of a report: scores, then the confusion matrix with recall, precision and F1 of each label."""
    has_intervals = any(score.interval for score in report.scores)
    rows = []
    for label_score in report.scores:
        cells = [label_score.score.name, f"{label_score.score.value:.2f}"]
        if label_score.interval is not None:
            cells.append(str(label_score.interval))
        rows.append(tuple(cells))
    notes = [f"{label_score.score.name}: {label_score.score.signature}" for label_score in report.scores]
    if report.scores[0].interval is not None:
        notes.append(f"95 % interval: bootstrap, {procedure_of(report.scores[0].interval.signature)}")
    if report.num_skipped:
        notes.append(f"{report.num_skipped:,} texts were skipped, because they are empty or too long.")
    columns = ("metric", "score", *["95 % interval"] * has_intervals)
    scores = ScoreTable(f"Scores of {report.num_texts:,} texts", columns, tuple(rows), tuple(notes))
    names = tuple(map(printable, report.labels))
    precision, recall, f1 = _precision_recall_f1(np.array(report.confusion, dtype=np.float64))
    matrix = tuple(
        (names[index], *(f"{count:,}" for count in row), *(f"{part[index]:.2f}" for part in (recall, precision, f1)))
        for index, row in enumerate(report.confusion)
    )
    heading = ("correct label", *names, "recall %", "precision %", "F1 %")
    return [scores, ScoreTable("Confusion matrix: a row for each correct label", heading, matrix)]

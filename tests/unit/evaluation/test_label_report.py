"""Scores of labels: worked by hand, and independent of the order of texts."""

import numpy as np
import pytest

from clearhead.errors import DataError
from clearhead.evaluation.label_report import label_tables, macro_f1, report_labels
from clearhead.evaluation.significance import Resampling

LABELS = ("bad", "fine", "good")
GOLD = ["bad", "bad", "bad", "good", "good", "good", "good", "fine"]
GUESS = ["bad", "bad", "good", "good", "good", "good", "bad", "good"]


def test_the_scores_are_those_worked_by_hand() -> None:
    """Bad: P 2/3, R 2/3, F1 2/3; good: P 3/5, R 3/4, F1 6/9 = 2/3; fine: 0. Mean F1 4/9; 5 of 8 are right."""
    report = report_labels(GUESS, GOLD, LABELS, None)
    assert report.confusion == ((2, 0, 1), (0, 0, 1), (1, 0, 3))
    assert [score.score.name for score in report.scores] == ["accuracy", "macro-F1"]
    assert [score.score.value for score in report.scores] == pytest.approx([62.5, 100 * 4 / 9])
    data = report.to_dict()
    assert data["labels"]["good"] == pytest.approx({"precision": 60.0, "recall": 75.0, "f1": 200 / 3})
    assert data["labels"]["fine"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert data["confusion"]["fine"] == {"bad": 0, "fine": 0, "good": 1}
    assert (data["texts"], data["skipped"]) == (8, 0)
    assert data["scores"][1]["signature"] == "unit:label|average:macro|labels:3"


def test_a_label_that_does_not_occur_is_not_part_of_the_mean() -> None:
    report = report_labels(["bad", "good"], ["bad", "good"], LABELS, None)
    assert report.scores[1].score.value == 100.0
    assert report.scores[1].score.signature.endswith("labels:2")
    assert macro_f1(np.array([1.0, 0, 0, 0, 0, 0, 0, 0, 0])) == 100.0


def test_the_interval_is_that_of_the_bootstrap_and_names_its_seed() -> None:
    predictions, references = GUESS * 20, GOLD * 20
    report = report_labels(predictions, references, LABELS, Resampling(200, seed=7))
    for label_score in report.scores:
        assert label_score.interval is not None
        assert label_score.interval.low < label_score.score.value < label_score.interval.high
        assert "bs:200|seed:7" in label_score.interval.signature
    interval = report.scores[0].interval
    assert interval is not None
    # ± 1.96 √(0.625 · 0.375 / 160) = ± 7.5 per cent
    assert (interval.high - interval.low) / 2 == pytest.approx(7.5, abs=1.0)


def test_the_tables_show_scores_and_confusion() -> None:
    scores, confusion = label_tables(report_labels(GUESS, GOLD, LABELS, Resampling(40)))
    assert scores.title == "Scores of 8 texts"
    assert scores.rows[0][:2] == ("accuracy", "62.50")
    assert scores.notes[-1] == "95 % interval: bootstrap, bs:40|seed:12345"
    assert confusion.rows[0] == ("bad", "2", "0", "1", "66.67", "66.67", "66.67")


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(DataError, match="there are no outputs"):
        report_labels([], [], LABELS, None)

"""Scaled and unscaled scores: measured before training, and a finding that follows the numbers."""

import pytest
import torch

from clearhead.model import build_model
from clearhead.studies.learning import held_out
from clearhead.studies.score_scaling import ScalingOutcome, describe, look_at_scores, make_config
from clearhead.studies.tasks import Task
from tests.unit.studies.tiny import measured


def test_the_table_has_a_row_for_every_width_number_of_heads_and_scaling() -> None:
    (table,) = measured("score-scaling").tables
    rows = [(width, heads, scores) for width in (8, 16) for heads in (1, 2) for scores in ("scaled", "unscaled")]
    assert [row[:3] for row in table.rows] == rows
    by_width = dict(zip(table.column("width"), table.column("parameters"), strict=True))
    assert all(by_width[row[0]] == row[3] for row in table.rows), "equal width has equal parameters"


def test_the_variance_of_scores_grows_by_the_width_of_a_head() -> None:
    task = Task("reverse", 5, 5)
    batch, variances = held_out(task.batch, 20, 0), []
    for is_scaled in (True, False):
        torch.manual_seed(0)
        model = build_model(make_config(task, 24, 2, is_scaled=is_scaled))
        variances.append(look_at_scores(model, batch)[0])
    assert variances[1] == pytest.approx(12 * variances[0], rel=1e-4)


def test_the_finding_follows_the_numbers() -> None:
    def outcome(heads: int, is_scaled: bool, loss: float, gradient: float = 1.0) -> ScalingOutcome:
        return ScalingOutcome(64, heads, is_scaled, 9, 16.0, 0.75, gradient, loss, 0.5)

    worse = [outcome(1, True, 1.0), outcome(1, False, 2.0, 3.0), outcome(4, True, 0.5), outcome(4, False, 0.5)]
    text = describe(worse)
    assert "With one head, leaving out the division hurts at width 64: at width 64 the scores start with a" in text
    assert "With 4 heads, leaving out the division hurts at no width" in text
    assert "Scaled, 4 heads have a lower loss than one at width 64." in text
    assert "without the division is 3 times as large (width 64, one head)" in text
    assert text.endswith("this gradient has not vanished.")
    alike = [outcome(1, True, 1.0), outcome(1, False, 1.0, 0.25), outcome(4, True, 1.0), outcome(4, False, 1.0)]
    assert "Scaled, one head and 4 heads learn alike." in describe(alike)
    assert "only 0.25 of what it is with it" in describe(alike)

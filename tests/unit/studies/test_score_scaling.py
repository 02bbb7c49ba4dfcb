"""Scaled and unscaled scores: measured before training."""

import pytest

from clearhead.studies.learning import held_out
from clearhead.studies.score_scaling import look_at_scores, make_model
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
        model = make_model(task, 24, 2, 0, is_scaled=is_scaled)
        variances.append(look_at_scores(model, batch)[0])
    assert variances[1] == pytest.approx(12 * variances[0], rel=1e-4)

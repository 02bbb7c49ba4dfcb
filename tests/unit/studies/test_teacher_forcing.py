"""Teacher forcing in parallel and token by token: the same loss, for sentences of several lengths too."""

import pytest

from clearhead.studies.learning import LearningCurve, held_out
from clearhead.studies.tasks import Task
from clearhead.studies.teacher_forcing import UpdatePair, describe, make_model, one_by_one
from tests.unit.studies.tiny import TINY, measured


def test_the_table_has_a_row_for_every_length() -> None:
    updates, trainings = measured("teacher-forcing").tables
    assert updates.column("words") == (3, 5)
    assert updates.column("loss, in parallel") == pytest.approx(updates.column("loss, token by token"), abs=1e-5)
    assert trainings.column("decoder reads") == ("in parallel", "token by token")


def test_padding_does_not_change_the_loss() -> None:
    model = make_model(7, TINY["teacher-forcing"], seed=0)
    batch = held_out(Task("reverse", 2, 7).batch, 5, 0)
    parallel, stepwise = model.loss(batch), one_by_one(model)(batch)
    assert stepwise.total.item() == pytest.approx(parallel.total.item(), rel=1e-5)
    assert int(stepwise.num_tokens) == int(parallel.num_tokens)


def test_the_finding_follows_the_numbers() -> None:
    curves = LearningCurve([2.0, 1.0], [1.0, 2.0]), LearningCurve([2.0, 1.25], [3.0, 10.0])
    same = describe([UpdatePair(8, (2.0, 2.0), (1.0, 3.0), 1e-7), UpdatePair(64, (2.0, 2.0), (1.0, 12.0), 0.0)], curves)
    assert same.startswith("Both ways have the same loss and gradients up to rounding")
    assert "3.0 times as long for 8 words and 12.0 times as long for 64" in same
    assert "5.0 times as long and ends with the losses 1.5 and 1.62" in same
    assert "up to 2.5e-01 nats" in same
    other = describe([UpdatePair(8, (2.0, 2.1), (1.0, 3.0), 1e-7)], curves)
    assert other.startswith("The two ways do not agree (largest difference 1.0e-01 nats")

"""Teacher forcing in parallel and token by token: the same loss, for sentences of several lengths too."""

import pytest

from clearhead.studies import ResultTable
from clearhead.studies.learning import held_out
from clearhead.studies.tasks import Task
from clearhead.studies.teacher_forcing import finding_of, make_model, one_by_one
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
    columns = measured("teacher-forcing").tables[0].columns
    updates = ResultTable(
        "", columns, ((8, 2.0, 2.0, 0.0, 1e-7, 1.0, 3.0, 3.0), (64, 2.0, 2.1, 0.1, 0.0, 1.0, 12.0, 12.0))
    )
    trainings = ResultTable("", ("decoder reads", "final loss", "seconds"), (("a", 1.5, 2.0), ("b", 1.6, 10.0)))
    text = finding_of(updates, trainings)
    assert text.startswith("The losses of the two ways differ by at most 1.0e-01 nats, and their gradients by 1.0e-07")
    assert "3.0 times as long for 8 words and 12.0 times as long for 64; the training takes 5.0 times" in text


def test_both_ways_have_the_same_loss_and_gradients_up_to_rounding() -> None:
    updates, _ = measured("teacher-forcing").tables
    for name in ("difference", "largest gradient difference"):
        assert all(float(value) < 1e-4 for value in updates.column(name))

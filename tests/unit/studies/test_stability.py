"""Variants without residuals or norms: they are what their names say, and the finding follows the numbers."""

import math

import pytest
import torch
from torch import nn

from clearhead.model import Batch
from clearhead.studies import run_study, stability
from clearhead.studies.learning import Learner, LearningCurve, held_out
from clearhead.studies.stability import (
    VARIANTS,
    BatchNorm,
    NoNorm,
    NoResidual,
    make_model,
    shown,
)
from clearhead.studies.tasks import Task
from tests.unit.studies.tiny import TINY, measured

TASK = Task("reverse", 2, 4)


def test_the_table_has_a_row_for_every_variant_with_and_without_warm_up() -> None:
    table, _ = measured("stability").tables
    assert [row[:2] for row in table.rows] == [(name, warm) for name in VARIANTS for warm in ("yes", "no")]
    assert table.columns[2:] == ("rate 0.001", "rate 100")


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_has_its_parts_and_the_same_weights_as_all(name: str) -> None:
    build, sizes = VARIANTS[name], TINY["stability"]
    model, plain = (make_model(one, TASK, sizes, 0) for one in (build, VARIANTS["pre-norm"]))
    kinds = {type(module) for module in model.modules()}
    assert (BatchNorm in kinds) == (build.norm == "batch")
    assert (NoNorm in kinds) == (build.norm == "none")
    assert (NoResidual in kinds) == (not build.has_residuals)
    assert (nn.LayerNorm in kinds) is False, "norms are our own modules"
    assert torch.equal(model.output.weight, plain.output.weight)
    assert math.isfinite(model.loss(held_out(TASK.batch, 5, 0)).mean.item())


def test_without_residuals_the_input_is_not_added() -> None:
    model = make_model(VARIANTS["no residuals (pre)"], TASK, TINY["stability"], 0).eval()
    with torch.no_grad():
        for block in model.blocks():
            feed_forward = block.get_submodule("feed_forward.second")
            nn.init.zeros_(feed_forward.weight)  # type: ignore[arg-type]
    batch = held_out(TASK.batch, 3, 0)
    other = Batch(batch.source, batch.target.flip(0) if batch.target is not None else None)
    assert torch.equal(model.states(batch), model.states(other)), "a layer that writes 0 forgets everything"


def test_batch_norm_depends_on_the_other_sentences_in_training_only() -> None:
    norm, x = BatchNorm(3, 1e-5), torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))
    y = norm(x)
    assert torch.allclose(y.mean(dim=(0, 1)), torch.zeros(3), atol=1e-5)
    norm.eval()
    assert torch.equal(norm(x)[:1], norm(x[:1]))


def test_the_second_table_counts_how_the_trainings_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = iter(("0.1 learned", "0.2 learned", "1 learning", "0.1 learned"))
    monkeypatch.setattr(stability, "shown", lambda loss, chance: next(cells, "2 stuck"))
    monkeypatch.setattr(Learner, "train", lambda *_: LearningCurve([]))
    _, endings = run_study("stability", sizes=TINY["stability"]).tables
    assert endings.columns == ("variant", "learned", "learning", "stuck", "diverged")
    assert list(endings.rows) == [(name, *((3, 1, 0, 0) if name == "pre-norm" else (0, 0, 4, 0))) for name in VARIANTS]


@pytest.mark.parametrize(
    ("loss", "cell"),
    [
        (0.1, "0.1 learned"),
        (1.0, "1 learning"),
        (1.9, "1.9 stuck"),
        (9.0, "9 diverged"),
        (math.inf, "inf diverged"),
    ],
)
def test_a_cell_shows_the_loss_and_how_the_training_ended(loss: float, cell: str) -> None:
    assert shown(loss, 2.0) == cell


def test_a_training_that_stopped_shows_where() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Learner, "train", lambda *_: LearningCurve([2.0] * 6, has_diverged=True))
        cells = run_study("stability", sizes=TINY["stability"]).tables[0].column("rate 100")
    assert set(cells) == {"diverged at 7"}

"""Training and measuring in a study."""

import math

import pytest
import torch

from clearhead.model import Batch, Loss, ModelConfig, SequenceModel, build_model
from clearhead.studies.learning import Learner, LearningCurve, StudyRecipe, held_out, loss_on, share_right
from clearhead.studies.tasks import Task

TASK = Task("copy", 2, 3, num_words=5)


def make_model() -> SequenceModel:
    torch.manual_seed(0)
    sizes = {"encoder_blocks": 1, "decoder_blocks": 1, "d_model": 16, "d_ff": 32, "num_heads": 2, "dropout": 0.0}
    return build_model(ModelConfig.model_validate({"source_vocabulary": TASK.vocabulary, "max_length": 8, **sizes}))


def test_a_model_learns_and_every_model_gets_the_same_batches() -> None:
    learner = Learner(TASK.batch, StudyRecipe(150, rate=1e-2, batch=32, warm_up=10), seed=5)
    model, batch = make_model(), held_out(TASK.batch, 64, 5)
    before = loss_on(model, batch)
    assert share_right(model, batch) < 0.2
    curve = learner.train(model, "copy")
    assert len(curve.losses) == 150
    assert curve.seconds > 0
    assert 2 * 32 * 150 < curve.num_tokens <= 4 * 32 * 150  # two or three words and the end
    assert curve.final_loss() < 0.1 < 1.0 < before
    assert share_right(model, batch) > 0.9
    shorter = Learner(TASK.batch, StudyRecipe(2, batch=32), seed=5)
    assert shorter.train(make_model(), "again").losses[0] == curve.losses[0]


def test_a_run_stops_at_a_loss_that_is_not_finite() -> None:
    model = make_model()
    calls = []

    def loss_of(batch: Batch) -> Loss:
        calls.append(batch)
        loss = model.loss(batch)
        return Loss(loss.total * (math.nan if len(calls) == 3 else 1.0), loss.num_tokens)

    curve = Learner(TASK.batch, StudyRecipe(9, batch=4), seed=0).train(model, "bad", loss_of)
    assert curve.has_diverged
    assert len(curve.losses) == 2
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def test_the_final_loss_is_the_mean_of_the_last_updates() -> None:
    assert LearningCurve([9.0, 2.0, 4.0]).final_loss(2) == pytest.approx(3.0)
    assert LearningCurve([], has_diverged=True).final_loss() == math.inf

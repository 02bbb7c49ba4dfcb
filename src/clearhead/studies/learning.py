"""Train a model on the batches of a task, and measure what it has learned. The same for every variant of a study."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import nn

from clearhead.decoding.search.greedy import greedy
from clearhead.model import Batch, Loss, SequenceModel
from clearhead.training.config import TrainingConfig
from clearhead.training.optimiser import Optimiser
from clearhead.training.schedule import rate_at

Show = Callable[[str, int, int], None]  # the name of a part, how much of it is done, and its total
BatchMaker = Callable[[int, torch.Generator], Batch]  # the number of sentences and a generator → a batch
LossOf = Callable[[Batch], Loss]


def silent(part: str, num_done: int, total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class StudyRecipe:
    """How a model is trained: AdamW or Muon, a linear warm-up, then a cosine down to 0."""

    steps: int
    rate: float = 3e-3
    batch: int = 64  # sentences
    warm_up: int = 50
    optimiser: Literal["adamw", "muon"] = "adamw"

    def settings(self) -> TrainingConfig:
        """Return the settings of the optimiser and the schedule."""
        return TrainingConfig(
            steps=self.steps,
            rate=self.rate,
            warm_up=self.warm_up,
            schedule="cosine",
            optimiser=self.optimiser,
            label_smoothing=0.0,
        )


@dataclass(frozen=True)
class LearningCurve:
    """The mean loss per token of every update, and the seconds since the start; both end before a loss of NaN."""

    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    has_diverged: bool = False

    def final_loss(self, num_last: int = 20) -> float:
        """Return the mean loss of the last updates."""
        last = self.losses[-num_last:]
        return sum(last) / len(last) if last else math.inf


@dataclass(frozen=True)
class Learner:
    """Trains models of one study on the same batches: `seed` determines their weights and the data."""

    make_batch: BatchMaker
    recipe: StudyRecipe
    seed: int
    show: Show = silent

    def new_batches(self) -> torch.Generator:
        """Return a generator that gives every model the same batches."""
        return torch.Generator().manual_seed(self.seed + 1)

    def train(self, model: SequenceModel, name: str, loss_of: LossOf | None = None) -> LearningCurve:
        """Train a model. It stops at a loss that is not finite. `loss_of` replaces the model's own loss."""
        loss_of = model.loss if loss_of is None else loss_of
        settings, random = self.recipe.settings(), self.new_batches()
        optimiser, parameters = Optimiser(model, settings), list(model.parameters())
        losses: list[float] = []
        seconds: list[float] = []
        start = time.perf_counter()
        set_training(model, is_training=True)
        for step in range(1, self.recipe.steps + 1):
            batch = on_device(self.make_batch(self.recipe.batch, random), model)
            optimiser.set_rate(rate_at(step, settings, self.recipe.steps))
            optimiser.zero()
            loss = loss_of(batch).mean
            loss.backward()  # type: ignore[no-untyped-call]
            norm = nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf)
            if not (math.isfinite(float(loss.detach())) and math.isfinite(float(norm))):
                return LearningCurve(losses, seconds, has_diverged=True)
            optimiser.step()
            losses.append(float(loss.detach()))
            seconds.append(time.perf_counter() - start)
            self.show(name, step, self.recipe.steps)
        return LearningCurve(losses, seconds)


def set_training(model: SequenceModel, *, is_training: bool) -> None:
    """Switch a model to training, where dropout and batch norm act, or back."""
    assert isinstance(model, nn.Module)
    model.train(is_training)


def on_device(batch: Batch, model: SequenceModel) -> Batch:
    """Return the batch on the device of a model."""
    return batch.changed(lambda tensor: tensor.to(model.device))


def held_out(make_batch: BatchMaker, number: int, seed: int) -> Batch:
    """Return sentences that are drawn with another seed than those of training."""
    return make_batch(number, torch.Generator().manual_seed(seed + 2))


@torch.no_grad()
def loss_on(model: SequenceModel, batch: Batch) -> float:
    """Return the mean loss per token on a batch, outside of training."""
    set_training(model, is_training=False)
    return float(model.loss(on_device(batch, model)).mean)


@torch.no_grad()
def share_right(model: SequenceModel, batch: Batch) -> float:
    """Return the share of sentences that greedy search writes without an error."""
    set_training(model, is_training=False)
    batch = on_device(batch, model)
    assert batch.source is not None
    assert batch.target is not None
    length = batch.target.shape[1]
    ids = greedy(model, batch.source, length)
    ids = nn.functional.pad(ids, (0, length - ids.shape[1]), value=model.config.pad)
    return float((ids == batch.target).all(dim=1).double().mean())

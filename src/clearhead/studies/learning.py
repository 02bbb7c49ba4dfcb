"""Train a model on the batches of a task, and measure what it has learned. The same for every variant of a study."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.decoding.search.greedy import greedy
from clearhead.model import Batch, Loss, SequenceModel
from clearhead.training.config import TrainingConfig
from clearhead.training.optimiser import Optimiser
from clearhead.training.schedule import rate_at

Show = Callable[[str, int, int], None]  # the name of a part, how much of it is done, and its total
BatchMaker = Callable[[int, torch.Generator], Batch]  # the number of sentences and a generator → a batch
LossOf = Callable[[Batch], Loss]


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
    """The mean loss per token of every update, the seconds and the tokens of all; they end before a loss of NaN."""

    losses: list[float]
    seconds: float = 0.0
    num_tokens: int = 0
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
    show: Show = lambda *_: None

    def train(self, model: SequenceModel, name: str, loss_of: LossOf | None = None) -> LearningCurve:
        """Train a model. It stops at a loss that is not finite. `loss_of` replaces the model's own loss."""
        loss_of = loss_of or model.loss
        settings, random = self.recipe.settings(), torch.Generator().manual_seed(self.seed + 1)
        optimiser, parameters = Optimiser(model, settings), list(model.parameters())
        losses: list[float] = []
        seconds = 0.0
        num_tokens = 0
        has_diverged = False
        model.train()
        start = time.perf_counter()
        for step in range(1, self.recipe.steps + 1):
            batch = self.make_batch(self.recipe.batch, random)
            optimiser.set_rate(rate_at(step, settings, self.recipe.steps))
            optimiser.zero()
            total = loss_of(batch)
            loss = total.mean
            loss.backward()  # type: ignore[no-untyped-call]
            norm = nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf)
            has_diverged = not (math.isfinite(float(loss.detach())) and math.isfinite(float(norm)))
            if has_diverged:
                break
            optimiser.step()
            losses.append(float(loss.detach()))
            seconds = time.perf_counter() - start
            num_tokens += int(total.num_tokens)
            self.show(name, step, self.recipe.steps)
        model.eval()
        return LearningCurve(losses, seconds, num_tokens, has_diverged)


def gradients(model: SequenceModel, batch: Batch, loss_of: LossOf | None = None) -> float:
    """Compute the gradients of the mean loss anew, and return this loss."""
    model.zero_grad()
    loss = (loss_of or model.loss)(batch).mean
    loss.backward()  # type: ignore[no-untyped-call]
    return float(loss.detach())


def seconds_of(action: Callable[[], object], repeats: int) -> list[float]:
    """Return the times of an action that is repeated."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return times


def held_out(make_batch: BatchMaker, number: int, seed: int) -> Batch:
    """Return sentences that are drawn with another seed than those of training."""
    return make_batch(number, torch.Generator().manual_seed(seed + 2))


def sides(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the source and the target of a batch that has both."""
    assert batch.source is not None
    assert batch.target is not None
    return batch.source, batch.target


@torch.no_grad()
def loss_on(model: SequenceModel, batch: Batch) -> float:
    """Return the mean loss per token on a batch, outside of training."""
    return float(model.eval().loss(batch).mean)


@torch.no_grad()
def written(model: SequenceModel, batch: Batch) -> Tensor:
    """Return what greedy search writes, padded to the length of the target (B, T)."""
    source, target = sides(batch)
    ids = greedy(model.eval(), source, target.shape[1])
    return F.pad(ids, (0, target.shape[1] - ids.shape[1]), value=model.config.pad)


def share_right(model: SequenceModel, batch: Batch) -> float:
    """Return the share of sentences that greedy search writes without an error."""
    return share((written(model, batch) == sides(batch)[1]).all(dim=1))


def share(is_right: Tensor) -> float:
    """Return how many of the booleans are true, as a share."""
    return float(is_right.double().mean())

"""Teacher forcing in parallel, against a decoder that reads the same target tokens one by one.

In training the next token comes from the data and not from the model, so no step has to wait for the one before it.
The mask hides later tokens from each position, which is why one pass over the complete target computes the same loss as
many passes over one token each, with the keys and values of earlier tokens cached.
"""

import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.experiments.colours import BLUE, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import Batch, Loss, ModelConfig, TrainableModel, build_model
from clearhead.studies.learning import Learner, LearningCurve, LossOf, Show, StudyRecipe, held_out, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "teacher-forcing"
SIZE = (11.0, 4.6)
_ROUNDING = 1e-4  # nats: float32 sums in another order differ by less
_WAYS = ("in parallel", "token by token")


@dataclass(frozen=True)
class TeacherForcingSizes:
    """The sizes of the model and of the data."""

    lengths: tuple[int, ...] = (8, 16, 32, 64, 128)  # words of a target sentence
    rows: int = 16  # sentences in a batch
    repeats: int = 5  # timings of which the median counts
    steps: int = 400
    width: int = 64
    blocks: int = 2


SMALL = TeacherForcingSizes()


@dataclass(frozen=True)
class UpdatePair:
    """The same update computed in both ways: the losses, the times, and the largest difference of a gradient."""

    length: int
    losses: tuple[float, float]
    seconds: tuple[float, float]
    gradient_difference: float  # as a share of the largest gradient

    @property
    def slowdown(self) -> float:
        """How many times as long the second way takes."""
        return self.seconds[1] / self.seconds[0]


def run(seed: int, sizes: TeacherForcingSizes = SMALL, show: Show = silent) -> Experiment:
    """Compare the loss, the gradients and the time of one update for several lengths, then train in both ways."""
    comparisons = []
    for number, length in enumerate(sizes.lengths, start=1):
        comparisons.append(compare(length, sizes, seed))
        show("comparing updates, length", number, len(sizes.lengths))
    curves = train_both(sizes, seed, show)
    rows: list[tuple[Cell, ...]] = [
        (
            one.length,
            *one.losses,
            abs(one.losses[0] - one.losses[1]),
            one.gradient_difference,
            *(1000 * seconds for seconds in one.seconds),
            one.slowdown,
        )
        for one in comparisons
    ]
    updates = ResultTable(
        f"one update of the same model on the same {sizes.rows} sentences (median of {sizes.repeats})",
        (
            *("words", *(f"loss, {way}" for way in _WAYS), "difference", "largest gradient difference"),
            *(*(f"ms, {way}" for way in _WAYS), "times as long"),
        ),
        tuple(rows),
    )
    trainings = ResultTable(
        f"training on reversed sentences of {sizes.lengths[0]} words, {sizes.steps} updates from the same weights",
        ("decoder reads", "final loss", "seconds"),
        tuple((way, curve.final_loss(), curve.seconds[-1]) for way, curve in zip(_WAYS, curves, strict=True)),
    )
    arrays = {
        "lengths": np.array(sizes.lengths, dtype=np.float64),
        "seconds": np.array([one.seconds for one in comparisons]),
        **{f"losses {way}": np.array(curve.losses) for way, curve in zip(_WAYS, curves, strict=True)},
        **{f"time {way}": np.array(curve.seconds) for way, curve in zip(_WAYS, curves, strict=True)},
    }
    claim = (
        "In training the next token comes from the data, so a masked decoder can compute the loss of all positions at "
        "once instead of waiting for each token."
    )
    finding = describe(comparisons, curves)
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, finding, (updates, trainings), arrays)


def describe(comparisons: list[UpdatePair], curves: tuple[LearningCurve, LearningCurve]) -> str:
    """Return the finding."""
    difference = max(abs(one.losses[0] - one.losses[1]) for one in comparisons)
    gradient = max(one.gradient_difference for one in comparisons)
    is_same = difference < _ROUNDING and gradient < _ROUNDING
    same = "Both ways have the same loss and gradients up to rounding" if is_same else "The two ways do not agree"
    first, last = comparisons[0], comparisons[-1]
    ratio = curves[1].seconds[-1] / curves[0].seconds[-1]
    losses = " and ".join(f"{curve.final_loss():.3g}" for curve in curves)
    apart = max(abs(a - b) for a, b in zip(curves[0].losses, curves[1].losses, strict=True))
    return (
        f"{same} (largest difference {difference:.1e} nats; {gradient:.1e} of the largest gradient). Token by token, "
        f"an update takes {first.slowdown:.1f} times as long for {first.length} words and {last.slowdown:.1f} times as "
        f"long for {last.length}. The training takes {ratio:.1f} times as long and ends with the losses {losses}; "
        f"updates amplify the rounding, so that the two losses of an update differ by up to {apart:.1e} nats."
    )


def compare(length: int, sizes: TeacherForcingSizes, seed: int) -> UpdatePair:
    """Compute one update in both ways, for sentences of one length."""
    model, task = make_model(length, sizes, seed), Task("reverse", length, length)
    batch = held_out(task.batch, sizes.rows, seed)
    losses, gradients = [], []
    for loss_of in (model.loss, one_by_one(model)):
        loss, gradient = update(model, batch, loss_of)
        losses.append(loss)
        gradients.append(gradient)
    largest = float(gradients[0].abs().max())
    difference = float((gradients[0] - gradients[1]).abs().max()) / largest
    # Both ways have run once, so that neither is timed with PyTorch's preparations.
    seconds = [median_time(model, batch, loss_of, sizes.repeats) for loss_of in (model.loss, one_by_one(model))]
    return UpdatePair(length, (losses[0], losses[1]), (seconds[0], seconds[1]), difference)


def make_model(length: int, sizes: TeacherForcingSizes, seed: int) -> TrainableModel:
    """Return a model with random weights, the same for the same seed."""
    torch.manual_seed(seed)
    config = ModelConfig(
        source_vocabulary=Task("reverse", length, length).vocabulary,
        encoder_blocks=sizes.blocks,
        decoder_blocks=sizes.blocks,
        d_model=sizes.width,
        d_ff=2 * sizes.width,
        num_heads=4,
        dropout=0.0,  # it would draw other numbers in each way
        max_length=length + 1,
    )
    return build_model(config)


def one_by_one(model: TrainableModel) -> LossOf:
    """Return the loss of a batch, computed with one pass of the decoder for every token of the target."""

    def loss_of(batch: Batch) -> Loss:
        assert batch.source is not None
        assert batch.target is not None
        memory = model.encode(batch.source)
        cache = model.start_cache(memory, len(batch.target), model.device)
        token = torch.full_like(batch.target[:, :1], model.config.start_id)
        columns = []
        for place in range(batch.target.shape[1]):
            columns.append(model.decode(token, memory, cache))  # (B, 1, V)
            token = batch.target[:, place : place + 1]  # the right token, whatever the model would write
        logits, labels = torch.cat(columns, dim=1).flatten(0, 1), model.labels(batch).flatten()
        ignored = model.ignore_index
        total = F.cross_entropy(logits, labels, ignore_index=ignored, reduction="sum")
        return Loss(total, (labels != ignored).sum())

    return loss_of


def update(model: TrainableModel, batch: Batch, loss_of: LossOf) -> tuple[float, Tensor]:
    """Compute the loss and the gradients of all parameters, as one vector."""
    for parameter in model.parameters():
        parameter.grad = None
    loss = loss_of(batch).mean
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad.flatten() for parameter in model.parameters() if parameter.grad is not None]
    return float(loss.detach()), torch.cat(gradients)


def median_time(model: TrainableModel, batch: Batch, loss_of: LossOf, repeats: int) -> float:
    """Return the median time of an update in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        update(model, batch, loss_of)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def train_both(sizes: TeacherForcingSizes, seed: int, show: Show) -> tuple[LearningCurve, LearningCurve]:
    """Train the same model in both ways on the same batches."""
    length = sizes.lengths[0]
    task = Task("reverse", length, length)
    learner = Learner(task.batch, StudyRecipe(sizes.steps, batch=sizes.rows, warm_up=sizes.steps // 4), seed, show)
    replace(learner, recipe=StudyRecipe(1), show=silent).train(
        make_model(length, sizes, seed), ""
    )  # PyTorch loads its optimiser
    model = make_model(length, sizes, seed)
    parallel = learner.train(model, f"training {_WAYS[0]}")
    model = make_model(length, sizes, seed)
    return parallel, learner.train(model, f"training {_WAYS[1]}", one_by_one(model))


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the loss against time, and the time of an update against the length."""
    losses, times = figure.subplots(1, 2, width_ratios=(1.15, 1))
    for way, colour, style in zip(_WAYS, (BLUE, VERMILION), ("-", "-"), strict=True):
        losses.plot(
            result.arrays[f"time {way}"], result.arrays[f"losses {way}"], style, color=colour, label=way, linewidth=2
        )
    losses.set(title="The same updates, from the same weights", xlabel="seconds", ylabel="loss per token (nats)")
    losses.set_xlim(left=0)
    losses.set_ylim(bottom=0)
    losses.legend(loc="lower right")
    lengths, seconds = result.arrays["lengths"], 1000 * result.arrays["seconds"]
    for index, (way, colour) in enumerate(zip(_WAYS, (BLUE, VERMILION), strict=True)):
        times.plot(lengths, seconds[:, index], "o-", color=colour, label=way)
    for length, (fast, slow) in zip(lengths[[0, -1]], seconds[[0, -1]], strict=True):
        times.annotate(
            f"× {slow / fast:.0f}" if slow >= 9.5 * fast else f"× {slow / fast:.1f}",
            (length, (slow * fast) ** 0.5),
            ha="left" if length == lengths[0] else "right",
            va="center",
            fontsize=14,
        )
    times.set(title="Time of one update", xlabel="words of the target", ylabel="milliseconds")
    times.set_xscale("log", base=2)
    times.set_yscale("log")
    times.yaxis.set_major_formatter("{x:g}")
    times.set_xticks(lengths, [f"{length:.0f}" for length in lengths])
    times.legend(loc="upper left")

"""Teacher forcing in parallel, against a decoder that reads the same target tokens one by one.

In training the next token comes from the data and not from the model, so no step has to wait for the one before it.
The mask hides later tokens from each position, which is why one pass over the complete target computes the same loss as
many passes over one token each, with the keys and values of earlier tokens cached.
"""

import statistics
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.nn.functional as F

from clearhead.model import Batch, Loss, SequenceModel
from clearhead.studies.experiment import Cell, Measurement, ResultTable
from clearhead.studies.learning import (
    Learner,
    LearningCurve,
    LossOf,
    Show,
    StudyRecipe,
    gradients,
    held_out,
    seconds_of,
    sides,
)
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import Task
from clearhead.studies.variants import seeded_model, shared_settings, small_transformer

CLAIM = (
    "In training the next token comes from the data, so a masked decoder can compute the loss of all positions at "
    "once instead of waiting for each token."
)
_WAYS = ("in parallel", "token by token")
_TIMES = ("ms, in parallel", "ms, token by token")
PANELS = (
    Panel("Time of one update", _TIMES, "words", log="xy", lines=_WAYS, label="milliseconds"),
    Panel("Time of the training", ("seconds",), "decoder reads", tables={1: ""}),
    Panel("Its final loss", ("final loss",), "decoder reads", tables={1: ""}, label="nats per token"),
)


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


def run(seed: int, sizes: TeacherForcingSizes, show: Show) -> Measurement:
    """Compare the loss, the gradients and the time of one update for several lengths, then train in both ways."""
    rows = []
    for number, length in enumerate(sizes.lengths, start=1):
        rows.append(compare(length, sizes, seed))
        show("comparing updates, length", number, len(sizes.lengths))
    curves = train_both(sizes, seed, show)
    updates = ResultTable(
        f"one update of the same model on the same {sizes.rows} sentences (median of {sizes.repeats})",
        (
            *("words", *(f"loss, {way}" for way in _WAYS), "difference", "largest gradient difference"),
            *(*_TIMES, "times as long"),
        ),
        rows,
    )
    trainings = ResultTable(
        f"training on reversed sentences of {sizes.lengths[0]} words, {sizes.steps} updates from the same weights",
        ("decoder reads", "final loss", "seconds"),
        [(way, curve.final_loss(), curve.seconds) for way, curve in zip(_WAYS, curves, strict=True)],
    )
    finding = finding_of(updates, trainings)
    return Measurement((updates, trainings), finding)


def finding_of(updates: ResultTable, trainings: ResultTable) -> str:
    """Return the finding in words."""
    loss, gradient = (max(map(float, updates.column(name))) for name in ("difference", "largest gradient difference"))
    slowdowns, seconds = updates.column("times as long"), trainings.column("seconds")
    return (
        f"The losses of the two ways differ by at most {loss:.1e} nats, and their gradients by {gradient:.1e} of the "
        f"largest one. Token by token, an update takes {slowdowns[0]:.1f} times as long for {updates.rows[0][0]} words "
        f"and {slowdowns[-1]:.1f} times as long for {updates.rows[-1][0]}; the training takes "
        f"{float(seconds[1]) / float(seconds[0]):.1f} times as long."
    )


def compare(length: int, sizes: TeacherForcingSizes, seed: int) -> tuple[Cell, ...]:
    """Compute one update in both ways for sentences of one length, and return its row."""
    model, task = make_model(length, sizes, seed), Task("reverse", length, length)
    batch = held_out(task.batch, sizes.rows, seed)
    ways = (model.loss, one_by_one(model))
    losses, vectors = [], []
    for loss_of in ways:
        losses.append(gradients(model, batch, loss_of))
        vectors.append(torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]))
    difference = float((vectors[0] - vectors[1]).abs().max()) / float(vectors[0].abs().max())
    # Both ways have run once, so that neither is timed with PyTorch's preparations.
    runs = [seconds_of(partial(gradients, model, batch, loss_of), sizes.repeats) for loss_of in ways]
    parallel, stepwise = map(statistics.median, runs)
    times = 1000 * parallel, 1000 * stepwise, stepwise / parallel
    return (length, *losses, abs(losses[0] - losses[1]), difference, *times)


def make_model(length: int, sizes: TeacherForcingSizes, seed: int) -> SequenceModel:
    """Return a model with random weights, the same for the same seed."""
    # Dropout would draw other numbers in each way.
    shared = shared_settings(Task("reverse", length, length).vocabulary, sizes.blocks, length)
    return seeded_model(small_transformer(shared, sizes.width), seed)


def one_by_one(model: SequenceModel) -> LossOf:
    """Return the loss of a batch, computed with one pass of the decoder for every token of the target."""

    def loss_of(batch: Batch) -> Loss:
        source, target = sides(batch)
        memory = model.encode(source)
        cache = model.start_cache(memory, len(target), model.device)
        token = torch.full_like(target[:, :1], model.config.start_id)
        columns = []
        for place in range(target.shape[1]):
            columns.append(model.decode(token, memory, cache))  # (B, 1, V)
            token = target[:, place : place + 1]  # the right token, whatever the model would write
        logits, labels = torch.cat(columns, dim=1).flatten(0, 1), model.labels(batch).flatten()
        ignored = model.ignore_index
        total = F.cross_entropy(logits, labels, ignore_index=ignored, reduction="sum")
        return Loss(total, (labels != ignored).sum())

    return loss_of


def train_both(sizes: TeacherForcingSizes, seed: int, show: Show) -> tuple[LearningCurve, LearningCurve]:
    """Train the same model in both ways on the same batches."""
    length = sizes.lengths[0]
    task = Task("reverse", length, length)
    learner = Learner(task.batch, StudyRecipe(sizes.steps, batch=sizes.rows, warm_up=sizes.steps // 4), seed, show)
    # The first update makes PyTorch load its optimiser.
    replace(learner, recipe=StudyRecipe(1), show=lambda *_: None).train(make_model(length, sizes, seed), "")
    model = make_model(length, sizes, seed)
    parallel = learner.train(model, f"training {_WAYS[0]}")
    model = make_model(length, sizes, seed)
    return parallel, learner.train(model, f"training {_WAYS[1]}", one_by_one(model))

"""Kinds of positions, trained on short sentences and tested on long ones.

Sorting needs no positions in the encoder, for the answer is the same in every order of the words. Reversing does:
without positions, the encoder reads a bag of words.
"""

from dataclasses import dataclass

import torch

from clearhead.model import SequenceModel
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, share_right
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import Task
from clearhead.studies.variants import num_parameters, seeded_model, shared_settings, small_transformer

CLAIM = (
    "Self-attention does not know the order of words without positions. A count is unbounded; sines of many "
    "frequencies are bounded, also at positions beyond those of training."
)
KINDS = ("none", "count", "count in one dimension", "sinusoidal", "learned", "rotary")
_TASKS = ("reverse", "sort")
PANELS = tuple(
    Panel(task, by=("positions",), tables={number: ""}, label="sentences without an error (%)")
    for number, task in enumerate(_TASKS)
)


@dataclass(frozen=True)
class PositionSizes:
    """The sizes of the models and of the data."""

    trained: tuple[int, int] = (3, 8)  # shortest and longest sentence of training, in words
    lengths: tuple[int, ...] = (4, 6, 8, 9, 10, 12, 16)  # of the tests
    num_test: int = 200
    steps: int = 500
    width: int = 64
    blocks: int = 1


SMALL = PositionSizes()


def run(seed: int, sizes: PositionSizes, show: Show) -> Measurement:
    """Train a model with each kind of positions on each task, and test it on every length."""
    return Measurement(tuple(measure(task, sizes, seed, show) for task in _TASKS))


def make_model(kind: str, sizes: PositionSizes, seed: int) -> SequenceModel:
    """Return a model with a kind of positions, and otherwise the same random weights for the same seed."""
    is_count = kind.startswith("count")
    shared = shared_settings(Task("copy", 1, 1).vocabulary, sizes.blocks, max(sizes.lengths))
    shared["positions"] = "sinusoidal" if is_count else kind
    model = seeded_model(small_transformer(shared, sizes.width), seed)
    if is_count:
        for name, table in model.named_buffers():
            if name.endswith(".position"):
                table.copy_(count_table(*table.shape, in_one=kind != "count"))
    return model


def count_table(length: int, width: int, *, in_one: bool) -> torch.Tensor:
    """Return a table of positions: the number of the position in every dimension, or in the first one only."""
    table = torch.arange(float(length))[:, None].repeat(1, width)
    if in_one:
        table[:, 1:] = 0.0
    return table


def measure(task: str, sizes: PositionSizes, seed: int, show: Show) -> ResultTable:
    """Return the share of sentences without an error by kind and length, in per cent."""
    learner = Learner(Task(task, *sizes.trained).batch, StudyRecipe(sizes.steps, warm_up=sizes.steps // 6), seed, show)
    tests = [held_out(Task(task, length, length).batch, sizes.num_test, seed) for length in sizes.lengths]
    rows: Rows = []
    for kind in KINDS:
        model = make_model(kind, sizes, seed)
        learner.train(model, f"{task}, {kind}")
        rows.append((kind, num_parameters(model.config), *(100 * share_right(model, test) for test in tests)))
    shortest, longest = sizes.trained
    return ResultTable(
        f"{task}: sentences without an error (%), by length; trained on {shortest} to {longest} words",
        ("positions", "parameters", *(f"{length} words" for length in sizes.lengths)),
        rows,
    )

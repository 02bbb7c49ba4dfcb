"""Kinds of positions, trained on short sentences and tested on long ones.

Sorting needs no positions in the encoder, for the answer is the same in every order of the words. Reversing does:
without positions, the encoder reads a bag of words.
"""

from dataclasses import dataclass

import torch

from clearhead.model import ModelConfig, Transformer
from clearhead.studies.experiment import Cell, Measurement, ResultTable
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, share_right
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import Task

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
    tables = tuple(measure(task, sizes, seed, show) for task in _TASKS)
    return Measurement("", tables)


def make_model(kind: str, sizes: PositionSizes, seed: int) -> Transformer:
    """Return a model with a kind of positions, and otherwise the same random weights for the same seed."""
    torch.manual_seed(seed)
    config = ModelConfig(
        source_vocabulary=Task("copy", 1, 1).vocabulary,
        encoder_blocks=sizes.blocks,
        decoder_blocks=sizes.blocks,
        d_model=sizes.width,
        d_ff=2 * sizes.width,
        num_heads=4,
        dropout=0.0,
        positions="sinusoidal" if kind.startswith("count") else kind,
        max_length=max(sizes.lengths) + 1,
    )
    model = Transformer(config)
    if kind.startswith("count"):
        for stack in (model.encoder, model.decoder):
            assert stack is not None
            assert stack.position is not None
            stack.position.copy_(count_table(*stack.position.shape, in_one=kind != "count"))
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
    rows: list[tuple[Cell, ...]] = []
    for kind in KINDS:
        model = make_model(kind, sizes, seed)
        learner.train(model, f"{task}, {kind}")
        num_parameters = sum(parameter.numel() for parameter in model.parameters())
        rows.append((kind, num_parameters, *(100 * share_right(model, test) for test in tests)))
    shortest, longest = sizes.trained
    return ResultTable(
        f"{task}: sentences without an error (%), by length; trained on {shortest} to {longest} words",
        ("positions", "parameters", *(f"{length} words" for length in sizes.lengths)),
        tuple(rows),
    )

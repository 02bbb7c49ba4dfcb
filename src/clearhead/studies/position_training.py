"""Kinds of positions, trained on short sentences and tested on long ones.

Sorting needs no positions in the encoder, for the answer is the same in every order of the words. Reversing does:
without positions, the encoder reads a bag of words.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from clearhead.experiments.colours import BLUE, GREEN, GREY, INK, VERMILION
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import ModelConfig, Transformer
from clearhead.studies.learning import Learner, Show, StudyRecipe, held_out, share_right, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import Task
from clearhead.worksheet.arrays import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "position-training"
SIZE = (11.0, 4.8)
_STYLES = {  # kind -> colour and style of its curve
    "none": (GREY, "s-"),
    "count": (INK, "v--"),
    "count in one dimension": (INK, "^-"),
    "sinusoidal": (BLUE, "o-"),
    "learned": (VERMILION, "D-"),
    "rotary": (GREEN, "P-"),
}
KINDS = tuple(_STYLES)
_TASKS = ("reverse", "sort")
_LEARNED = 0.9  # of the sentences


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


def run(seed: int, sizes: PositionSizes = SMALL, show: Show = silent) -> Experiment:
    """Train a model with each kind of positions on each task, and test it on every length."""
    shares = {(task, kind): np.zeros(len(sizes.lengths)) for task in _TASKS for kind in KINDS}
    counts = {}
    for number, (task, kind) in enumerate(shares, start=1):
        model = make_model(kind, sizes, seed)
        counts[kind] = sum(parameter.numel() for parameter in model.parameters())
        learner = Learner(
            Task(task, *sizes.trained).batch, StudyRecipe(sizes.steps, warm_up=sizes.steps // 6), seed, show
        )
        learner.train(model, f"model {number} of {len(shares)}, {task}, {kind}")
        for index, length in enumerate(sizes.lengths):
            test = held_out(Task(task, length, length).batch, sizes.num_test, seed)
            shares[task, kind][index] = share_right(model, test)
    tables = tuple(table_of(task, {kind: shares[task, kind] for kind in KINDS}, counts, sizes) for task in _TASKS)
    arrays = {f"{task} {kind}": share for (task, kind), share in shares.items()}
    arrays["lengths"] = np.array(sizes.lengths, dtype=np.float64)
    arrays["longest trained"] = np.array(float(sizes.trained[1]))
    claim = (
        "Self-attention does not know the order of words without positions. A count is unbounded; sines of many "
        "frequencies are bounded, also at positions beyond those of training."
    )
    finding = describe(shares, sizes)
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, finding, tables, arrays)


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


def table_of(task: str, shares: dict[str, Array], counts: dict[str, int], sizes: PositionSizes) -> ResultTable:
    """Return the shares of one task by kind and length, in per cent."""
    rows: list[tuple[Cell, ...]] = [
        (kind, counts[kind], *(100 * float(share) for share in shares[kind])) for kind in KINDS
    ]
    shortest, longest = sizes.trained
    return ResultTable(
        f"{task}: sentences without an error (%), by length; trained on {shortest} to {longest} words",
        ("positions", "parameters", *(f"{length} words" for length in sizes.lengths)),
        tuple(rows),
    )


def describe(shares: dict[tuple[str, str], Array], sizes: PositionSizes) -> str:
    """Return the finding."""
    longest = sizes.trained[1]
    trained = [index for index, length in enumerate(sizes.lengths) if length <= longest]
    longer = [index for index, length in enumerate(sizes.lengths) if length > longest]
    sentences = []
    for task in _TASKS:
        learned = [kind for kind in KINDS if float(shares[task, kind][trained].mean()) >= _LEARNED]
        failed = [kind for kind in KINDS if kind not in learned]
        means = [f"{kind} {float(shares[task, kind][trained].mean()):.0%}" for kind in failed]
        sentences.append(
            f"To {task}, {listed(learned) or 'no kind'} reach{'es' if len(learned) < 2 else ''} {_LEARNED:.0%} on the "
            f"lengths of training" + (f", but not {listed(means)}." if failed else ".")
        )
        if longer:
            nearest = longer[0]
            at_once = {kind: float(shares[task, kind][nearest]) for kind in KINDS}
            best = max(KINDS, key=at_once.__getitem__)
            sentences.append(
                f"With {sizes.lengths[nearest]} words the best kind is {best}: {at_once[best]:.0%} (sinusoidal "
                f"{at_once['sinusoidal']:.0%}); with {sizes.lengths[-1]} words no kind exceeds "
                f"{max(float(shares[task, kind][-1]) for kind in KINDS):.0%}."
            )
    difference = max(float(np.max(np.abs(shares[task, "count"] - shares[task, "none"]))) for task in _TASKS)
    if difference < 0.02:
        sentences.append(
            "A count in every dimension is no better than no positions: layer norm subtracts the mean of a token's "
            "numbers, and the count with it."
        )
    return " ".join(sentences)


def listed(names: list[str]) -> str:
    """Return names as an enumeration."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the share of right sentences against the length, for both tasks."""
    plots = figure.subplots(1, 2, sharey=True)
    lengths, longest = result.arrays["lengths"], float(result.arrays["longest trained"])
    for axes, task in zip(plots, _TASKS, strict=True):
        axes.axvspan(lengths[0] - 0.5, longest + 0.5, color=GREY, alpha=0.15, linewidth=0)
        axes.text(lengths[0] - 0.3, 104, "trained", fontsize=11, color=GREY, va="bottom")
        for kind, (colour, style) in _STYLES.items():
            axes.plot(lengths, 100 * result.arrays[f"{task} {kind}"], style, color=colour, label=kind, linewidth=2)
        axes.set(title=task, xlabel="words of a sentence", xlim=(lengths[0] - 0.5, lengths[-1] + 0.5), ylim=(-3, 114))
        axes.set_yticks([0, 50, 100])
    plots[0].set_ylabel("sentences without an error (%)")
    plots[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

"""Recurrent models without and with attention, convolutional models and Transformers, on sentences of several lengths.

All variants have nearly the same number of parameters and copy the same random sentences. A recurrent decoder without
attention has to keep a complete sentence in one state of fixed size. The full form, on Europarl, is
benchmarks/readers.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from clearhead.decoding.search.greedy import greedy
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import Batch, TrainableModel, build_model
from clearhead.studies.learning import (
    Learner,
    LearningCurve,
    Show,
    StudyRecipe,
    held_out,
    on_device,
    set_training,
    silent,
)
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import EOS, PAD, Task
from clearhead.studies.variants import VARIANTS, matched_config, num_parameters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "readers"
SIZE = (12.5, 5.4)
_COMPARED = tuple(
    name for name in VARIANTS if name != "transformer-packed"
)  # packing changes the batches, not the model
_WITHOUT = "recurrent-no-attention"


@dataclass(frozen=True)
class ReaderSizes:
    """The sizes of the models and of the data."""

    variants: tuple[str, ...] = _COMPARED
    lengths: tuple[int, ...] = (4, 8, 12, 16, 20, 24)  # words of the sentences that are tested
    num_tested: int = 100  # sentences of each length
    steps: int = 600
    width: int = 64  # of the Transformer
    blocks: int = 2

    @property
    def task(self) -> Task:
        """Sentences of all lengths from the shortest to the longest, to be copied."""
        return Task("copy", self.lengths[0], self.lengths[-1])


SMALL = ReaderSizes()


@dataclass(frozen=True)
class ReaderResult:
    """What one variant has learned: its training, and the shares of right words and sentences for every length."""

    name: str
    num_parameters: int
    curve: LearningCurve
    num_tokens: int  # target tokens of the training
    words: tuple[float, ...]
    sentences: tuple[float, ...]

    @property
    def tokens_per_second(self) -> float:
        """The speed of the training."""
        return self.num_tokens / self.curve.seconds[-1]


def run(seed: int, sizes: ReaderSizes = SMALL, show: Show = silent) -> Experiment:
    """Train all variants on the same sentences, and test each for every length."""
    results = [measure(name, sizes, seed, show) for name in sizes.variants]
    task = sizes.task
    summary: list[tuple[Cell, ...]] = [
        (
            VARIANTS[one.name].title,
            one.num_parameters,
            one.curve.final_loss(),
            one.tokens_per_second,
            float(np.mean(one.sentences)),
        )
        for one in results
    ]
    tables = (
        ResultTable(
            f"copying {task.shortest} to {task.longest} random words, after {sizes.steps} updates",
            ("variant", "parameters", "final loss", "target tokens/s", "sentences right"),
            tuple(summary),
        ),
        ResultTable(
            f"share of right words, by the length of the sentence ({sizes.num_tested} new sentences each)",
            ("variant", *(f"{length} words" for length in sizes.lengths)),
            tuple((VARIANTS[one.name].title, *one.words) for one in results),
        ),
    )
    arrays = {
        "lengths": np.array(sizes.lengths, dtype=np.float64),
        **{f"words {one.name}": np.array(one.words) for one in results},
        **{f"losses {one.name}": np.array(one.curve.losses) for one in results},
    }
    claim = (
        "A recurrent encoder-decoder without attention starts to miss words in long sentences, because everything has "
        "to pass through one state; attention sees all words of a sentence."
    )
    finding = describe({one.name: one for one in results}, sizes.lengths)
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, finding, tables, arrays)


def measure(name: str, sizes: ReaderSizes, seed: int, show: Show) -> ReaderResult:
    """Train one variant and test it."""
    task, variant = sizes.task, VARIANTS[name]
    shared: dict[str, Any] = {
        "source_vocabulary": task.vocabulary,
        "encoder_blocks": sizes.blocks,
        "decoder_blocks": sizes.blocks,
        "dropout": 0.0,
        "max_length": task.longest + 1,
    }
    config = matched_config(variant, shared, sizes.width)
    torch.manual_seed(seed)
    model = build_model(config)
    num_tokens = 0

    def counted(number: int, random: torch.Generator) -> Batch:
        nonlocal num_tokens
        batch = task.batch(number, random)
        assert batch.target is not None
        num_tokens += int((batch.target != PAD).sum())
        return batch

    recipe = StudyRecipe(sizes.steps, warm_up=max(1, sizes.steps // 10))
    curve = Learner(counted, recipe, seed, show).train(model, variant.title)
    batches = [held_out(Task("copy", length, length).batch, sizes.num_tested, seed) for length in sizes.lengths]
    shares = [right_words(model, batch) for batch in batches]
    words, sentences = tuple(share[0] for share in shares), tuple(share[1] for share in shares)
    return ReaderResult(name, num_parameters(config), curve, num_tokens, words, sentences)


@torch.no_grad()
def right_words(model: TrainableModel, batch: Batch) -> tuple[float, float]:
    """Return the share of words that greedy search writes at the right place, and the share of right sentences."""
    set_training(model, is_training=False)
    batch = on_device(batch, model)
    assert batch.source is not None
    assert batch.target is not None
    length = batch.target.shape[1]
    ids = greedy(model, batch.source, length)
    ids = nn.functional.pad(ids, (0, length - ids.shape[1]), value=PAD)
    is_right, is_word = ids == batch.target, (batch.target != PAD) & (batch.target != EOS)
    return float(is_right[is_word].double().mean()), float(is_right.all(dim=1).double().mean())


def describe(results: Mapping[str, ReaderResult], lengths: Sequence[int]) -> str:
    """Return the finding: what each variant loses from the shortest to the longest sentences."""
    sentences = []
    for name, one in results.items():
        if name == _WITHOUT:
            fall = "falls" if one.words[-1] < one.words[0] - 0.1 else "does not fall"
            sentences.append(
                f"Without attention, the share of right words {fall}: {one.words[0]:.2f} for {lengths[0]} words and "
                f"{one.words[-1]:.2f} for {lengths[-1]}."
            )
    others = [one for name, one in results.items() if name != _WITHOUT]
    if others:
        ends = ", ".join(f"{VARIANTS[one.name].title} {one.words[-1]:.2f}" for one in others)
        sentences.append(f"The others write this share of the words right for {lengths[-1]} words: {ends}.")
    fastest = max(results.values(), key=lambda one: one.tokens_per_second)
    slowest = min(results.values(), key=lambda one: one.tokens_per_second)
    sentences.append(
        f"The fastest in training is {VARIANTS[fastest.name].title} ({fastest.tokens_per_second:,.0f} tokens/s), the "
        f"slowest {VARIANTS[slowest.name].title} ({slowest.tokens_per_second:,.0f} tokens/s)."
    )
    return " ".join(sentences)


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the share of right words by length, and the loss by update."""
    words, losses = figure.subplots(1, 2)
    for name, variant in VARIANTS.items():
        if f"words {name}" not in result.arrays:
            continue
        style: dict[str, Any] = {"color": variant.colour, "linestyle": variant.line, "label": variant.title}
        words.plot(result.arrays["lengths"], result.arrays[f"words {name}"], marker="o", markersize=4, **style)
        loss = result.arrays[f"losses {name}"]
        window = max(1, len(loss) // 40)  # a mean over neighbours, because the loss of single batches jumps
        smooth = [float(loss[max(0, end - window) : end].mean()) for end in range(window, len(loss) + 1, window)]
        losses.plot(np.arange(window, len(loss) + 1, window), smooth, **style)
    words.set(title="Words at the right place", xlabel="words of the sentence", ylabel="share", ylim=(0, 1.03))
    words.set_xticks(result.arrays["lengths"])
    losses.set(title="Training", xlabel="update", ylabel="loss per token (nats)")
    losses.set_ylim(bottom=0)
    losses.set_xlim(left=0)
    figure.legend(*losses.get_legend_handles_labels(), loc="outside lower center", ncols=4)

"""Recurrent models without and with attention, convolutional models and Transformers, on sentences of several lengths.

All variants have nearly the same number of parameters and copy the same random sentences. A recurrent decoder without
attention has to keep a complete sentence in one state of fixed size. The full form, on Europarl, is
benchmarks/readers.py.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from clearhead.decoding.search.greedy import greedy
from clearhead.model import Batch, SequenceModel, build_model
from clearhead.studies.experiment import Cell, Measurement, ResultTable
from clearhead.studies.learning import (
    Learner,
    Show,
    StudyRecipe,
    held_out,
    on_device,
    set_training,
)
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import EOS, PAD, Task
from clearhead.studies.variants import VARIANTS, matched_config, num_parameters

CLAIM = (
    "A recurrent encoder-decoder without attention starts to miss words in long sentences, because everything has "
    "to pass through one state; attention sees all words of a sentence."
)
_COMPARED = tuple(
    name for name in VARIANTS if name != "transformer-packed"
)  # packing changes the batches, not the model

PANELS = (Panel("Words at the right place", by=("variant",), tables={1: ""}, label="share"),)


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
    """The rows of one variant in the two tables."""

    summary: tuple[Cell, ...]
    words: tuple[float, ...]


def run(seed: int, sizes: ReaderSizes, show: Show) -> Measurement:
    """Train all variants on the same sentences, and test each for every length."""
    results = [measure(name, sizes, seed, show) for name in sizes.variants]
    titles = [VARIANTS[name].title for name in sizes.variants]
    task = sizes.task
    summary = ResultTable(
        f"copying {task.shortest} to {task.longest} random words, after {sizes.steps} updates",
        ("variant", "parameters", "final loss", "target tokens/s", "sentences right"),
        tuple((title, *result.summary) for title, result in zip(titles, results, strict=True)),
    )
    words = ResultTable(
        f"share of right words, by the length of the sentence ({sizes.num_tested} new sentences each)",
        ("variant", *(f"{length} words" for length in sizes.lengths)),
        tuple((title, *result.words) for title, result in zip(titles, results, strict=True)),
    )
    return Measurement("", (summary, words))


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
    words, sentences = tuple(share[0] for share in shares), [share[1] for share in shares]
    speed = num_tokens / curve.seconds[-1]
    return ReaderResult((num_parameters(config), curve.final_loss(), speed, float(np.mean(sentences))), words)


@torch.no_grad()
def right_words(model: SequenceModel, batch: Batch) -> tuple[float, float]:
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

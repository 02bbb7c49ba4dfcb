"""How far a gradient reaches: from the loss of the last word back to the embedding of the first one.

Two tasks need exactly that. An encoder-decoder reverses a sentence, so that its last word is the first of the source. A
language model reads random words and then writes the first one again. The words of a sentence are all different, so
the gradient of a word's embedding is the gradient at its place.
"""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.model import Batch, Loss, ModelConfig, SequenceModel, build_model
from clearhead.studies.experiment import Cell, Measurement, ResultTable
from clearhead.studies.learning import BatchMaker, Learner, LossOf, Show, StudyRecipe, held_out, set_training
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import EOS, FIRST
from clearhead.studies.variants import MAIN, VARIANTS, matched_config

CLAIM = (
    "Recurrent models may forget the past and suffer from vanishing gradients, and convolutions see only near "
    "words; attention connects all words directly."
)
KINDS = ("translation", "language model")
MEASURES = ("norm before training", "share before training", "share after training", "right answers")
_SIDES = {"translation": "encoder", "language model": "decoder"}  # whose embeddings are read
_VARIANTS = {
    "translation": MAIN,
    "language model": tuple(name for name in MAIN if name != "recurrent-no-attention"),
}
_ATTENTION_IS_FOR_SOURCES = {"recurrent-scaled": "recurrent"}  # a language model has none


_TITLES = {
    "translation": "reversing a sentence: loss of the last word, embedding of the first source word",
    "language model": "writing the first word again: loss of the last word, embedding of the first word",
}


def _panel(number: int, measure: str, log: str = "") -> Panel:
    title = f"{KINDS[number].capitalize()}: {measure}"
    return Panel(title, by=("variant",), only=measure, tables={number: ""}, log=log, label=measure.split()[0])


PANELS = (
    *(_panel(0, MEASURES[0], "y"), _panel(0, MEASURES[2])),
    *(_panel(1, MEASURES[0], "y"), _panel(1, MEASURES[2])),
)


@dataclass(frozen=True)
class ReachSizes:
    """The sizes of the models and of the data."""

    lengths: tuple[int, ...] = (4, 8, 12, 16, 20, 24)  # words of a sentence
    num_words: int = 32  # of the vocabulary, at least as many as the longest sentence has
    num_measured: int = 8  # sentences whose gradients are averaged
    num_tested: int = 64  # sentences for the share of right answers
    steps: int = 500
    width: int = 64  # of the Transformer
    blocks: int = 4


SMALL = ReachSizes()


def run(seed: int, sizes: ReachSizes, show: Show) -> Measurement:
    """Measure gradients of all variants before and after training."""
    columns = ("variant", "measure", *(f"{length} words" for length in sizes.lengths))
    tables = []
    for kind in KINDS:
        rows = chain.from_iterable(measure(name, kind, sizes, seed, show) for name in _VARIANTS[kind])
        tables.append(ResultTable(_TITLES[kind], columns, tuple(rows)))
    return Measurement("", tuple(tables))


def measure(name: str, kind: str, sizes: ReachSizes, seed: int, show: Show) -> list[tuple[Cell, ...]]:
    """Train one variant; return its rows: the gradients before and after, and the answers after."""
    config = make_config(name, kind, sizes)
    torch.manual_seed(seed)
    model = build_model(config)
    norms = [gradient_norms(model, kind, length, sizes, seed) for length in sizes.lengths]
    before = [one[0] for one in norms], [one[1] for one in norms]
    learner = Learner(batches_of(kind, sizes), StudyRecipe(sizes.steps, warm_up=max(1, sizes.steps // 10)), seed, show)
    loss_of: LossOf | None = None if kind == "translation" else lambda batch: loss_of_last(model, batch)
    learner.train(model, f"{kind}: {VARIANTS[name].title}", loss_of)
    after = [gradient_norms(model, kind, length, sizes, seed)[1] for length in sizes.lengths]
    right = [right_answers(model, make_batch(kind, length, sizes), sizes.num_tested, seed) for length in sizes.lengths]
    title = VARIANTS[name].title
    if kind == "language model":
        title = _ATTENTION_IS_FOR_SOURCES.get(name, title)
    return [(title, row, *values) for row, values in zip(MEASURES, (*before, after, right), strict=True)]


def make_config(name: str, kind: str, sizes: ReachSizes) -> ModelConfig:
    """Return the config of a variant. Embeddings are not tied, so that only reading a word changes its gradient."""
    shared: dict[str, Any] = {
        "shape": "encoder-decoder" if kind == "translation" else "decoder",
        "source_vocabulary": FIRST + sizes.num_words,
        "encoder_blocks": sizes.blocks,
        "decoder_blocks": sizes.blocks,
        "dropout": 0.0,
        "tied": "none",
        "max_length": sizes.lengths[-1] + 1,
    }
    return matched_config(VARIANTS[name], shared, sizes.width)


def batches_of(kind: str, sizes: ReachSizes) -> BatchMaker:
    """Return a function that makes batches, each of sentences of one random length."""

    def make(number: int, random: torch.Generator) -> Batch:
        length = int(torch.randint(sizes.lengths[0], sizes.lengths[-1] + 1, (), generator=random))
        return make_batch(kind, length, sizes)(number, random)

    return make


def make_batch(kind: str, length: int, sizes: ReachSizes) -> BatchMaker:
    """Return a function that makes batches of sentences of this length, whose words are all different."""

    def make(number: int, random: torch.Generator) -> Batch:
        order = torch.rand((number, sizes.num_words), generator=random).argsort(dim=1)
        words = FIRST + order[:, :length]
        if kind == "language model":
            return Batch(target=torch.cat((words, words[:, :1]), dim=1), is_padded=False)
        end = torch.full_like(words[:, :1], EOS)
        source, target = torch.cat((words, end), dim=1), torch.cat((words.flip(1), end), dim=1)
        return Batch(source, target, is_padded=False)

    return make


def last_word(batch: Batch) -> int:
    """Return the place of the target's last word: before the end token of a translation."""
    assert batch.target is not None
    return batch.target.shape[1] - (1 if batch.source is None else 2)


def last_logits(model: SequenceModel, batch: Batch) -> Tensor:
    """Return the logits (B, V) of the last word."""
    place = last_word(batch)
    return model.project(model.states(batch)[:, place : place + 1])[:, 0]


def loss_of_last(model: SequenceModel, batch: Batch) -> Loss:
    """Return the loss of the last word alone."""
    assert batch.target is not None
    total = F.cross_entropy(last_logits(model, batch), batch.target[:, last_word(batch)], reduction="sum")
    return Loss(total, torch.tensor(len(batch.target)))


def gradient_norms(model: SequenceModel, kind: str, length: int, sizes: ReachSizes, seed: int) -> tuple[float, float]:
    """Return the norm of the gradient at the first word, and its share of the norm at all words, averaged."""
    set_training(model, is_training=False)
    table = dict(model.named_parameters())[f"{_SIDES[kind]}.embedding.weight"]
    batch = held_out(make_batch(kind, length, sizes), sizes.num_measured, seed)
    ids = batch.target if batch.source is None else batch.source
    assert ids is not None
    norms, shares = [], []
    for row in range(sizes.num_measured):
        one = batch.changed(lambda tensor, row=row: tensor[row : row + 1])  # type: ignore[misc]
        (gradient,) = torch.autograd.grad(loss_of_last(model, one).total, table)
        by_place = gradient[ids[row, :length]].norm(dim=1)
        norms.append(float(by_place[0]))
        shares.append(float(by_place[0] / by_place.norm()))
    return float(np.mean(norms)), float(np.mean(shares))


@torch.no_grad()
def right_answers(model: SequenceModel, make: BatchMaker, number: int, seed: int) -> float:
    """Return how often the last word is the most likely one, after the right words."""
    set_training(model, is_training=False)
    batch = held_out(make, number, seed)
    assert batch.target is not None
    return float((last_logits(model, batch).argmax(dim=1) == batch.target[:, last_word(batch)]).double().mean())

"""How far a gradient reaches: from the loss of the last word back to the embedding of the first one.

Two tasks need exactly that. An encoder-decoder reverses a sentence, so that its last word is the first of the source. A
language model reads random words and then writes the first one again. The words of a sentence are all different, so
the gradient of a word's embedding is the gradient at its place.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.model import Batch, Loss, SequenceModel
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import BatchMaker, Learner, Show, StudyRecipe, held_out, share
from clearhead.studies.picture import Panel
from clearhead.studies.tasks import EOS, FIRST
from clearhead.studies.variants import LANGUAGE_MODELS, MAIN, VARIANTS, matched_config, seeded_model, shared_settings

CLAIM = (
    "Recurrent models may forget the past and suffer from vanishing gradients, and convolutions see only near "
    "words; attention connects all words directly."
)
KINDS = {
    "translation": "reversing a sentence: loss of the last word, embedding of the first source word",
    "language model": "writing the first word again: loss of the last word, embedding of the first word",
}
MEASURES = ("norm before training", "share before training", "share after training", "right answers")
_TITLES = {
    "translation": {name: VARIANTS[name].title for name in MAIN},
    "language model": LANGUAGE_MODELS,
}
PANELS = (
    Panel("Translation: norm before training", by=("variant",), only=MEASURES[0], log="y", label="norm"),
    Panel("Translation: share after training", by=("variant",), only=MEASURES[2], label="share"),
    Panel(
        "Language model: norm before training",
        by=("variant",),
        only=MEASURES[0],
        tables={1: ""},
        log="y",
        label="norm",
    ),
    Panel("Language model: share after training", by=("variant",), only=MEASURES[2], tables={1: ""}, label="share"),
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
    for kind, title in KINDS.items():
        rows: Rows = []
        for name, variant in _TITLES[kind].items():
            rows += ((variant, *row) for row in measure(name, kind, sizes, seed, show))
        tables.append(ResultTable(title, columns, rows))
    return Measurement(tuple(tables))


def measure(name: str, kind: str, sizes: ReachSizes, seed: int, show: Show) -> Rows:
    """Train one variant; return its measures at every length: the gradients before and after, and the answers after."""
    model = make_model(name, kind, sizes, seed)
    before = [gradient_norms(model, kind, length, sizes, seed) for length in sizes.lengths]
    learner = Learner(batches_of(kind, sizes), StudyRecipe(sizes.steps, warm_up=max(1, sizes.steps // 10)), seed, show)
    loss_of = None if kind == "translation" else partial(loss_of_last, model)
    learner.train(model, f"{kind}: {VARIANTS[name].title}", loss_of)
    after = [gradient_norms(model, kind, length, sizes, seed)[1] for length in sizes.lengths]
    right = [right_answers(model, make_batch(kind, length, sizes), sizes.num_tested, seed) for length in sizes.lengths]
    return [(name, *values) for name, values in zip(MEASURES, (*zip(*before, strict=True), after, right), strict=True)]


def make_model(name: str, kind: str, sizes: ReachSizes, seed: int) -> SequenceModel:
    """Return an untrained variant. Embeddings are not tied, so that only reading a word changes its gradient."""
    shared = shared_settings(FIRST + sizes.num_words, sizes.blocks, sizes.lengths[-1])
    shape = "encoder-decoder" if kind == "translation" else "decoder"
    return seeded_model(matched_config(VARIANTS[name], {**shared, "shape": shape, "tied": "none"}, sizes.width), seed)


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


def last_word(model: SequenceModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return the logits (B, V) of the target's last word, before the end token of a translation, and this word (B,)."""
    assert batch.target is not None
    place = batch.target.shape[1] - (1 if batch.source is None else 2)
    return model.project(model.states(batch)[:, place : place + 1])[:, 0], batch.target[:, place]


def loss_of_last(model: SequenceModel, batch: Batch) -> Loss:
    """Return the loss of the last word alone."""
    logits, words = last_word(model, batch)
    return Loss(F.cross_entropy(logits, words, reduction="sum"), torch.tensor(len(words)))


def gradient_norms(model: SequenceModel, kind: str, length: int, sizes: ReachSizes, seed: int) -> tuple[float, float]:
    """Return the norm of the gradient at the first word, and its share of the norm at all words, averaged."""
    table = model.get_parameter(f"{'encoder' if kind == 'translation' else 'decoder'}.embedding.weight")
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
    logits, words = last_word(model, held_out(make, number, seed))
    return share(logits.argmax(dim=1) == words)

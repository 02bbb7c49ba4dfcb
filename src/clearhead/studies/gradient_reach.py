"""How far a gradient reaches: from the loss of the last word back to the embedding of the first one.

Two tasks need exactly that. An encoder-decoder reverses a sentence, so that its last word is the first of the source. A
language model reads random words and then writes the first one again. The words of a sentence are all different, so
the gradient of a word's embedding is the gradient at its place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.experiments.colours import GREEN
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import Batch, Loss, ModelConfig, TrainableModel, build_model
from clearhead.studies.learning import BatchMaker, Learner, LossOf, Show, StudyRecipe, held_out, set_training, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.tasks import EOS, FIRST
from clearhead.studies.variants import MAIN, VARIANTS, matched_config

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "gradient-reach"
SIZE = (12.5, 8.8)
KINDS = ("translation", "language model")
MEASURES = ("norm before training", "share before training", "share after training", "right answers")
_SIDES = {"translation": "encoder", "language model": "decoder"}  # whose embeddings are read
_VARIANTS = {
    "translation": MAIN,
    "language model": tuple(name for name in MAIN if name != "recurrent-no-attention"),
}
_ATTENTION_IS_FOR_SOURCES = {"recurrent-scaled": "recurrent"}  # a language model has none


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


@dataclass(frozen=True)
class GradientReach:
    """The measurements of one variant for every length, by the names in MEASURES, and its receptive field."""

    variant: str
    kind: str
    field: int | None  # words that a convolutional language model sees; None: no limit
    values: Mapping[str, tuple[float, ...]]

    @property
    def title(self) -> str:
        """What the variant is called."""
        if self.kind == "language model" and self.variant in _ATTENTION_IS_FOR_SOURCES:
            return _ATTENTION_IS_FOR_SOURCES[self.variant]
        return VARIANTS[self.variant].title


def run(seed: int, sizes: ReachSizes = SMALL, show: Show = silent) -> Experiment:
    """Measure gradients of all variants before and after training."""
    results = [measure(name, kind, sizes, seed, show) for kind in KINDS for name in _VARIANTS[kind]]
    tables = tuple(_table(kind, [one for one in results if one.kind == kind], sizes) for kind in KINDS)
    arrays = {"lengths": np.array(sizes.lengths, dtype=np.float64)}
    for one in results:
        for name, values in one.values.items():
            arrays[f"{one.kind}, {one.variant}, {name}"] = np.array(values)
    arrays["field"] = np.array([one.field for one in results if one.field is not None], dtype=np.float64)
    claim = (
        "Recurrent models may forget the past and suffer from vanishing gradients, and convolutions see only near "
        "words; attention connects all words directly."
    )
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, describe(results, sizes), tables, arrays)


def _table(kind: str, results: Sequence[GradientReach], sizes: ReachSizes) -> ResultTable:
    titles = {
        "translation": "reversing a sentence: loss of the last word, embedding of the first source word",
        "language model": "writing the first word again: loss of the last word, embedding of the first word",
    }
    rows: list[tuple[Cell, ...]] = [(one.title, name, *one.values[name]) for one in results for name in MEASURES]
    return ResultTable(
        titles[kind], ("variant", "measure", *(f"{length} words" for length in sizes.lengths)), tuple(rows)
    )


def describe(results: Sequence[GradientReach], sizes: ReachSizes) -> str:
    """Return the finding: how much of the gradient arrives at the longest distance."""
    first, last = sizes.lengths[0], sizes.lengths[-1]
    sentences = []
    for kind in KINDS:
        chosen = [one for one in results if one.kind == kind]
        falls = ", ".join(f"{one.title} {_fall(one.values['norm before training'])}" for one in chosen)
        right = ", ".join(f"{one.title} {one.values['right answers'][-1]:.2f}" for one in chosen)
        sentences.append(
            f"{kind.capitalize()}, {first} to {last} words: before training, the norm falls to this share: {falls}; "
            f"after training, this share of answers is right for {last} words: {right}."
        )
    for one in results:
        if one.field is not None:
            sentences.append(
                f"The convolutional language model sees {one.field} words: farther words have a gradient of exactly 0, "
                f"and guessing among {sizes.num_words} words is right in {1 / sizes.num_words:.2f}."
            )
    return " ".join(sentences)


def _fall(norms: Sequence[float]) -> str:
    """Return the last norm as a share of the first."""
    return "exactly 0" if norms[-1] == 0.0 else f"{norms[-1] / max(norms[0], 1e-30):.2g}"


def measure(name: str, kind: str, sizes: ReachSizes, seed: int, show: Show) -> GradientReach:
    """Train one variant; measure its gradients before and after, and its answers after."""
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
    values = dict(zip(MEASURES, (tuple(one) for one in (*before, after, right)), strict=True))
    return GradientReach(name, kind, receptive_field(config), values)


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


def receptive_field(config: ModelConfig) -> int | None:
    """Return how many earlier words a convolutional language model sees: each layer adds kernel - 1 to the first."""
    if config.architecture != "convolutional" or config.shape != "decoder":
        return None
    return (config.kernel - 1) * config.decoder_blocks + 1


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


def last_logits(model: TrainableModel, batch: Batch) -> Tensor:
    """Return the logits (B, V) of the last word."""
    place = last_word(batch)
    return model.project(model.states(batch)[:, place : place + 1])[:, 0]


def loss_of_last(model: TrainableModel, batch: Batch) -> Loss:
    """Return the loss of the last word alone."""
    assert batch.target is not None
    total = F.cross_entropy(last_logits(model, batch), batch.target[:, last_word(batch)], reduction="sum")
    return Loss(total, torch.tensor(len(batch.target)))


def gradient_norms(model: TrainableModel, kind: str, length: int, sizes: ReachSizes, seed: int) -> tuple[float, float]:
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
def right_answers(model: TrainableModel, make: BatchMaker, number: int, seed: int) -> float:
    """Return how often the last word is the most likely one, after the right words."""
    set_training(model, is_training=False)
    batch = held_out(make, number, seed)
    assert batch.target is not None
    return float((last_logits(model, batch).argmax(dim=1) == batch.target[:, last_word(batch)]).double().mean())


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the norm before training and the share after training, for both kinds of models."""
    axes = figure.subplots(2, 2)
    lengths = result.arrays["lengths"]
    for row, kind in enumerate(KINDS):
        for column, name in enumerate(("norm before training", "share after training")):
            plot = axes[row, column]
            for variant in _VARIANTS[kind]:
                values = result.arrays[f"{kind}, {variant}, {name}"]
                is_shown = values > 0.0
                title = GradientReach(variant, kind, None, {}).title
                look = VARIANTS[variant]
                plot.plot(lengths[is_shown], values[is_shown], "o-", color=look.colour, label=title)
            plot.set(title=f"{kind.capitalize()}: {name}", xlabel="words from the loss back to the first word")
            if column == 0:
                plot.set_yscale("log")
            else:
                plot.set_ylim(0, 1.03)
            plot.set_xticks(lengths)
            if kind == "language model":
                field = float(result.arrays["field"][0])
                plot.axvline(field + 0.5, color=GREEN, linestyle=":", linewidth=1.5)
                plot.annotate("convolutional: exactly 0 →", (field + 0.7, 0.04), xycoords=("data", "axes fraction"),
                              color=GREEN, fontsize=11)  # fmt: skip
        axes[row, 0].set_ylabel("norm of the gradient")
        axes[row, 1].set_ylabel("share of the norm at all words")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)

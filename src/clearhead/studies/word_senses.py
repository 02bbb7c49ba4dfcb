"""Static and contextual vectors of ambiguous words in trained encoders, on a generated translation task.

A cue elsewhere in the sentence decides the sense of an ambiguous word. The vectors of that word are taken before the
first layer of the encoder, where they are static, and after every layer. The full form, on words of Europarl, is
benchmarks/word_senses.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clearhead.experiments.colours import GREEN, GREY
from clearhead.experiments.experiment import Cell, Experiment, ResultTable
from clearhead.model import ModelConfig, TrainableModel, build_model
from clearhead.studies.encoder_states import encoder_states, word_vectors
from clearhead.studies.learning import Learner, Show, StudyRecipe, set_training, silent
from clearhead.studies.registry import STUDIES
from clearhead.studies.sense_measures import linear_senses, nearest_senses, sense_cosines
from clearhead.studies.sense_task import SENSES, SenseTask
from clearhead.studies.variants import MAIN, VARIANTS, matched_config, num_parameters
from clearhead.worksheet.arrays import Array, Ids

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "word-senses"
SIZE = (15.0, 5.6)
_CONVOLUTIONAL = "convolutional"
_TASK = SenseTask()


@dataclass(frozen=True)
class SenseSizes:
    """The sizes of the models and of the data."""

    variants: tuple[str, ...] = MAIN
    task: SenseTask = _TASK
    distances: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 10)  # of the cue in words, before and after the ambiguous word
    num_tested: int = 320  # sentences of each distance, a multiple of 4 · the number of ambiguous words
    steps: int = 1200
    width: int = 64  # of the Transformer
    blocks: int = 3

    @property
    def places(self) -> tuple[int, ...]:
        """The places of the cue: negative before the ambiguous word, positive after it."""
        return (*(-distance for distance in reversed(self.distances)), *self.distances)


SMALL = SenseSizes()


@dataclass(frozen=True, eq=False)
class OccurrenceVectors:
    """The vectors of the ambiguous word of every tested sentence, (L, N, D), and what is known of each sentence."""

    vectors: Array
    words: Ids  # (N,)
    senses: Ids
    cues: Ids  # the places of the cues
    is_known: Array  # (N,): 1 for the half that centroids and maps are computed from, 0 for the tested half
    is_right: Array  # (N,): 1 if the ambiguous word is translated correctly, after the correct words before it


@dataclass(frozen=True)
class LayerSenses:
    """What the vectors of one layer show, as the mean over the ambiguous words; layer 0 is the static embedding."""

    within: float
    between: float
    centroid_by_cue: tuple[float, ...]  # for every place of the cue
    linear_by_cue: tuple[float, ...]

    @property
    def centroid(self) -> float:
        """The share of senses found by the nearest centroid, as the mean over the places."""
        return float(np.mean(self.centroid_by_cue))

    @property
    def linear(self) -> float:
        """The share of senses found by a linear map, as the mean over the places."""
        return float(np.mean(self.linear_by_cue))


@dataclass(frozen=True)
class VariantSenses:
    """The layers of one variant before and after training, and its share of right translations by place of the cue."""

    name: str
    num_parameters: int
    loss: float
    field: int | None  # words to each side that a convolutional encoder sees; None: no limit
    before: tuple[LayerSenses, ...]
    layers: tuple[LayerSenses, ...]
    right: tuple[float, ...]

    @property
    def title(self) -> str:
        """What the variant is called."""
        return VARIANTS[self.name].title


def run(seed: int, sizes: SenseSizes = SMALL, show: Show = silent) -> Experiment:
    """Train all variants on the same sentences, and measure the vectors of the ambiguous words in new ones."""
    results = [measure(name, sizes, seed, show) for name in sizes.variants]
    arrays = {"cues": np.array(sizes.places, dtype=np.float64)}
    for one in results:
        for measurement in ("centroid", "linear", "within", "between"):
            arrays[f"{one.name}, {measurement}"] = np.array([getattr(layer, measurement) for layer in one.layers])
        arrays[f"{one.name}, before training"] = np.array([layer.centroid for layer in one.before])
        arrays[f"{one.name}, centroid by cue"] = np.array([layer.centroid_by_cue for layer in one.layers])
        arrays[f"{one.name}, linear by cue"] = np.array([layer.linear_by_cue for layer in one.layers])
        arrays[f"{one.name}, right"] = np.array(one.right)
    arrays["field"] = np.array([one.field for one in results if one.field is not None], dtype=np.float64)
    claim = (
        "A static embedding is the same vector in every sentence, whatever the word means there; self-attention mixes "
        "in the other words of the sentence, so that the vector of a word shows its meaning."
    )
    tables = (_translation_table(results, sizes), _layer_table(results), _cue_table(results, sizes))
    return Experiment(NAME, STUDIES[NAME].title, seed, claim, describe(results, sizes), tables, arrays)


def _translation_table(results: Sequence[VariantSenses], sizes: SenseSizes) -> ResultTable:
    rows: list[tuple[Cell, ...]] = [
        (one.title, one.num_parameters, one.loss, float(np.mean(one.right))) for one in results
    ]
    title = f"translating {sizes.task.length} words, one of them ambiguous, after {sizes.steps:,} updates"
    return ResultTable(title, ("variant", "parameters", "final loss", "ambiguous word right"), tuple(rows))


def _layer_table(results: Sequence[VariantSenses]) -> ResultTable:
    columns = ("encoder", "layer", "centroid", "untrained", "linear map", "untrained, linear map", "cosine, same sense",
               "cosine, other sense")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for one in results:
        for number, (layer, before) in enumerate(zip(one.layers, one.before, strict=True)):
            shares = (layer.centroid, before.centroid, layer.linear, before.linear)
            rows.append((one.title, str(number) if number else "static", *shares, layer.within, layer.between))
    return ResultTable("share of vectors whose sense is found, and cosines, by layer", columns, tuple(rows))


def _cue_table(results: Sequence[VariantSenses], sizes: SenseSizes) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    for one in results:
        last = one.layers[-1]
        measures = {"sense by centroid": last.centroid_by_cue, "sense by linear map": last.linear_by_cue}
        for name, values in measures.items():
            shares = dict(zip(sizes.places, values, strict=True))
            rows.append((one.title, name, *((shares[-near] + shares[near]) / 2 for near in sizes.distances)))
        shares = dict(zip(sizes.places, one.right, strict=True))
        rows.append((one.title, "right, cue before", *(shares[-near] for near in sizes.distances)))
        rows.append((one.title, "right, cue after", *(shares[near] for near in sizes.distances)))
    columns = ("variant", "share", *(_words(distance) for distance in sizes.distances))
    return ResultTable("after the last layer, and translations, by distance of the cue", columns, tuple(rows))


def _words(number: int) -> str:
    return "1 word" if number == 1 else f"{number} words"


def describe(results: Sequence[VariantSenses], sizes: SenseSizes) -> str:
    """Return the finding: what static and contextual vectors show, and where the sense is missing."""
    static = [one.layers[0] for one in results]
    lowest, highest = (choose(layer.centroid for layer in static) for choose in (min, max))
    shares = f"{lowest:.2f}" if lowest == highest else f"{lowest:.2f} to {highest:.2f}"

    def listed(numbers: Sequence[float]) -> str:
        return ", ".join(f"{one.title} {number:.2f}" for one, number in zip(results, numbers, strict=True))

    sentences = [
        f"Static vectors: the sense is found in {shares} of the sentences (guess: {1 / SENSES:.2f}), and their lowest "
        f"mean cosine is {min(layer.between for layer in static):.2f}.",
        "After the last layer, the nearest centroid finds it in: "
        f"{listed([one.layers[-1].centroid for one in results])}; before training in: "
        f"{listed([one.before[-1].centroid for one in results])}.",
        f"A linear map finds it in: {listed([one.layers[-1].linear for one in results])}; before training in: "
        f"{listed([one.before[-1].linear for one in results])}.",
        *(_describe_field(one, one.field, sizes) for one in results if one.field is not None),
        f"The ambiguous word is translated correctly in: {listed([float(np.mean(one.right)) for one in results])}.",
    ]
    return " ".join(sentences)


def _describe_field(one: VariantSenses, field: int, sizes: SenseSizes) -> str:
    """Return what an encoder with a limited view finds inside and outside of it."""
    sentence = f"The convolutional encoder sees {_words(field)} to each side"
    is_near = np.abs(sizes.places) <= field
    if is_near.all() or not is_near.any():
        return f"{sentence}."
    shares, right = np.array(one.layers[-1].centroid_by_cue), np.array(one.right)
    return (
        f"{sentence}: the nearest centroid finds the sense in {shares[is_near].mean():.2f} with a cue inside, and in "
        f"{shares[~is_near].mean():.2f} with a cue outside, where {right[~is_near].mean():.2f} of the ambiguous words "
        "are translated correctly."
    )


def measure(name: str, sizes: SenseSizes, seed: int, show: Show) -> VariantSenses:
    """Train one variant, and measure its vectors before and after."""
    task, variant = sizes.task, VARIANTS[name]
    shared: dict[str, Any] = {
        "source_vocabulary": task.vocabulary,
        "encoder_blocks": sizes.blocks,
        "decoder_blocks": sizes.blocks,
        "dropout": 0.0,
        "max_length": task.length + 1,
    }
    config = matched_config(variant, shared, sizes.width)
    torch.manual_seed(seed)
    model = build_model(config)
    before = measure_layers(read_vectors(model, sizes, seed), sizes.places)
    recipe = StudyRecipe(sizes.steps, warm_up=max(1, sizes.steps // 10))
    curve = Learner(task.batch, recipe, seed, show).train(model, variant.title)
    data = read_vectors(model, sizes, seed)
    right = tuple(float(data.is_right[data.cues == cue].mean()) for cue in sizes.places)
    layers = measure_layers(data, sizes.places)
    return VariantSenses(name, num_parameters(config), curve.final_loss(), view(config), before, layers, right)


def view(config: ModelConfig) -> int | None:
    """Return how many words to each side an encoder sees: each convolution adds half of its kernel. None: all."""
    return (config.kernel - 1) // 2 * config.encoder_blocks if config.architecture == _CONVOLUTIONAL else None


@torch.no_grad()
def read_vectors(model: TrainableModel, sizes: SenseSizes, seed: int) -> OccurrenceVectors:
    """Return the vectors of the ambiguous words in new sentences, the same ones for every variant."""
    set_training(model, is_training=False)
    random = torch.Generator().manual_seed(seed + 2)
    group = SENSES * sizes.task.num_ambiguous  # neighbours in `sentences` of all words and senses
    is_known = (np.arange(sizes.num_tested) // group % 2 == 0).astype(np.float64)
    parts: dict[str, list[Array]] = {}
    for cue in sizes.places:
        sentences = sizes.task.sentences(sizes.num_tested, cue, random)
        batch = sentences.batch.changed(lambda tensor: tensor.to(model.device))
        assert batch.source is not None
        assert batch.target is not None
        rows, places = torch.arange(sizes.num_tested, device=model.device), sentences.places.to(model.device)
        answers = model(batch)[rows, places].argmax(dim=-1)
        part = {
            "vectors": word_vectors(encoder_states(model, batch.source), places[:, None]),
            "words": sentences.words,
            "senses": sentences.senses,
            "cues": torch.full((sizes.num_tested,), cue),
            "is_right": (answers == batch.target[rows, places]).double(),
        }
        for name, tensor in part.items():
            parts.setdefault(name, []).append(tensor.cpu().numpy())
    joined: Mapping[str, Any] = {name: np.concatenate(arrays, axis=-2 if name == "vectors" else 0)
                                 for name, arrays in parts.items()}  # fmt: skip
    return OccurrenceVectors(**joined, is_known=np.tile(is_known, len(sizes.places)))


def measure_layers(data: OccurrenceVectors, places: Sequence[int]) -> tuple[LayerSenses, ...]:
    """Return what the vectors of every layer show. Each ambiguous word is measured by itself, then averaged."""
    return tuple(_measure_layer(vectors, data, places) for vectors in data.vectors)


def _measure_layer(vectors: Array, data: OccurrenceVectors, places: Sequence[int]) -> LayerSenses:
    cosines = []
    centroid: list[list[float]] = []
    linear: list[list[float]] = []
    for word in np.unique(data.words):
        is_word = data.words == word
        cosines.append(sense_cosines(vectors[is_word], data.senses[is_word].tolist()))
        is_fitted, is_tested = is_word & (data.is_known == 1), is_word & (data.is_known == 0)
        senses, cues = data.senses[is_fitted].tolist(), data.cues[is_tested]
        for find_senses, shares in ((nearest_senses, centroid), (linear_senses, linear)):
            is_found = find_senses(vectors[is_fitted], senses, vectors[is_tested]) == data.senses[is_tested]
            shares.append([float(is_found[cues == cue].mean()) for cue in places])
    within, between = (float(np.mean([getattr(one, side) for one in cosines])) for side in ("within", "between"))
    return LayerSenses(within, between, *(tuple(np.mean(shares, axis=0).tolist()) for shares in (centroid, linear)))


def draw(result: Experiment, figure: "Figure") -> None:
    """Draw the share of senses that are found by layer and by distance of the cue, and the right translations."""
    by_layer, by_cue, right = figure.subplots(1, 3)
    cues = result.arrays["cues"]
    variants = [name for name in VARIANTS if f"{name}, right" in result.arrays]
    for number, name in enumerate(variants):
        variant = VARIANTS[name]
        # later lines are narrower, so that equal ones can be seen
        style: dict[str, Any] = {
            "color": variant.colour,
            "linewidth": 4.0 - 0.9 * number,
            "marker": "o",
            "markersize": 5,
        }
        shares = result.arrays[f"{name}, centroid"]
        layers = np.arange(len(shares))
        by_layer.plot(layers, shares, label=variant.title, **style)
        by_layer.plot(layers, result.arrays[f"{name}, before training"], ":", color=variant.colour, linewidth=1.5)
        for side in (cues < 0, cues > 0):
            by_cue.plot(cues[side], result.arrays[f"{name}, linear by cue"][-1][side], **style)
            right.plot(cues[side], result.arrays[f"{name}, right"][side], **style)
    by_layer.set(title="Sense by the nearest centroid", xlabel="layer (dotted: before training)", ylabel="share")
    by_layer.set_xticks(layers, ["static", *(str(layer) for layer in layers[1:])])
    by_cue.set(title="By a linear map, after the last layer")
    right.set(title="Ambiguous word translated correctly")
    for field in result.arrays["field"]:
        by_cue.axvspan(-field - 0.5, field + 0.5, color=GREEN, alpha=0.12, linewidth=0)
        by_cue.annotate("seen by the\nconvolutions", (0, 0.02), xycoords=("data", "axes fraction"), color=GREEN,
                        ha="center", va="bottom", fontsize=10)  # fmt: skip
    for plot in (by_cue, right):
        plot.set_xlabel("words from the ambiguous word to its cue")
        shown = [cue for cue in cues if abs(cue) % 2 == 0]
        plot.set_xticks(shown, [f"{cue:+.0f}".replace("-", "−") for cue in shown])
    for plot in (by_layer, by_cue):
        plot.axhline(1 / SENSES, color=GREY, linewidth=1.0, linestyle="--")
        plot.set_ylim(0.35, 1.03)
    by_layer.annotate("guess", (0.99, 0.49), xycoords=("axes fraction", "data"), color=GREY, ha="right", va="top")
    right.set_ylim(0, 1.03)
    figure.legend(*by_layer.get_legend_handles_labels(), loc="outside lower center", ncols=4)

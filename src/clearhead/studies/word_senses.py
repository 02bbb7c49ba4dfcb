"""Static and contextual vectors of ambiguous words in trained encoders, on a generated translation task.

A cue elsewhere in the sentence decides the sense of an ambiguous word. The vectors of that word are taken before the
first layer of the encoder, where they are static, and after every layer. The full form, on words of Europarl, is
benchmarks/word_senses.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from clearhead.model import SequenceModel, build_model
from clearhead.studies.encoder_states import encoder_states, word_vectors
from clearhead.studies.experiment import Cell, Measurement, ResultTable
from clearhead.studies.learning import Learner, Show, StudyRecipe, set_training
from clearhead.studies.picture import Panel
from clearhead.studies.sense_measures import linear_senses, nearest_senses, sense_cosines
from clearhead.studies.sense_task import SENSES, SenseTask
from clearhead.studies.variants import MAIN, VARIANTS, matched_config, num_parameters
from clearhead.worksheet.arrays import Array, Ids

CLAIM = (
    "A static embedding is the same vector in every sentence, whatever the word means there; self-attention mixes "
    "in the other words of the sentence, so that the vector of a word shows its meaning."
)
PANELS = (
    Panel("Sense by the nearest centroid", ("centroid",), "layer", by=("encoder",), tables={1: ""}, label="share"),
    Panel("By a linear map, after the last layer", by=("variant",), only="sense by linear map", tables={2: ""}),
    Panel("Translated correctly, cue after the word", by=("variant",), only="right, cue after", tables={2: ""}),
)

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

    title: str
    num_parameters: int
    loss: float
    before: tuple[LayerSenses, ...]
    layers: tuple[LayerSenses, ...]
    right: tuple[float, ...]


def run(seed: int, sizes: SenseSizes, show: Show) -> Measurement:
    """Train all variants on the same sentences, and measure the vectors of the ambiguous words in new ones."""
    results = [measure(name, sizes, seed, show) for name in sizes.variants]
    tables = (_translation_table(results, sizes), _layer_table(results), _cue_table(results, sizes))
    return Measurement("", tables)


def _translation_table(results: Sequence[VariantSenses], sizes: SenseSizes) -> ResultTable:
    rows = [(one.title, one.num_parameters, one.loss, float(np.mean(one.right))) for one in results]
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
    num = len(sizes.distances)  # places before the word, from the farthest; as many follow after it
    rows: list[tuple[Cell, ...]] = []
    for one in results:
        last = one.layers[-1]
        for name, shares in (("centroid", last.centroid_by_cue), ("linear map", last.linear_by_cue)):
            means = [(before + after) / 2 for before, after in zip(shares[:num][::-1], shares[num:], strict=True)]
            rows.append((one.title, f"sense by {name}", *means))
        rows.append((one.title, "right, cue before", *one.right[:num][::-1]))
        rows.append((one.title, "right, cue after", *one.right[num:]))
    columns = ("variant", "share", *(_words(distance) for distance in sizes.distances))
    return ResultTable("after the last layer, and translations, by distance of the cue", columns, tuple(rows))


def _words(number: int) -> str:
    return "1 word" if number == 1 else f"{number} words"


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
    return VariantSenses(variant.title, num_parameters(config), curve.final_loss(), before, layers, right)


@torch.no_grad()
def read_vectors(model: SequenceModel, sizes: SenseSizes, seed: int) -> OccurrenceVectors:
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

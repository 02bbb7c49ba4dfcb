"""Static and contextual vectors of ambiguous words in trained encoders, on a generated translation task.

A cue elsewhere in the sentence decides the sense of an ambiguous word. The vectors of that word are taken before the
first layer of the encoder, where they are static, and after every layer. The full form, on words of Europarl, is
benchmarks/word_senses.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from clearhead.model import SequenceModel
from clearhead.studies.encoder_states import encoder_states, word_vectors
from clearhead.studies.experiment import Measurement, ResultTable, Rows
from clearhead.studies.learning import Learner, Show, StudyRecipe, sides
from clearhead.studies.picture import Panel
from clearhead.studies.sense_measures import linear_senses, nearest_senses, sense_cosines
from clearhead.studies.sense_task import SENSES, SenseTask
from clearhead.studies.variants import (
    MAIN,
    VARIANTS,
    matched_config,
    num_parameters,
    seeded_model,
    shared_settings,
)
from clearhead.worksheet.arrays import Array, Ids, Mask

CLAIM = (
    "A static embedding is the same vector in every sentence, whatever the word means there; self-attention mixes "
    "in the other words of the sentence, so that the vector of a word shows its meaning."
)
PANELS = (
    Panel("Sense by the nearest centroid", ("centroid",), "layer", by=("encoder",), tables={1: ""}, label="share"),
    Panel("By a linear map, after the last layer", by=("variant",), only="sense by linear map", tables={2: ""}),
    Panel("Translated correctly, cue after the word", by=("variant",), only="right, cue after", tables={2: ""}),
)

_COLUMNS = (
    *("encoder", "layer", "centroid", "untrained", "linear map", "untrained, linear map"),
    *("cosine, same sense", "cosine, other sense"),
)


@dataclass(frozen=True)
class SenseSizes:
    """The sizes of the models and of the data."""

    variants: tuple[str, ...] = MAIN
    task: SenseTask = field(default_factory=SenseTask)
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
    is_known: Mask  # (N,): the half that centroids and maps are computed from; the other half is tested
    is_right: Mask  # (N,): whether the ambiguous word is translated correctly, after the correct words before it


@dataclass(frozen=True, eq=False)
class LayerSenses:
    """What the vectors of one layer show, as the mean over the ambiguous words; layer 0 is the static embedding."""

    within: float  # the mean cosine of two sentences with the same sense
    between: float  # and with different senses
    centroid: Array  # the share of senses that the nearest centroid finds, for every place of the cue (P,)
    linear: Array  # and those that a linear map finds


def run(seed: int, sizes: SenseSizes, show: Show) -> Measurement:
    """Train all variants on the same sentences, and measure the vectors of the ambiguous words in new ones."""
    task, num = sizes.task, len(sizes.distances)
    shared = shared_settings(task.vocabulary, sizes.blocks, task.length)
    learner = Learner(task.batch, StudyRecipe(sizes.steps, warm_up=max(1, sizes.steps // 10)), seed, show)
    translations: Rows = []
    layers: Rows = []
    distances: Rows = []
    for name in sizes.variants:
        title = VARIANTS[name].title
        model = seeded_model(matched_config(VARIANTS[name], shared, sizes.width), seed)
        untrained = measure_layers(read_vectors(model, sizes, seed), sizes.places)
        curve = learner.train(model, title)
        data = read_vectors(model, sizes, seed)
        trained = measure_layers(data, sizes.places)
        right = np.array([data.is_right[data.cues == cue].mean() for cue in sizes.places])
        translations.append((title, num_parameters(model.config), curve.final_loss(), float(right.mean())))
        for number, (layer, before) in enumerate(zip(trained, untrained, strict=True)):
            shares = [float(values.mean()) for values in (layer.centroid, before.centroid, layer.linear, before.linear)]
            layers.append((title, str(number) if number else "static", *shares, layer.within, layer.between))
        centroid, linear = trained[-1].centroid, trained[-1].linear
        rows = {  # places before the word, from the farthest; as many follow after it
            "sense by centroid": (centroid[:num][::-1] + centroid[num:]) / 2,
            "sense by linear map": (linear[:num][::-1] + linear[num:]) / 2,
            "right, cue before": right[:num][::-1],
            "right, cue after": right[num:],
        }
        distances += ((title, share, *values.tolist()) for share, values in rows.items())
    lengths = [f"{distance} word{'s' * (distance > 1)}" for distance in sizes.distances]
    tables = (
        ResultTable(
            f"translating {task.length} words, one of them ambiguous, after {sizes.steps:,} updates",
            ("variant", "parameters", "final loss", "ambiguous word right"),
            translations,
        ),
        ResultTable("share of vectors whose sense is found, and cosines, by layer", _COLUMNS, layers),
        ResultTable(
            "after the last layer, and translations, by distance of the cue",
            ("variant", "share", *lengths),
            distances,
        ),
    )
    return Measurement(tables)


@torch.no_grad()
def read_vectors(model: SequenceModel, sizes: SenseSizes, seed: int) -> OccurrenceVectors:
    """Return the vectors of the ambiguous words in new sentences, the same ones for every variant."""
    random = torch.Generator().manual_seed(seed + 2)
    number = sizes.num_tested
    group = SENSES * sizes.task.num_ambiguous  # neighbours in `sentences` of all words and senses
    rows = torch.arange(number)
    parts = []
    for cue in sizes.places:
        sentences = sizes.task.sentences(number, cue, random)
        source, target = sides(sentences.batch)
        places = sentences.places
        answers = model(sentences.batch)[rows, places].argmax(dim=-1)
        states = word_vectors(encoder_states(model, source), places[:, None])
        parts.append((states, sentences.words, sentences.senses, answers == target[rows, places]))
    of_all = [list(part) for part in zip(*parts, strict=True)]
    vectors, words, senses, is_right = (torch.cat(part, dim=part[0].dim() // 2).numpy() for part in of_all)
    is_known = np.tile(rows.numpy() // group % 2 == 0, len(parts))
    return OccurrenceVectors(vectors, words, senses, np.repeat(sizes.places, number), is_known, is_right)


def measure_layers(data: OccurrenceVectors, places: Sequence[int]) -> list[LayerSenses]:
    """Return what the vectors of every layer show. Each ambiguous word is measured by itself, then averaged."""
    return [_measure_layer(vectors, data, places) for vectors in data.vectors]


def _measure_layer(vectors: Array, data: OccurrenceVectors, places: Sequence[int]) -> LayerSenses:
    cosines, shares = [], []
    for word in np.unique(data.words):
        is_word = data.words == word
        cosines.append(sense_cosines(vectors[is_word], data.senses[is_word]))
        is_fitted, is_tested = is_word & data.is_known, is_word & ~data.is_known
        fitted = vectors[is_fitted], data.senses[is_fitted], vectors[is_tested]
        is_found = np.stack((nearest_senses(*fitted), linear_senses(*fitted))) == data.senses[is_tested]  # (2, T)
        cues = data.cues[is_tested]
        shares.append(np.stack([is_found[:, cues == cue].mean(axis=1) for cue in places], axis=1))  # (2, P)
    within, between = np.mean(cosines, axis=0).tolist()
    return LayerSenses(within, between, *np.mean(shares, axis=0))

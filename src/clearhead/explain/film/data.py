"""The data of a film for its page: texts as JSON, and float16 arrays in base64."""

import base64
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clearhead.explain.film.scenes import METRICS, RunFilm
from clearhead.training.film_file import FilmSentence, Half

MAX_BYTES = 6_000_000  # of attention in a page; with more, only one layer is shown


class View(NamedTuple):
    """A layer, and which of its rows belongs to a token: the one that has it as input, or the one that predicts it."""

    layer: int
    is_input: bool


def shown_layers(film: RunFilm) -> list[int]:
    """Return the layers whose attention fits in the page: all, or the one of the first view."""
    size = sum(sentence.attention.nbytes for frame in film.frames for sentence in frame.sentences)
    return list(range(film.num_layers)) if size <= MAX_BYTES else [first_view(film).layer]


def first_view(film: RunFilm) -> View:
    """Return the view whose weights are nearest to the diagonal in the last frame, where alignments are clearest.

    Which rows show the alignment depends on the model and on the layer, so no fixed choice fits all.
    """
    views = [View(layer, is_input) for layer in range(film.num_layers) for is_input in (False, True)]
    return min(views, key=lambda view: _distance(film.frames[-1].sentences, view))


def _distance(sentences: Sequence[FilmSentence], view: View) -> float:
    """Return the mean distance of the weights from the diagonal, as a share of the sentence."""
    distances = [0.0]
    for sentence in sentences:
        rows = sentence.attention[view.layer].astype(np.float64)[int(view.is_input) :]
        if len(rows) > 1 and rows.shape[1] > 1:
            targets, sources = np.linspace(0.0, 1.0, len(rows))[:, None], np.linspace(0.0, 1.0, rows.shape[1])
            distances.append(float((rows * abs(targets - sources)).sum(axis=1).mean()))
    return sum(distances) / len(distances)


def page_data(film: RunFilm) -> str:
    """Return the film as JSON that can stand inside a script element."""
    layers = shown_layers(film)
    data = {
        "layers": layers,
        "sources": [sentence.source_tokens for sentence in film.sentences],
        "references": [sentence.reference for sentence in film.sentences],
        "frames": [
            {
                "step": frame.step,
                "metrics": _metrics(film, frame.step),
                "sentences": [_sentence(sentence, layers) for sentence in frame.sentences],
            }
            for frame in film.frames
        ],
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def film_data(film: RunFilm) -> dict[str, Any]:
    """Return the texts, probabilities and metrics of a film as plain data, for JSON; attention is in the NPZ files."""
    return {
        "run": film.name,
        "sentences": [{"source": sentence.source, "reference": sentence.reference} for sentence in film.sentences],
        "frames": [
            {
                "step": frame.step,
                "metrics": _metrics(film, frame.step),
                "translations": [
                    {
                        "text": sentence.translation,
                        "tokens": list(sentence.target_tokens),
                        "probabilities": [round(float(number), 5) for number in sentence.probabilities],
                    }
                    for sentence in frame.sentences
                ],
            }
            for frame in film.frames
        ],
    }


def _metrics(film: RunFilm, step: int) -> dict[str, float | None]:
    """Return the last value of each metric up to an update: the training loss can be logged at other updates."""
    latest = {}
    for metric in METRICS:
        points = [point for point in film.curves.get(metric, ()) if point.updates <= step]
        if points:
            latest[metric] = points[-1].value
    return latest


def _sentence(sentence: FilmSentence, layers: list[int]) -> dict[str, Any]:
    attention = sentence.attention[[layer for layer in layers if layer < len(sentence.attention)]]
    return {
        "text": sentence.translation,
        "tokens": sentence.target_tokens,
        "p": _base64(sentence.probabilities),
        "a": _base64(attention),
    }


def _base64(array: Half) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f2").tobytes()).decode("ascii")

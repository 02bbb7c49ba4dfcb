"""Films that were never recorded, for tests: the attention becomes a diagonal from frame to frame."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clearhead.training.film_file import FILM, FilmFrame, FilmSentence, frame_bytes, frame_name
from tests.unit.explain.logs import validated_run

STEPS = (10, 20, 30)
SOURCE = ("▁the", "▁red", "▁cat", "</s>")
TRANSLATIONS = ("el el", "el gato <b>", "el gato rojo")


def film_sentence_of(
    number: int, source: str = "the red cat", reference: str | None = "el gato rojo", num_layers: int = 3
) -> FilmSentence:
    """Return a sentence in the frame with a number; the weight of the diagonal grows with each frame and layer."""
    translation = TRANSLATIONS[number]
    target = (*(f"▁{word}" for word in translation.split()), "</s>")
    attention = np.zeros((num_layers, len(target), len(SOURCE)), np.float16)
    for layer in range(num_layers):
        diagonal = (1 + number + layer) / 8
        attention[layer] = (1 - diagonal) / (len(SOURCE) - 1)
        for row in range(1, len(target)):
            attention[layer, row, row - 1] = diagonal
    probabilities = np.linspace(0.25, 0.5 + number / 4, len(target)).astype(np.float16)
    return FilmSentence(source, reference, translation, SOURCE, target, probabilities, attention)


def write_film(run: Path, frames: Sequence[FilmFrame] | None = None) -> Path:
    """Write a run with curves and frames; return its folder."""
    validated_run(run)
    (run / "config.yaml").write_text("")
    (run / FILM).mkdir()
    default_frames = [
        FilmFrame(step, (film_sentence_of(number), film_sentence_of(number, "it's <a> & b", None)))
        for number, step in enumerate(STEPS)
    ]
    for frame in default_frames if frames is None else frames:
        (run / FILM / frame_name(frame.step)).write_bytes(frame_bytes(frame))
    return run

"""Compare a word in two sentences: its static vector is the same, its contextual vectors differ layer by layer."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from clearhead.decoding.pipeline import TranslationOptions
from clearhead.decoding.translator import Translator
from clearhead.errors import DataError
from clearhead.explain.contributions import embeddings_of
from clearhead.explain.explained_text import row_of_text
from clearhead.explain.explanation import ExplainedModel
from clearhead.explain.explanation_file import DIGITS, model_facts, plain_data
from clearhead.explain.opening import LoadedModel, double_copy, explained_model
from clearhead.explain.token_row import TokenRow, plain_word
from clearhead.explain.traced_pass import to_array, trace_pass
from clearhead.model.base import SequenceModel
from clearhead.worksheet.arrays import Array


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """A sentence, the positions of the word's tokens, and the word's vectors: static (D,) and by layer (L + 1, D).

    A word of several tokens has the mean of their vectors. Layer 0 is the embedding with its position. `translation` is
    that of a model that translates.
    """

    row: TokenRow
    positions: tuple[int, ...]
    static: Array
    layers: Array
    translation: str | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """One word in two sentences of one model."""

    model: ExplainedModel
    word: str
    sides: tuple[ComparedSide, ComparedSide]

    @property
    def static_distance(self) -> float:
        """The Euclidean distance of the static vectors; 0 for the same tokens."""
        return float(np.linalg.norm(self.sides[0].static - self.sides[1].static))

    @property
    def static_cosine(self) -> float:
        """The cosine of the static vectors."""
        return cosine(self.sides[0].static, self.sides[1].static)

    @property
    def cosines(self) -> list[float]:
        """The cosine of the two vectors of the word at every layer."""
        return [cosine(one, other) for one, other in zip(self.sides[0].layers, self.sides[1].layers, strict=True)]

    @property
    def distances(self) -> list[float]:
        """The Euclidean distance of the two vectors of the word at every layer."""
        return [float(length) for length in np.linalg.norm(self.sides[0].layers - self.sides[1].layers, axis=1)]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as data for JSON."""
        digits = DIGITS["probabilities"]
        pairs = zip(self.cosines, self.distances, strict=True)
        return {
            "clearhead_comparison": 1,
            "digits": digits,
            "model": model_facts(self.model),
            "word": self.word,
            "sides": [
                {
                    **side.row.to_dict(0, len(side.row)),
                    "position": list(side.positions),
                    "translation": side.translation,
                }
                for side in self.sides
            ],
            "static_distance": round(self.static_distance, digits),
            "static_cosine": round(self.static_cosine, digits),
            "layers": plain_data(
                [{"layer": layer, "cosine": one, "distance": other} for layer, (one, other) in enumerate(pairs)], digits
            ),
        }


def compare(
    model: Translator | LoadedModel, one: str, other: str, *, word: str | None = None, language: str | None = None
) -> Comparison:
    """Compare a word in two sentences; without `word`, the longest word that both contain.

    The vectors are those of the encoder, or of the decoder for a language model, computed in float64.
    """
    rows = [row_of_text(model, text, language=language) for text in (one, other)]
    indices = _shared_word(rows, word)
    double = double_copy(model.model)
    sides = [_side(double, row, index) for row, index in zip(rows, indices, strict=True)]
    if isinstance(model, Translator):
        translations = model.translate([one, other], options=TranslationOptions(language=language))
        sides = [replace(side, translation=text.text) for side, text in zip(sides, translations, strict=True)]
    return Comparison(explained_model(model), plain_word(rows[0].words[indices[0]]), (sides[0], sides[1]))


def cosine(one: Array, other: Array) -> float:
    """Return the cosine of two vectors; 0 if either is 0."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return min(1.0, max(-1.0, float(one @ other) / lengths)) if lengths else 0.0


def _shared_word(rows: list[TokenRow], word: str | None) -> list[int]:
    """Return the index of the word in each sentence; raise DataError if one of them does not contain it."""
    if word is None:
        words = [[plain_word(text) for text in row.words] for row in rows]
        word = max((text for text in words[0] if text in words[1]), key=len, default="")
        if not word:
            raise DataError("the two sentences have no word in common. Give two sentences with the same word.")
    return [row.find_word(word) for row in rows]


def _side(model: SequenceModel, row: TokenRow, word: int) -> ComparedSide:
    positions = row.tokens_of(word)
    ids = [row.ids[position] for position in positions]
    if model.can_continue_text:
        states = trace_pass(model, None, row.ids).decoder_states
        rows = [position + 1 for position in positions]  # the start token is before them
    else:
        target = [model.config.eos] if model.can_translate else None
        states = trace_pass(model, row.ids, target).encoder_states
        rows = list(positions)
    assert states is not None
    static = to_array(embeddings_of(model, torch.tensor(ids, device=model.device))).mean(axis=0)
    return ComparedSide(row, positions, static, states[:, rows].mean(axis=1))

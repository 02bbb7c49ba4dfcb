"""Statistics of the text that a model was trained on, kept beside its tokeniser: what is usual for the model.

They decide whether lines are split into sentences, which input is unlike the training text, and which scripts a
translation into one of several languages can contain.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
from pydantic import ValidationError

from clearhead.errors import CheckpointError, printable
from clearhead.files.reading import read_file
from clearhead.files.writing import replace_file
from clearhead.settings import Settings
from clearhead.text.sentences import DEFAULT_LANGUAGE, split_sentences
from clearhead.text.tokeniser import FOLDER, Tokeniser, split_tag

STATISTICS = "statistics.json"
_PERCENTILES = (1, 5, 50, 95, 99, 99.9)
_SINGLE = 0.25  # if fewer lines have several sentences, the model was trained on single sentences
_SAMPLE_SIZE = 4096  # lines

Percentiles = dict[str, float]


class TextStatistics(Settings):
    """The content of statistics.json; what is not known is None, as for models from elsewhere."""

    format: Literal[1] = 1
    source_language: str | None = None  # two letters
    several_sentences: float | None = None  # share of the lines with more than one sentence
    source_tokens: Percentiles | None = None  # of a line
    word_pieces: Percentiles | None = None  # of a word
    log_probs: Percentiles | None = None  # mean per token of the translations of the validation data
    scripts: dict[str, list[str]] | None = None  # of each target language, for a model with language tags

    @property
    def splits_lines(self) -> bool:
        """Whether a line should be split into sentences: yes, unless the model was trained on lines of several."""
        return self.several_sentences is None or self.several_sentences < _SINGLE

    def save(self, folder: str | Path) -> None:
        """Write folder/tokeniser/statistics.json."""
        replace_file(Path(folder) / FOLDER / STATISTICS, self.model_dump_json(indent=1).encode() + b"\n")

    @staticmethod
    def load(folder: str | Path) -> "TextStatistics":
        """Read folder/tokeniser/statistics.json; without this file, nothing is known."""
        path = Path(folder) / FOLDER / STATISTICS
        if not path.is_file():
            return TextStatistics()
        try:
            return TextStatistics.model_validate_json(read_file(path))
        except ValidationError:
            raise CheckpointError(
                f"{printable(str(path))} is damaged, or was written by another version of clearhead. Copy it again, or "
                "delete it: then clearhead does not say which text is unusual for the model."
            ) from None


def percentiles(values: Sequence[float]) -> Percentiles | None:
    """Return some percentiles of values, or None if there are no values."""
    if not values:
        return None
    return {f"{percentile:g}": float(np.percentile(values, percentile)) for percentile in _PERCENTILES}


def measure_text(texts: Sequence[str], tokeniser: Tokeniser, language: str | None) -> TextStatistics:
    """Measure source texts."""
    rows = tokeniser.encode(texts)
    plain = [split_tag(text)[1] if tokeniser.tags else text for text in texts]
    num_several = sum(len(split_sentences(text, language or DEFAULT_LANGUAGE)) > 1 for text in plain)
    return TextStatistics(
        source_language=language,
        several_sentences=num_several / max(1, len(texts)),
        source_tokens=percentiles([len(row) for row in rows]),
        word_pieces=percentiles([end - start for row in rows for start, end in tokeniser.word_spans(row)]),
    )


class TextSample:
    """A uniform random sample of texts, the same for the same texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._random, self._num_seen = Random(1), 0

    def add(self, texts: Iterable[str]) -> None:
        """Add texts; each text so far is in the sample with the same probability."""
        for text in texts:
            self._num_seen += 1
            if len(self.texts) < _SAMPLE_SIZE:
                self.texts.append(text)
            elif (index := int(self._random.random() * self._num_seen)) < _SAMPLE_SIZE:
                self.texts[index] = text

"""Classify texts: the label and the probability of every class, in batches of texts of similar length."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from clearhead.decoding.engines.engine import DeviceName, Precision
from clearhead.decoding.engines.torch_engine import load_model
from clearhead.decoding.unknown_words import unknown_words
from clearhead.errors import ConfigError, DataError
from clearhead.files.line_input import OnFault
from clearhead.formats.model_folder import ModelFolder, find_model, load_vocabularies
from clearhead.model import SequenceModel
from clearhead.model.batch import Batch, padded
from clearhead.model.modes import evaluation_mode
from clearhead.text.tokeniser import Vocabularies

WINDOW = 2048  # texts in memory at a time, sorted by length
_BATCH_TOKENS = 4096


@dataclass(frozen=True)
class Classification:
    """The probability of each label of a model for one text, in the order of `labels`."""

    number: int  # of the line, from 1
    text: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    unknown_words: tuple[str, ...] = ()  # that the vocabulary does not have

    @property
    def best(self) -> int:
        """The number of the most probable class; of two that are equal, the first."""
        return max(range(len(self.probabilities)), key=self.probabilities.__getitem__)

    @property
    def label(self) -> str:
        """The most probable label."""
        return self.labels[self.best]


@dataclass(frozen=True, eq=False)
class Classifier:
    """A model with its vocabulary and labels.

    A text that is empty or too long raises DataError (`on_fault="refuse"`) or has no classification (`"skip"`).
    """

    model: SequenceModel
    vocabularies: Vocabularies
    on_fault: OnFault = "refuse"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes; a class without a label is called by its number."""
        names, number = self.vocabularies.labels, self.model.config.num_outputs
        return (*names[:number], *map(str, range(len(names), number)))

    def classify(self, texts: Iterable[str], window: int = WINDOW) -> Iterator[Classification | None]:
        """Yield the classification of every text, in order; None for a text that is skipped."""
        remaining = iter(texts)
        first = 1
        while part := list(islice(remaining, window)):
            yield from self._classify_window(part, first)
            first += len(part)

    def _classify_window(self, texts: Sequence[str], first: int) -> list[Classification | None]:
        outcomes: list[Classification | None] = [None] * len(texts)
        rows: dict[int, list[int]] = {}
        for index, ids in enumerate(self.encode(texts)):
            fault = self._fault(texts[index], ids)
            if fault is None:
                rows[index] = ids
            elif self.on_fault == "refuse":
                raise DataError(f"line {first + index}: {fault}", options={"on_fault": "skip"})
        probabilities = self.probabilities(list(rows.values()))
        for index, shares in zip(rows, probabilities, strict=True):
            unknown = unknown_words(self.vocabularies.source, texts[index], rows[index])
            outcomes[index] = Classification(first + index, texts[index], self.labels, tuple(shares), unknown)
        return outcomes

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of texts as the model reads them, with the end token."""
        return [[*ids, self.model.config.eos] for ids in self.vocabularies.source.encode(texts)]

    def _fault(self, text: str, ids: Sequence[int]) -> str | None:
        """Return why a text cannot be classified, or None."""
        if not text.strip() or len(ids) == 1:
            return "the text is empty. Give at least one word, or skip such lines."
        longest = self.model.config.position_limit
        if longest is not None and len(ids) > longest:
            return (
                f"the text has {len(ids):,} tokens (including the end token), but the model reads at most "
                f"{longest:,}. Shorten it, or skip such lines."
            )
        return None

    def probabilities(self, rows: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the probability of each class (N, C) for texts that are encoded."""
        outcomes: list[list[float]] = [[] for _ in rows]
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in _batches(rows):
                source = padded([rows[index] for index in batch], self.model.config.pad, self.model.device)
                logits = self.model(Batch(source))  # (B, C)
                shares = torch.softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
                for index, row in zip(batch, shares.tolist(), strict=True):
                    outcomes[index] = row
        return outcomes


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield the indices of rows in batches of similar lengths, longest first."""
    batch: list[int] = []
    for index in sorted(range(len(rows)), key=lambda index: -len(rows[index])):
        if batch and len(rows[batch[0]]) * (len(batch) + 1) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def open_classifier(
    path: str | Path | ModelFolder,
    *,
    device: DeviceName = "auto",
    precision: Precision = "auto",
    on_fault: OnFault = "refuse",
) -> Classifier:
    """Load a classifier from a run folder or a checkpoint."""
    folder = find_model(path)
    vocabularies = load_vocabularies(folder)
    model = load_model(folder, device, precision)
    if not model.can_classify:
        kind = "translates" if model.can_translate else "is a language model"
        raise ConfigError(
            f"this model {kind} (shape {model.config.shape}), so it has no labels. Use a model that was trained with "
            "task: classify.",
            options=("model",),
        )
    return Classifier(model.eval(), vocabularies, on_fault)

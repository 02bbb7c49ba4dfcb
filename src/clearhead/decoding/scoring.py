"""The log-probability that a model gives to text there is already, token by token, for files of any length."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from clearhead.decoding.engines.engine import DeviceName, Precision
from clearhead.decoding.engines.torch_engine import info_of, load_model
from clearhead.decoding.loading import find_model, load_vocabularies
from clearhead.decoding.translate import evaluating, padded
from clearhead.errors import ConfigError, DataError
from clearhead.model import Transformer
from clearhead.text.tokeniser import Vocabularies

TooLong = Literal["refuse", "skip"]
_WINDOW = 2048  # pairs that are in memory at once, sorted by length
_BATCH_TOKENS = 4096
_MAX_LOGITS = 2**25  # numbers in one batch of logits: 128 MB in float32


def token_log_probs(model: Transformer, source: Tensor | None, target: Tensor) -> Tensor:
    """Return log P of every token of `target` (B, T), eos included, in one pass; 0 for padding.

    A model without an encoder reads no source.
    """
    memory = None if source is None else model.encode(source)
    logits = model.decode(model.shifted(target), memory)  # (B, T, V)
    wide = torch.promote_types(logits.dtype, torch.float32)
    own = torch.log_softmax(logits, dim=-1, dtype=wide).gather(-1, target[..., None])[..., 0]  # (B, T)
    return own.masked_fill(target == model.config.pad, 0.0)


@dataclass(frozen=True)
class Scored:
    """A target as its model sees it: ids with the log P of each, eos included; `is_skipped` if it is too long.

    An empty target of an empty source has no token: nothing was asked of the model, as in translation.
    """

    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    is_skipped: bool = False

    @property
    def log_prob(self) -> float:
        """log P of the whole target, in nats."""
        return math.fsum(self.log_probs)

    @property
    def perplexity(self) -> float | None:
        """exp(-log P / n) over its tokens; None where there is none."""
        if not self.log_probs:
            return None
        rate = -self.log_prob / len(self.log_probs)
        return math.exp(rate) if rate < math.log(1e300) else math.inf


@dataclass(frozen=True)
class TextPair:
    """A source and a target to score; a model without an encoder needs no source.

    `tokens` are the ids that a model wrote, its end included if it came to one: the same text can be cut otherwise.
    """

    source: str
    target: str
    tokens: tuple[int, ...] | None = None


@dataclass(frozen=True)
class _Row:
    number: int
    source: tuple[int, ...]
    target: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Scorer:
    """A model and its vocabularies, ready to score."""

    model: Transformer
    vocabularies: Vocabularies
    too_long: TooLong = "refuse"

    @property
    def has_source(self) -> bool:
        """Whether the model reads a source."""
        return self.model.config.shape == "encoder-decoder"

    def score(self, pairs: Iterable[TextPair]) -> Iterator[Scored]:
        """Yield the scores of pairs in their order; only a window of them is in memory at once."""
        given = iter(pairs)
        first = 1
        while window := list(islice(given, _WINDOW)):
            yield from self._score_window(window, first)
            first += len(window)

    def _score_window(self, window: Sequence[TextPair], first: int) -> list[Scored]:
        made = [Scored()] * len(window)
        rows = []
        for row in self._rows(window):
            wrong = self._excess(row)
            if wrong is None:
                rows.append(row)
            elif self.too_long == "skip":
                made[row.number] = Scored(is_skipped=True)
            else:
                raise DataError(f"line {first + row.number}: {wrong}")
        with evaluating(self.model), torch.inference_mode():
            for batch in self._batches(rows):
                for row, log_probs in zip(batch, self._score_batch(batch), strict=True):
                    made[row.number] = Scored(row.target, tuple(log_probs[: len(row.target)]))
        return made

    def _rows(self, window: Sequence[TextPair]) -> Iterator[_Row]:
        """Yield the ids of pairs; a pair with nothing on either side is not one for the model."""
        eos = self.model.config.eos
        sources = self.vocabularies.source.encode([each.source for each in window]) if self.has_source else None
        targets = self.vocabularies.target.encode([each.target for each in window])
        for number, pair in enumerate(window):
            if pair.source.strip() or pair.target.strip() or pair.tokens:
                source = () if sources is None else (*sources[number], eos)
                target = (*targets[number], eos) if pair.tokens is None else pair.tokens
                yield _Row(number, source, target)

    def _excess(self, row: _Row) -> str | None:
        """Return what is wrong with a pair that the model has no positions for."""
        longest = info_of(self.model.config).max_length
        for side, ids in (("source", row.source), ("target", row.target)):
            if longest is not None and len(ids) > longest:
                return (
                    f"the {side} is {len(ids):,} tokens long, its end included, and the model has positions for "
                    f"{longest:,}. Shorten it, or leave such lines unscored with --too-long skip."
                )
        return None

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Yield batches of about one length, the longest first."""
        config = self.model.config
        most = min(_BATCH_TOKENS, _MAX_LOGITS // config.target_size)
        batch: list[_Row] = []
        longest = 0
        for row in sorted(rows, key=lambda each: (-len(each.target), -len(each.source))):
            longest = max(longest, len(row.source), len(row.target))
            if batch and longest * (len(batch) + 1) > most:
                yield batch
                batch, longest = [], max(len(row.source), len(row.target))
            batch.append(row)
        if batch:
            yield batch

    def _score_batch(self, batch: Sequence[_Row]) -> list[list[float]]:
        pad, device = self.model.config.pad, self.model.output.weight.device
        source = padded([row.source for row in batch], pad, device) if self.has_source else None
        found: list[list[float]] = token_log_probs(
            self.model, source, padded([row.target for row in batch], pad, device)
        ).tolist()
        return found


def open_scorer(
    path: str | Path, *, device: DeviceName = "auto", precision: Precision = "auto", too_long: TooLong = "refuse"
) -> Scorer:
    """Open the model at a path (a run, a checkpoint, an OPUS-MT folder), a translator or a language model."""
    place = find_model(path)
    vocabularies = load_vocabularies(place)
    model = load_model(place, device, precision)
    if model.config.shape == "encoder":
        raise ConfigError("a model of shape encoder writes no text, so that it gives none a probability.")
    return Scorer(model.eval(), vocabularies, too_long)

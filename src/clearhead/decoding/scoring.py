"""Compute the log-probability of existing text under a model, token by token, for files of any length."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from clearhead.decoding.engines.engine import DeviceName, Precision
from clearhead.decoding.engines.torch_engine import load_model
from clearhead.errors import ConfigError, DataError, printable
from clearhead.files.line_input import input_lines
from clearhead.formats.built_in import language_code
from clearhead.formats.model_folder import ModelFolder, find_model, load_vocabularies
from clearhead.model import SequenceModel
from clearhead.model.batch import padded
from clearhead.model.modes import evaluation_mode
from clearhead.text.special import language_tag
from clearhead.text.tokeniser import Vocabularies, split_tag

TooLong = Literal["refuse", "skip"]
SCORE_WINDOW = 2048  # pairs in memory at a time, sorted by length
_BATCH_TOKENS = 4096
_MAX_LOGITS = 2**25  # numbers in one batch of logits: 128 MB in float32


def token_log_probs(model: SequenceModel, source: Tensor | None, target: Tensor) -> Tensor:
    """Return log P of every token of `target` (B, T), including eos, in one pass; 0 for padding.

    `source` is None for a model without an encoder.
    """
    memory = None if source is None else model.encode(source)
    logits = model.decode(model.shifted(target), memory)  # (B, T, V)
    wide = torch.promote_types(logits.dtype, torch.float32)
    own = torch.log_softmax(logits, dim=-1, dtype=wide).gather(-1, target[..., None])[..., 0]  # (B, T)
    return own.masked_fill(target == model.config.pad, 0.0)


@dataclass(frozen=True)
class ScoredTarget:
    """The token ids of a target with their log-probabilities, including eos; `is_skipped` if it is too long.

    If source and target are both empty there are no tokens: the model is not run, as in translation.
    """

    tokens: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    is_skipped: bool = False

    @property
    def log_prob(self) -> float:
        """log P of the complete target, in nats."""
        return math.fsum(self.log_probs)

    @property
    def perplexity(self) -> float | None:
        """exp(-log P / n) over its n tokens; None if there are no tokens."""
        if not self.log_probs:
            return None
        rate = -self.log_prob / len(self.log_probs)
        return math.exp(rate) if rate < math.log(1e300) else math.inf


@dataclass(frozen=True)
class TextPair:
    """A source and a target to score; a model without an encoder needs no source.

    `tokens` are the ids that a model generated, with eos if it ended. They are scored instead of the tokenised text,
    because the same text can be tokenised in several ways.
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
    """Scores text pairs with a model and its vocabularies."""

    model: SequenceModel
    vocabularies: Vocabularies
    too_long: TooLong = "refuse"
    fingerprint: str | None = None  # a hash of the model files
    language: str | None = None  # the target language, for a model with several

    @property
    def has_source(self) -> bool:
        """Whether the model reads a source."""
        return self.model.can_translate

    def score(self, pairs: Iterable[TextPair]) -> Iterator[ScoredTarget]:
        """Yield the scores of pairs in order, with one window of pairs in memory at a time."""
        remaining = iter(pairs)
        first = 1
        while window := list(islice(remaining, SCORE_WINDOW)):
            yield from self.score_window(window, first)
            first += len(window)

    def score_window(self, window: Sequence[TextPair], first: int = 1) -> list[ScoredTarget]:
        """Return the scores of pairs that are in memory; `first` is the number of the first one, for messages."""
        scores = [ScoredTarget()] * len(window)
        rows = []
        for row in self._rows(window):
            excess = self._excess(row)
            if excess is None:
                rows.append(row)
            elif self.too_long == "skip":
                scores[row.number] = ScoredTarget(is_skipped=True)
            else:
                raise DataError(f"line {first + row.number}: {excess}", options={"too_long": "skip"})
        with evaluation_mode(self.model), torch.inference_mode():
            for batch in self._batches(rows):
                for row, log_probs in zip(batch, self._score_batch(batch), strict=True):
                    scores[row.number] = ScoredTarget(row.target, tuple(log_probs[: len(row.target)]))
        return scores

    def _rows(self, window: Sequence[TextPair]) -> Iterator[_Row]:
        """Yield the ids of the pairs; pairs with both sides empty are omitted."""
        eos = self.model.config.eos
        texts = [tagged(pair.source, self.language) for pair in window]
        sources = self.vocabularies.source.encode(texts) if self.has_source else None
        targets = self.vocabularies.target.encode([pair.target for pair in window])
        for number, pair in enumerate(window):
            if pair.source.strip() or pair.target.strip() or pair.tokens:
                source = () if sources is None else (*sources[number], eos)
                target = (*targets[number], eos) if pair.tokens is None else pair.tokens
                yield _Row(number, source, target)

    def _excess(self, row: _Row) -> str | None:
        """Return an error message if a pair is longer than the model can read, else None."""
        longest = self.model.config.position_limit
        for side, ids in (("source", row.source), ("target", row.target)):
            if longest is not None and len(ids) > longest:
                return (
                    f"the {side} has {len(ids):,} tokens (including the end token), but the model reads at most "
                    f"{longest:,}. Shorten it, or skip such lines."
                )
        return None

    def _batches(self, rows: Sequence[_Row]) -> Iterator[list[_Row]]:
        """Yield batches of similar lengths, longest first."""
        config = self.model.config
        most = min(_BATCH_TOKENS, _MAX_LOGITS // config.target_size)
        batch: list[_Row] = []
        longest = 0
        for row in sorted(rows, key=lambda row: (-len(row.target), -len(row.source))):
            longest = max(longest, len(row.source), len(row.target))
            if batch and longest * (len(batch) + 1) > most:
                yield batch
                batch, longest = [], max(len(row.source), len(row.target))
            batch.append(row)
        if batch:
            yield batch

    def _score_batch(self, batch: Sequence[_Row]) -> list[list[float]]:
        pad, device = self.model.config.pad, self.model.device
        source = padded([row.source for row in batch], pad, device) if self.has_source else None
        log_probs: list[list[float]] = token_log_probs(
            self.model, source, padded([row.target for row in batch], pad, device)
        ).tolist()
        return log_probs


def open_scorer(
    path: str | Path | ModelFolder,
    *,
    device: DeviceName = "auto",
    precision: Precision = "auto",
    too_long: TooLong = "refuse",
    language: str | None = None,
) -> Scorer:
    """Load a translation or language model from a run folder, a checkpoint or an OPUS-MT folder.

    `language` is the target language of a model with several; by default that with which a built-in model was chosen.
    """
    folder = find_model(path)
    vocabularies = load_vocabularies(folder)
    model = load_model(folder, device, precision)
    if not (model.can_translate or model.can_continue_text):
        raise ConfigError("a model of shape encoder generates no text, so it cannot give a text a probability.")
    tags = vocabularies.source.tags if model.can_translate else ()
    return Scorer(
        model.eval(), vocabularies, too_long, folder.fingerprint, target_language(tags, language, folder.language)
    )


def target_language(tags: Collection[str], language: str | None, own_language: str | None) -> str | None:
    """Return the target language whose tag a source gets: a given one, or else that of a built-in model, if any."""
    if language is None:
        return own_language if own_language in tags else None
    code = language_code(language, tags)
    if code not in tags:
        allowed = f"It translates to {', '.join(sorted(tags))}." if tags else "It has one target language: remove it."
        raise ConfigError(
            f"'{printable(language)}' is not a target language of this model. {allowed}", options=("language",)
        )
    return code


def tagged(source: str, language: str | None) -> str:
    """Return a sentence with the tag of its target language, unless it has one."""
    if language is None or split_tag(source)[0] is not None:
        return source
    return f"{language_tag(language)} {source}"


def read_pairs(source: str | None, target: str) -> Iterator[TextPair]:
    """Yield the lines of two files as pairs, or the lines of one file without a source; - is standard input."""
    number = 0
    targets = input_lines(target)
    if source is None:
        for line in targets:
            number += 1
            yield TextPair("", line)
    else:
        for one, other in zip_longest(input_lines(source), targets):
            if one is None or other is None:
                shorter, longer = (source, target) if one is None else (target, source)
                raise DataError(
                    f"{shown_name(shorter)} ends after {number:,} lines, but {shown_name(longer)} has more. "
                    "Line i of one file belongs to line i of the other: both need the same number of lines."
                )
            number += 1
            yield TextPair(one, other)
    if number == 0:
        raise DataError(f"{shown_name(target)} is empty. Give at least one sentence.")


def shown_name(name: str) -> str:
    """Return the name of a file for messages."""
    return "standard input" if name == "-" else printable(name)


@dataclass
class ScoreTotal:
    """Totals over all sentences."""

    num_sentences: int = 0
    num_skipped: int = 0
    num_tokens: int = 0
    log_prob: float = 0.0

    def merge(self, later: "ScoreTotal") -> None:
        """Add the totals of later sentences."""
        self.num_sentences += later.num_sentences
        self.num_skipped += later.num_skipped
        self.num_tokens += later.num_tokens
        self.log_prob += later.log_prob

    def add(self, target: ScoredTarget) -> None:
        """Add one sentence to the totals."""
        self.num_sentences += 1
        self.num_skipped += target.is_skipped
        self.num_tokens += len(target.tokens)
        self.log_prob += target.log_prob

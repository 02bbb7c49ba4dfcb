"""Sentences and their translations as token ids, in batches, for measurements of a model on a text."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from clearhead.errors import DataError
from clearhead.model import Batch, ModelConfig, SequenceModel
from clearhead.model.batch import padded
from clearhead.text.tokeniser import Vocabularies

Advance = Callable[[int, int], None]  # receives how much of a measurement is done, and the total

_BATCH_TOKENS = {"cpu": 2048, "cuda": 16384}  # of the longer side, padding included; more are not faster
_MAX_LOGITS = 2**28  # numbers in one batch of logits: 1 GiB in float32


def no_progress(*progress: object) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class TokenPair:
    """The ids of a sentence and of its translation, both with eos; `source` is empty for a language model."""

    source: tuple[int, ...]
    target: tuple[int, ...]


def encode_pairs(model: SequenceModel, vocabularies: Vocabularies, texts: Sequence[tuple[str, str]]) -> list[TokenPair]:
    """Return the tokens of texts and their translations; a language model reads only the second text of a pair."""
    eos, longest = model.config.eos, model.config.position_limit
    if not texts:
        raise DataError("there are no sentences. Give at least one.")
    sources = vocabularies.source.encode([source for source, _ in texts])
    targets = vocabularies.target.encode([target for _, target in texts])
    pairs = []
    for number, (source, target) in enumerate(zip(sources, targets, strict=True), 1):
        pair = TokenPair((*source, eos) if model.can_translate else (), (*target, eos))
        for side, ids in (("source", pair.source), ("target", pair.target)):
            if longest is not None and len(ids) > longest:
                raise DataError(
                    f"line {number}: the {side} has {len(ids):,} tokens (including the end token), but the model reads "
                    f"at most {longest:,}. Shorten or remove the line."
                )
        pairs.append(pair)
    return pairs


def batch_tokens(model: SequenceModel) -> int:
    """Return the number of tokens in a batch for the device and the vocabulary of a model."""
    most = _BATCH_TOKENS.get(model.device.type, _BATCH_TOKENS["cpu"])
    return max(1, min(most, _MAX_LOGITS // model.config.target_size))


def batches_of(pairs: Sequence[TokenPair], max_tokens: int) -> Iterator[list[int]]:
    """Yield the indices of pairs in batches of similar lengths, longest first."""
    indices: list[int] = []
    longest = 0
    lengths = [max(len(pair.source), len(pair.target)) for pair in pairs]
    for index in sorted(range(len(pairs)), key=lambda index: -lengths[index]):
        longest = max(longest, lengths[index])
        if indices and longest * (len(indices) + 1) > max_tokens:
            yield indices
            indices, longest = [], lengths[index]
        indices.append(index)
    if indices:
        yield indices


def batch_of(pairs: Sequence[TokenPair], config: ModelConfig, device: torch.device) -> Batch:
    """Return pairs as a batch of a model."""
    source = padded([pair.source for pair in pairs], config.pad, device) if config.shape != "decoder" else None
    return Batch(source, padded([pair.target for pair in pairs], config.pad, device))


def read_batches(
    model: SequenceModel, pairs: Sequence[TokenPair], advance: Advance = no_progress
) -> Iterator[tuple[list[int], Batch]]:
    """Yield batches of pairs, each with the indices of its pairs."""
    num_done = 0
    for indices in batches_of(pairs, batch_tokens(model)):
        advance(num_done, len(pairs))
        yield indices, batch_of([pairs[index] for index in indices], model.config, model.device)
        num_done += len(indices)

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


@dataclass(frozen=True)
class TokenPair:
    """The ids of a sentence and of its translation, both with eos; `source` is empty for a language model.

    A classifier has a `label` instead of a target.
    """

    source: tuple[int, ...]
    target: tuple[int, ...] = ()
    label: int | None = None


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
    source, target, labels = None, None, None
    if config.shape != "decoder":
        source = padded([pair.source for pair in pairs], config.pad, device)
    if config.shape != "encoder":
        target = padded([pair.target for pair in pairs], config.pad, device)
    elif all(pair.label is not None for pair in pairs):
        labels = torch.tensor([pair.label for pair in pairs], device=device)
    return Batch(source, target, labels)


def no_progress(*progress: object) -> None:
    """Show nothing."""

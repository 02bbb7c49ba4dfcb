"""Sentences in, translations out, in the same order: cut into ids, batched by length, searched, and joined again."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.vocabulary import Vocabularies
from clearhead.errors import ConfigError
from clearhead.model import ModelConfig, Transformer


@dataclass(frozen=True)
class Translation:
    """A sentence and what was made of it: `texts` and `hypotheses`, best first; an empty line has one empty text.

    `is_cut` says that the source was longer than the model can read, and its tail was left out.
    """

    source: str
    texts: tuple[str, ...] = ("",)
    hypotheses: tuple[Hypothesis, ...] = ()
    is_cut: bool = False

    @property
    def text(self) -> str:
        """The best translation."""
        return self.texts[0]

    @property
    def has_ended(self) -> bool:
        """Whether the best translation came to its end, and was not stopped by the limit of its length."""
        return not self.hypotheses or self.hypotheses[0].has_ended


@dataclass(frozen=True)
class Sentence:
    """The ids of a sentence, eos included, and its place among the sentences given."""

    number: int
    ids: list[int]
    is_cut: bool = False


def translate(
    model: Transformer,
    vocabularies: Vocabularies,
    sentences: Sequence[str],
    settings: SearchSettings = SearchSettings(),
    constraints: Sequence[Constraints] | None = None,
) -> list[Translation]:
    """Translate sentences; one without a token (an empty line) stays empty. `constraints` are one for each sentence."""
    if model.config.shape != "encoder-decoder":
        raise ConfigError(
            f"a model of shape {model.config.shape} cannot translate: it has no "
            f"{'decoder' if model.config.shape == 'encoder' else 'encoder'}. Use one of shape encoder-decoder."
        )
    made = [Translation(sentence) for sentence in sentences]
    with evaluating(model), torch.inference_mode():
        most = settings.tokens_on(model.output.weight.device.type)
        for batch in batches(read(vocabularies, sentences, model.config), most):
            found = search(model, batch, settings, constraints)
            texts = iter(vocabularies.target.decode([each.tokens for several in found for each in several]))
            for sentence, several in zip(batch, found, strict=True):
                made[sentence.number] = Translation(
                    sentences[sentence.number], tuple(next(texts) for _ in several), tuple(several), sentence.is_cut
                )
    return made


@contextmanager
def evaluating(model: Transformer) -> Iterator[None]:
    """Put the model into eval mode, and back into the mode that it was in."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def read(vocabularies: Vocabularies, sentences: Sequence[str], config: ModelConfig) -> list[Sentence]:
    """Return the sentences that have a token, each with eos; what is too long for the model is cut."""
    found = []
    for number, ids in enumerate(vocabularies.source.encode(sentences)):
        is_cut = config.has_position_table and len(ids) >= config.max_length
        if ids and sentences[number].strip():
            found.append(Sentence(number, [*(ids[: config.max_length - 1] if is_cut else ids), config.eos], is_cut))
    return found


def batches(sentences: Sequence[Sentence], batch_tokens: int) -> Iterator[list[Sentence]]:
    """Yield batches of about one length, the longest first, so that what runs out of memory does so soon."""
    batch: list[Sentence] = []
    for sentence in sorted(sentences, key=lambda each: -len(each.ids)):
        if batch and len(batch[0].ids) * (len(batch) + 1) > batch_tokens:
            yield batch
            batch = []
        batch.append(sentence)
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> Tensor:
    """Return rows as one tensor (B, S), padded on the right."""
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[pad] * (longest - len(row))] for row in rows], device=device)


def length_limits(batch: Sequence[Sentence], settings: SearchSettings, config: ModelConfig) -> list[int]:
    """Return how many tokens each translation may have, its end included."""
    most = settings.max_length
    if config.has_position_table:
        most = min(most, config.max_length)
    return [min(most, int(settings.max_ratio * len(each.ids)) + settings.max_extra) for each in batch]


def search(
    model: Transformer,
    batch: Sequence[Sentence],
    settings: SearchSettings,
    constraints: Sequence[Constraints] | None = None,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence, best first."""
    config, device = model.config, model.output.weight.device
    source = padded([sentence.ids for sentence in batch], config.pad, device)
    limits = length_limits(batch, settings, config)
    numbers = [sentence.number for sentence in batch]
    asked = None if constraints is None else [constraints[number] for number in numbers]
    if settings.is_sampling:
        return sample(model, source, limits, settings, asked, numbers)
    return beam_search(model, source, limits, settings, asked)

"""A tokeniser and models so small that a search can be followed by hand or done in full.

Sizes are distinct primes where they can be; parameters are random in float64, so that ties and rounding have no effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from clearhead.decoding.alignment import AlignmentRule, align_by_rules
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.decoding.word_alignment import Links
from clearhead.model import ModelConfig, SequenceModel, Transformer

FIRST = 4  # ids before it are special


class Letters:
    """A tokeniser of letters: a is 4, b is 5 …; other characters are ignored. It has no language tags."""

    unk = -1

    def __init__(self) -> None:
        self.tags: dict[str, int] = {}

    def encode(self, sentences: Sequence[str]) -> list[list[int]]:
        return [[ord(letter) - ord("a") + FIRST for letter in text if "a" <= letter <= "z"] for text in sentences]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(chr(number - FIRST + ord("a")) for number in row if number >= FIRST) for row in ids]


@dataclass(frozen=True)
class Both:
    """One tokeniser for both languages."""

    source: Letters = field(default_factory=Letters)
    target: Letters = field(default_factory=Letters)


def letter_translator(model: Transformer) -> Translator:
    """Return a translator of letters."""
    return Translator(Both(), TorchEngine(model))


def random_model(seed: int = 36, spread: float = 0.5, **changes: Any) -> Transformer:
    """Return a random model of 30 tokens in float64; `spread` makes its choices sharp."""
    torch.manual_seed(seed)
    options: dict[str, Any] = {
        "source_vocabulary": 30,
        "encoder_blocks": 2,
        "decoder_blocks": 2,
        "d_model": 12,
        "num_heads": 2,
        "d_ff": 17,
        "max_length": 23,
        "tied": "none",  # a tied model writes what it has just read, again and again
        **changes,
    }
    model = Transformer(ModelConfig(**options)).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += spread * torch.randn_like(parameter)
    return model.eval()


def sources(model: Transformer, lengths: Sequence[int] = (7, 5, 3, 2, 1), seed: int = 5) -> Tensor:
    """Return random sentences (B, S) of those lengths, eos included, padded on the right."""
    config = model.config
    random = torch.Generator().manual_seed(seed)
    low = max(config.pad, config.bos, config.eos) + 1
    ids = torch.randint(low, config.source_vocabulary, (len(lengths), max(lengths)), generator=random)
    places = torch.arange(max(lengths))[None]
    ends = torch.tensor(lengths)[:, None] - 1
    ids = torch.where(places == ends, config.eos, ids)
    return torch.where(places > ends, config.pad, ids)


def best_hypotheses(
    model: Transformer, source: Tensor, constraints: Sequence[Constraints], **options: Any
) -> list[Hypothesis]:
    """Return the best hypothesis of each sentence (B, S), of at most 17 tokens."""
    limits = [17] * len(source)
    with torch.inference_mode():
        outcomes = beam_search(model, source, limits, SearchSettings(**options), constraints)
    return [hypotheses[0] for hypotheses in outcomes]


def align(model: SequenceModel, source: Tensor, target: Sequence[int], rule: AlignmentRule | None = None) -> Links:
    """Return the links between one sentence (S,) and its translation by a rule, or else by the usual one."""
    return align_by_rules(model, source, target, [rule or AlignmentRule.usual(model.config)])[0]

"""The changes of a what-if question: heads that are removed or made uniform, patched states, and swapped words.

Only functions that change a model import torch, so that a question can be checked before a model is loaded.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clearhead.errors import ConfigError, DataError, did_you_mean, printable
from clearhead.explain.token_row import PUNCTUATION, TokenRow, is_unspaced, plain_word
from clearhead.model.config import ModelConfig
from clearhead.model.heads import find_heads

if TYPE_CHECKING:
    from clearhead.model import SequenceModel
    from clearhead.model.gates import Gates
    from clearhead.model.probed import StatePatch


@dataclass(frozen=True)
class Patch:
    """States after an encoder layer (`encoder.3`) that are taken from another sentence.

    `words` maps words of the sentence to those of the other one, {"bank": "bank"}; only their states are replaced.
    Without words, all states are replaced, and both sentences need the same number of tokens.
    """

    layer: str
    sentence: str
    words: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not all(plain_word(word) for pair in self.words.items() for word in pair):
            raise ConfigError("a word to patch is empty. Give a word of the sentence.")
        if not self.sentence.strip():
            raise ConfigError("the other sentence is empty. Give the sentence that the states come from.")


@dataclass(frozen=True)
class Intervention:
    """What is changed; several changes are made together.

    Heads are named by their place, `encoder.2.self_attention.head.5`, and `*` matches anything. Those in `without` are
    removed; the attention of those in `uniform` is the same for all visible keys. `swap` maps words of the sentence to
    the words that replace them.
    """

    without: Sequence[str] = ()
    uniform: Sequence[str] = ()
    swap: Mapping[str, str] = field(default_factory=dict)
    patch: Patch | None = None

    def __post_init__(self) -> None:
        for name in ("without", "uniform"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        if not (self.without or self.uniform or self.swap or self.patch):
            raise ConfigError(
                "there is nothing to change. Name heads to remove or to make uniform, a layer to patch, or a word to "
                "swap."
            )
        for word, other in self.swap.items():
            if word == other:
                raise ConfigError(
                    f"'{printable(word[:40])}' would be swapped for itself, which changes nothing. Give another word."
                )

    @property
    def is_swap(self) -> bool:
        """Whether only words are swapped, so that the model itself is unchanged."""
        return not (self.without or self.uniform or self.patch)

    def check(self, config: ModelConfig) -> None:
        """Raise an error for heads and layers that a model with this config does not have."""
        find_heads(self.without, config, option="without")
        find_heads(self.uniform, config, option="uniform")
        if self.patch is not None and config.shape == "encoder-decoder":
            _layer_number(self.patch.layer, config)

    def gates(self, model: "SequenceModel") -> "Gates":
        """Return the gates of the named heads; none if no heads are named."""
        from clearhead.model.gates import NO_GATES

        if not (self.without or self.uniform):
            return NO_GATES
        return gates_of_heads(model, without=self.without, uniform=self.uniform)


def gates_of_heads(model: "SequenceModel", *, without: Sequence[str] = (), uniform: Sequence[str] = ()) -> "Gates":
    """Return gates for heads by name (`encoder.2.self_attention.head.5`, `*` matches anything).

    Those in `without` are removed; the attention of those in `uniform` is the same for all visible keys.
    """
    from clearhead.model.gates import closed_gates

    if not without and not uniform:
        raise ConfigError("no heads were named. Name a head to remove, or one to make uniform.")
    removed, flattened = (find_heads(names, model.config) for names in (without, uniform))
    return closed_gates(model.config, model.device, without=removed, uniform=flattened)


# Swapped words


def swap_words(text: str, words: Mapping[str, str]) -> str:
    """Return a text with every occurrence of some words replaced, in one pass; raise DataError if one does not occur.

    Only whole words count, in the spelling of the text.
    """
    if not words:
        return text
    if not all(words) or not all(other.strip() for other in words.values()):
        raise ConfigError("a word to swap is empty. Give a word of the sentence and the word that replaces it.")
    missing = dict.fromkeys(words)

    def replacement(match: re.Match[str]) -> str:
        if not _is_whole_word(text, match.start(), match.end()):
            return match[0]
        missing.pop(match[0], None)
        return words[match[0]]

    longest_first = sorted(words, key=len, reverse=True)
    swapped = re.sub("|".join(re.escape(word) for word in longest_first), replacement, text)
    if missing:
        word = next(iter(missing))
        own = [piece.strip(PUNCTUATION) for piece in text.split()]
        raise DataError(
            f"'{printable(text[:80])}' does not contain the word '{printable(word[:40])}', which should be swapped."
            f"{did_you_mean(word, own)}"
        )
    return swapped


def _is_whole_word(text: str, start: int, end: int) -> bool:
    """Return whether a word of a text neither begins nor ends inside another word."""
    edges = ((text[start - 1 : start], text[start]), (text[end : end + 1], text[end - 1]))
    return not any(_is_letter(outer) and _is_letter(inner) for outer, inner in edges)


def _is_letter(character: str) -> bool:
    """Return whether a character is part of a word that is written between spaces; vowel signs are."""
    if not character or is_unspaced(character):
        return False
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


# Patched states


def state_patch(model: "SequenceModel", patch: Patch, own: TokenRow, other: TokenRow) -> "StatePatch":
    """Return a patch of the states of a sentence with those of another; both rows end with the end token.

    The states of the other sentence are those of the given, unchanged model.
    """
    import torch

    from clearhead.model.modes import evaluation_mode
    from clearhead.model.probed import StatePatch, read_states
    from clearhead.model.transformer import require_transformer

    model = require_transformer(model, "a patch")
    layer = _layer_number(patch.layer, model.config)
    pairs = _position_pairs(patch, own, other)
    source = torch.tensor([other.ids], device=model.device)
    with evaluation_mode(model), torch.inference_mode():
        states = read_states(model, source, layer)[0, [position for _, position in pairs]]
    return StatePatch(layer, tuple(position for position, _ in pairs), states)


def _layer_number(name: str, config: ModelConfig) -> int:
    names = [f"encoder.{number}" for number in range(config.encoder_blocks)]
    if name not in names:
        choices = " to ".join(dict.fromkeys((names[0], names[-1]))) if names else "none"
        raise ConfigError(
            f"there is no encoder layer '{printable(name[:40])}' in this model. Its layers are {choices}."
        )
    return names.index(name)


def _position_pairs(patch: Patch, own: TokenRow, other: TokenRow) -> list[tuple[int, int]]:
    """Return the positions of the sentence that are patched, each with its position in the other sentence."""
    if not patch.words:
        if len(own) != len(other):
            raise DataError(
                f"the sentence has {len(own)} tokens and the other sentence {len(other)}, with the end token. All "
                "states can only be patched between sentences of equal length. Patch the states of a word instead."
            )
        return [(position, position) for position in range(len(own))]
    pairs: list[tuple[int, int]] = []
    for word, counterpart in patch.words.items():
        positions, others = own.tokens_of(own.find_word(word)), other.tokens_of(other.find_word(counterpart))
        if len(positions) != len(others):
            raise DataError(
                f"'{printable(word[:40])}' has {len(positions)} tokens and '{printable(counterpart[:40])}' "
                f"{len(others)}. Choose two words with the same number of tokens."
            )
        pairs += zip(positions, others, strict=True)
    return pairs

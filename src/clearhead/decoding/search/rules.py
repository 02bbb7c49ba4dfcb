"""Rules that exclude tokens at the next step by setting their log-probability to -∞.

The other probabilities are not renormalised, so a score remains the model's log-probability. Only the tokens of other
scripts than that of the target language are hidden before, in the softmax.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints, Phrase
from clearhead.decoding.search.settings import SearchSettings
from clearhead.model import ModelConfig

HIDDEN = float("-inf")


def hidden_logits(constraints: Sequence[Constraints], num_tokens: int, device: torch.device) -> Tensor | None:
    """Return what is added to logits (B, K, V): -∞ for tokens of other scripts than that of the language, else 0.

    The shape is (B, 1, V), or (1, 1, V) if all sentences hide the same tokens; None if there are no such tokens. They
    are hidden before the softmax, as in CTranslate2, so that the probabilities of the other tokens sum to 1.
    """
    if not any(constraint.hidden for constraint in constraints):
        return None
    rows = constraints[:1] if len({id(constraint.hidden) for constraint in constraints}) == 1 else constraints
    hidden = torch.zeros(len(rows), 1, num_tokens)
    for row, constraint in enumerate(rows):
        hidden[row, 0, list(constraint.hidden)] = HIDDEN
    return hidden.to(device)


class Rule(Protocol):
    """One reason to exclude tokens at the next step."""

    name: str

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide tokens in log_probs (B, K, V) that must not follow `tokens` (B, K, T), in place.

        `numbers` are the indices of the sentences of these rows in the input of the search.
        """


@dataclass
class NeverWritten:
    """Never write padding, the start token or the unknown token: they are not part of a sentence."""

    token: int
    name: str = "padding"

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide the token."""
        log_probs[..., self.token] = HIDDEN


@dataclass
class LongEnough:
    """Do not end a translation before its minimum length."""

    eos: int
    min_length: int
    name: str = "min_length"

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide eos while there are fewer than `min_length` tokens."""
        if tokens.shape[-1] < self.min_length:
            log_probs[..., self.eos] = HIDDEN


@dataclass
class NoRepeat:
    """Forbid repeated n-grams of `size` tokens."""

    size: int
    name: str = "no_repeat"

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide tokens that would complete an n-gram that already occurs."""
        if tokens.shape[-1] < self.size:
            return
        runs = tokens.unfold(-1, self.size, 1)  # (B, K, runs, size)
        end = tokens[..., tokens.shape[-1] - self.size + 1 :]  # the last size - 1 tokens
        is_again = (runs[..., :-1] == end[..., None, :]).all(dim=-1)  # (B, K, runs)
        sentence, beam, run = is_again.nonzero(as_tuple=True)
        log_probs[sentence, beam, runs[sentence, beam, run, -1]] = HIDDEN


@dataclass
class Forbidden:
    """Do not complete a forbidden phrase: hide its last token after its other tokens."""

    constraints: Sequence[Constraints]
    name: str = "forbidden"

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide tokens that would complete a forbidden phrase."""
        for row, number in enumerate(numbers):
            for phrase in self.constraints[number].forbidden:
                is_prefix = ends_with(tokens[row], phrase[:-1])
                log_probs[row, is_prefix, phrase[-1]] = HIDDEN


@dataclass
class Unfinished:
    """Do not end a translation before it contains every required phrase."""

    eos: int
    constraints: Sequence[Constraints]
    name: str = "required"

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide eos where a required phrase is missing."""
        for row, number in enumerate(numbers):
            for phrase in self.constraints[number].required:
                log_probs[row, ~holds(tokens[row], phrase), self.eos] = HIDDEN


@dataclass
class WholeWords:
    """Do not continue the last word of a required phrase, unless another required phrase goes on there."""

    constraints: Sequence[Constraints]
    name: str = "required"

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Hide tokens that continue a word where a required phrase has just been completed."""
        for row, number in enumerate(numbers):
            constraint = self.constraints[number]
            for phrase in constraint.required:
                size = len(phrase)
                (places,) = ends_with(tokens[row], phrase).nonzero(as_tuple=True)
                if len(places):
                    longer = {
                        other[size] for other in constraint.required if len(other) > size and other[:size] == phrase
                    }
                    hidden = [token for token in constraint.continuing if token not in longer]
                    log_probs[row, places[:, None], tokens.new_tensor(hidden, dtype=torch.long)] = HIDDEN


def ends_with(tokens: Tensor, phrase: Phrase) -> Tensor:
    """Return (K,): whether each row of `tokens` (K, T) ends with a phrase; True for an empty phrase."""
    length = tokens.shape[-1]
    if not phrase:
        return torch.ones(len(tokens), dtype=torch.bool, device=tokens.device)
    if length < len(phrase):
        return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    return (tokens[:, length - len(phrase) :] == tokens.new_tensor(phrase)).all(dim=-1)


def holds(tokens: Tensor, phrase: Phrase) -> Tensor:
    """Return (K,): whether each row of `tokens` (K, T) contains a phrase."""
    if tokens.shape[-1] < len(phrase):
        return torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
    runs = tokens.unfold(-1, len(phrase), 1)  # (K, runs, phrase)
    return (runs == tokens.new_tensor(phrase)).all(dim=-1).any(dim=-1)


@dataclass(frozen=True)
class Rules:
    """The rules of one search, in the order they are applied; a forced prefix overrides them."""

    rules: tuple[Rule, ...]
    constraints: Sequence[Constraints]

    def hide(self, log_probs: Tensor, tokens: Tensor, numbers: Sequence[int]) -> None:
        """Apply every rule to log_probs (B, K, V), in place."""
        place = tokens.shape[-1]
        forced = {
            row: self.constraints[number].prefix[place]
            for row, number in enumerate(numbers)
            if place < len(self.constraints[number].prefix)
        }
        own = {row: log_probs[row, :, token].clone() for row, token in forced.items()}
        for rule in self.rules:
            rule.hide(log_probs, tokens, numbers)
        for row, token in forced.items():
            log_probs[row] = HIDDEN
            log_probs[row, :, token] = own[row]


def rules_of(settings: SearchSettings, constraints: Sequence[Constraints], config: ModelConfig) -> Rules:
    """Return the rules that the settings and constraints require."""
    names = {config.bos: "start", config.unk: "unknown", config.pad: "padding"}
    rules: list[Rule] = [NeverWritten(token, names[token]) for token in config.never_written]
    if settings.min_length:
        rules.append(LongEnough(config.eos, settings.min_length))
    if settings.no_repeat is not None:
        rules.append(NoRepeat(settings.no_repeat))
    if any(constraint.forbidden for constraint in constraints):
        rules.append(Forbidden(constraints))
    if any(constraint.required for constraint in constraints):
        rules += [WholeWords(constraints), Unfinished(config.eos, constraints)]
    return Rules(tuple(rules), constraints)

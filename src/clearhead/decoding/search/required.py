"""Required phrases: candidates compete only with those that contain the same number of required tokens.

Otherwise hypotheses that start an unlikely phrase would drop out of the beam at once. So candidates are grouped into
banks by their number of required tokens, and are taken from the banks in turn, starting with the highest number.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints, Phrase
from clearhead.decoding.search.state import Beams, Candidates


def spread(candidates: Candidates, beams: Beams, log_probs: Tensor, constraints: Sequence[Constraints]) -> Candidates:
    """Return the same number of candidates, including continuations of required phrases, taken bank by bank."""
    size = candidates.tokens.shape[1]
    rows = [
        _spread_row(candidates, beams, log_probs, constraints[number].required, row)[:size]
        for row, number in enumerate(beams.numbers)
    ]
    filled = [[*row, *[(0, 0, -math.inf)] * (size - len(row))] for row in rows]
    parents, tokens = (
        torch.tensor([[entry[part] for entry in row] for row in filled], device=log_probs.device) for part in (0, 1)
    )
    totals = torch.tensor([[entry[2] for entry in row] for row in filled]).to(candidates.totals)
    places = torch.arange(len(filled), device=log_probs.device)[:, None]
    return Candidates(
        parents, tokens, log_probs[places, parents, tokens], totals, torch.zeros_like(candidates.is_ended)
    )


def _spread_row(
    candidates: Candidates, beams: Beams, log_probs: Tensor, required: Sequence[Phrase], row: int
) -> list[tuple[int, int, float]]:
    """Return the candidates of one sentence as (parent, token, total), in order of preference."""
    parents, tokens, totals = (
        part[row].tolist() for part in (candidates.parents, candidates.tokens, candidates.totals)
    )
    best = {(parent, token): total for parent, token, total in zip(parents, tokens, totals, strict=True)}
    prefixes = beams.tokens[row].tolist()
    for parent, start in enumerate(beams.totals[row].tolist()):
        for token in next_tokens(prefixes[parent], required):
            best[parent, token] = start + float(log_probs[row, parent, token])
    banks: dict[int, list[tuple[int, int, float]]] = {}
    for (parent, token), total in sorted(best.items(), key=lambda entry: -entry[1]):
        if total > -math.inf:
            held = held_tokens([*prefixes[parent], token], required)
            banks.setdefault(held, []).append((parent, token, total))
    in_turn = zip_longest(*(banks[held] for held in sorted(banks, reverse=True)))
    return [candidate for turn in in_turn for candidate in turn if candidate is not None]


def holds_all(tokens: Sequence[int], constraints: Constraints) -> bool:
    """Return whether `tokens` contains every required phrase."""
    return all(_is_in(phrase, tokens) for phrase in constraints.required)


def held_tokens(tokens: Sequence[int], required: Sequence[Phrase]) -> int:
    """Count required tokens: those of complete phrases, and of the longest phrase partly written at the end."""
    missing = [phrase for phrase in required if not _is_in(phrase, tokens)]
    complete = sum(len(phrase) for phrase in required if phrase not in missing)
    return complete + max((_matched_length(phrase, tokens) for phrase in missing), default=0)


def next_tokens(tokens: Sequence[int], required: Sequence[Phrase]) -> set[int]:
    """Return the tokens that continue or start a missing phrase."""
    missing = [phrase for phrase in required if not _is_in(phrase, tokens)]
    return {phrase[_matched_length(phrase, tokens)] for phrase in missing} | {phrase[0] for phrase in missing}


def _is_in(phrase: Phrase, tokens: Sequence[int]) -> bool:
    return phrase[0] in tokens and any(
        tuple(tokens[i : i + len(phrase)]) == phrase for i in range(len(tokens) - len(phrase) + 1)
    )


def _matched_length(phrase: Phrase, tokens: Sequence[int]) -> int:
    """Return the length of the longest prefix of `phrase` (not all of it) that `tokens` ends with."""
    for n in range(min(len(phrase) - 1, len(tokens)), 0, -1):
        # most phrases fail at the last token, without a slice
        if tokens[-1] == phrase[n - 1] and tuple(tokens[len(tokens) - n :]) == phrase[:n]:
            return n
    return 0

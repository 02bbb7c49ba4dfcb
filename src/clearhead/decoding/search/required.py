"""Phrases that a translation must hold: hypotheses compete with those that hold as much of them, not with all.

Left to themselves, hypotheses that begin an unlikely phrase would leave the beam at once. So candidates are put in
banks by how many required tokens they hold, and the banks take turns, the fullest first.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest

import torch
from torch import Tensor

from clearhead.decoding.search.constraints import Constraints, Phrase
from clearhead.decoding.search.state import Beams, Candidates


def spread(found: Candidates, beams: Beams, log_probs: Tensor, constraints: Sequence[Constraints]) -> Candidates:
    """Return as many candidates as were found, those that go on with a required phrase among them, bank by bank."""
    size = found.tokens.shape[1]
    rows = [
        _spread_row(found, beams, log_probs, constraints[number].required, row)[:size]
        for row, number in enumerate(beams.numbers)
    ]
    filled = [[*row, *[(0, 0, -math.inf)] * (size - len(row))] for row in rows]
    parents, tokens = (
        torch.tensor([[each[part] for each in row] for row in filled], device=log_probs.device) for part in (0, 1)
    )
    totals = torch.tensor([[each[2] for each in row] for row in filled]).to(found.totals)
    places = torch.arange(len(filled), device=log_probs.device)[:, None]
    return Candidates(parents, tokens, log_probs[places, parents, tokens], totals, torch.zeros_like(found.is_ended))


def _spread_row(
    found: Candidates, beams: Beams, log_probs: Tensor, required: Sequence[Phrase], row: int
) -> list[tuple[int, int, float]]:
    """Return the candidates of one sentence as (parent, token, total), in the order in which they are considered."""
    parents, tokens, totals = (part[row].tolist() for part in (found.parents, found.tokens, found.totals))
    best = {(parent, token): total for parent, token, total in zip(parents, tokens, totals, strict=True)}
    written = beams.written[row].tolist()
    for parent, start in enumerate(beams.totals[row].tolist()):
        for token in next_tokens(written[parent], required):
            best[parent, token] = start + float(log_probs[row, parent, token])
    banks: dict[int, list[tuple[int, int, float]]] = {}
    for (parent, token), total in sorted(best.items(), key=lambda each: -each[1]):
        if total > -math.inf:
            held = held_tokens([*written[parent], token], required)
            banks.setdefault(held, []).append((parent, token, total))
    in_turn = zip_longest(*(banks[held] for held in sorted(banks, reverse=True)))
    return [each for turn in in_turn for each in turn if each is not None]


def holds_all(written: Sequence[int], constraints: Constraints) -> bool:
    """Return whether every required phrase is there."""
    return all(_is_in(phrase, written) for phrase in constraints.required)


def held_tokens(written: Sequence[int], required: Sequence[Phrase]) -> int:
    """Return how many required tokens are there: of whole phrases, and of the longest one that is begun at the end."""
    missing = [phrase for phrase in required if not _is_in(phrase, written)]
    whole = sum(len(phrase) for phrase in required if phrase not in missing)
    return whole + max((_begun(phrase, written) for phrase in missing), default=0)


def next_tokens(written: Sequence[int], required: Sequence[Phrase]) -> set[int]:
    """Return the tokens that go on with a missing phrase, or begin one."""
    missing = [phrase for phrase in required if not _is_in(phrase, written)]
    return {phrase[_begun(phrase, written)] for phrase in missing} | {phrase[0] for phrase in missing}


def _is_in(phrase: Phrase, written: Sequence[int]) -> bool:
    return any(tuple(written[i : i + len(phrase)]) == phrase for i in range(len(written) - len(phrase) + 1))


def _begun(phrase: Phrase, written: Sequence[int]) -> int:
    """Return the length of the longest part of a phrase, from its beginning, that `written` ends with."""
    return next(
        n for n in range(min(len(phrase) - 1, len(written)), -1, -1) if tuple(written[len(written) - n :]) == phrase[:n]
    )

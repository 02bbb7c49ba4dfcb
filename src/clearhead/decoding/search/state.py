"""The state of a beam search: the current hypotheses, and the candidates for the next step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.decoding.search.hypothesis import Hypothesis


@dataclass(frozen=True, eq=False)
class Beams:
    """Unfinished hypotheses, best first; `totals` are their log P, -∞ where a sentence has fewer than `beam`."""

    tokens: Tensor  # (B, K, T)
    log_probs: Tensor  # (B, K, T), of each token
    totals: Tensor  # (B, K)
    numbers: list[int]  # the sentence of each row

    @staticmethod
    def start(source: Tensor, dtype: torch.dtype) -> "Beams":
        """Return one empty hypothesis for each sentence."""
        nothing = source.new_empty(len(source), 1, 0)
        wide = torch.promote_types(dtype, torch.float32)
        totals = torch.zeros(len(source), 1, device=source.device, dtype=wide)
        return Beams(nothing, nothing.to(wide), totals, list(range(len(source))))

    @property
    def length(self) -> int:
        """The number of tokens in each hypothesis."""
        return self.tokens.shape[-1]

    def only(self, rows: Tensor) -> "Beams":
        """Return the sentences at `rows`."""
        numbers = [self.numbers[row] for row in rows.tolist()]
        return Beams(self.tokens[rows], self.log_probs[rows], self.totals[rows], numbers)

    def hypothesis(self, row: int, beam: int, score: float) -> Hypothesis:
        """Return one hypothesis with a score, not ended."""
        return replace(self.hypotheses([(row, beam)])[0], score=score)

    def hypotheses(self, places: Sequence[tuple[int, int]]) -> list[Hypothesis]:
        """Return the hypotheses at (row, beam) positions, not ended and without a score."""
        if not places:
            return []
        row, beam = torch.tensor(places, device=self.tokens.device).unbind(1)
        rows = zip(self.tokens[row, beam].tolist(), self.log_probs[row, beam].tolist(), strict=True)
        return [Hypothesis(tuple(tokens), tuple(log_probs), math.nan, has_ended=False) for tokens, log_probs in rows]


class Candidate(NamedTuple):
    """One continuation of hypothesis `parent` by a token: log P of the token and in total, and whether it ends."""

    parent: int
    token: int
    log_prob: float
    total: float
    is_ended: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """Continuations of the hypotheses at `parents` by tokens, in order of preference: each (B, C)."""

    parents: Tensor
    tokens: Tensor
    log_probs: Tensor  # of the token
    totals: Tensor  # log P of the hypothesis with the token
    is_ended: Tensor  # whether it ends here

    def tolist(self) -> list[list[Candidate]]:
        """Return the candidates of every sentence."""
        return [[_candidate(numbers) for numbers in row] for row in self.fetched()]

    def fetched(self) -> list[list[list[float]]]:
        """Return (B, C, 5) as numbers, in the order of Candidate, in a single transfer: each one waits for the GPU."""
        parts = (self.parents, self.tokens, self.log_probs, self.totals, self.is_ended)
        rows: list[list[list[float]]] = torch.stack([part.double() for part in parts], dim=-1).tolist()
        return rows

    def ended(self, beam: int) -> "Endings":
        """Return the ended ones among the best `beam` candidates of each sentence, and the rows without candidates."""
        rows = self.fetched()
        endings = [
            (row, _candidate(numbers))
            for row, candidates in enumerate(rows)
            for numbers in candidates[:beam]
            if numbers[4] and numbers[3] > -math.inf
        ]
        return Endings(endings, [row for row, candidates in enumerate(rows) if candidates[0][3] == -math.inf])

    def chosen(self, beams: Beams, choice: Tensor) -> Beams:
        """Return the candidates at `choice` (B, K) as hypotheses."""
        parents = self.parents.gather(1, choice)[..., None].expand(-1, -1, beams.length)  # (B, K, T)
        return Beams(
            torch.cat((beams.tokens.gather(1, parents), self.tokens.gather(1, choice)[..., None]), dim=-1),
            torch.cat((beams.log_probs.gather(1, parents), self.log_probs.gather(1, choice)[..., None]), dim=-1),
            self.totals.gather(1, choice),
            beams.numbers,
        )


class Endings(NamedTuple):
    """Ended candidates with the rows of their sentences, and the rows of sentences without a continuation."""

    ended: list[tuple[int, Candidate]]
    stuck: list[int]


def _candidate(numbers: Sequence[float]) -> Candidate:
    parent, token, log_prob, total, is_ended = numbers
    return Candidate(int(parent), int(token), log_prob, total, bool(is_ended))

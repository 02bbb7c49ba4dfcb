"""Where a beam search stands: the hypotheses that go on, and the candidates to come after them."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.decoding.hypothesis import Hypothesis


@dataclass(frozen=True, eq=False)
class Beams:
    """Hypotheses that go on, best first; `totals` are their log P, -∞ where a sentence has fewer than `beam`."""

    written: Tensor  # (B, K, T)
    log_probs: Tensor  # (B, K, T), of each token
    totals: Tensor  # (B, K)
    numbers: list[int]  # which sentence each row is of

    @staticmethod
    def start(source: Tensor, dtype: torch.dtype) -> "Beams":
        """Return one empty hypothesis for each sentence."""
        nothing = source.new_empty(len(source), 1, 0)
        wide = torch.promote_types(dtype, torch.float32)
        totals = torch.zeros(len(source), 1, device=source.device, dtype=wide)
        return Beams(nothing, nothing.to(wide), totals, list(range(len(source))))

    @property
    def length(self) -> int:
        """How many tokens each has written."""
        return self.written.shape[-1]

    def only(self, rows: Tensor) -> "Beams":
        """Return the sentences at `rows`."""
        numbers = [self.numbers[row] for row in rows.tolist()]
        return Beams(self.written[rows], self.log_probs[rows], self.totals[rows], numbers)

    def hypothesis(self, row: int, beam: int, score: float) -> Hypothesis:
        """Return one of them as it is, not ended."""
        tokens, log_probs = self.written[row, beam].tolist(), self.log_probs[row, beam].tolist()
        return Hypothesis(tuple(tokens), tuple(log_probs), score, has_ended=False)


class Candidate(NamedTuple):
    """One continuation: of which hypothesis, by which token, the log P of the token and of the whole."""

    parent: int
    token: int
    log_prob: float
    total: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Continuations of hypotheses (`parents`) by tokens, in the order in which they are considered: each (B, C)."""

    parents: Tensor
    tokens: Tensor
    log_probs: Tensor  # of the token
    totals: Tensor  # of the whole
    is_ended: Tensor  # whether it goes no further

    def tolist(self) -> list[list[Candidate]]:
        """Return the candidates of every sentence."""
        parts = (part.tolist() for part in (self.parents, self.tokens, self.log_probs, self.totals))
        return [[Candidate(*each) for each in zip(*row, strict=True)] for row in zip(*parts, strict=True)]

    def chosen(self, beams: Beams, choice: Tensor) -> Beams:
        """Return the hypotheses that the candidates at `choice` (B, K) are."""
        parents = self.parents.gather(1, choice)[..., None].expand(-1, -1, beams.length)  # (B, K, T)
        return Beams(
            torch.cat((beams.written.gather(1, parents), self.tokens.gather(1, choice)[..., None]), dim=-1),
            torch.cat((beams.log_probs.gather(1, parents), self.log_probs.gather(1, choice)[..., None]), dim=-1),
            self.totals.gather(1, choice),
            beams.numbers,
        )

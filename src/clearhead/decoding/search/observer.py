"""Observe the choices of a beam search, to explain it, and stop it for a sentence that is no longer wanted."""

from typing import Protocol

from torch import Tensor

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.rules import Rules
from clearhead.decoding.search.state import Beams, Candidates


class SearchObserver(Protocol):
    """Is called at every step of a beam search; it must not change anything."""

    is_on: bool

    def is_wanted(self, number: int) -> bool:
        """Return whether the translation of a sentence is still wanted; if not, its search stops after this step."""

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Receive the log-probabilities (B, K, V) of the next tokens after `beams`, before rules hide any of them."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Receive the indices of the candidates that are kept: `choice` (B, K)."""

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """Receive an ended hypothesis of a sentence, and the one that it pushed out of the pool."""

    def stopped(self, number: int, length: int, best: float) -> None:
        """Receive the length at which the search of a sentence stopped, and the best unfinished log P."""


class NoObserver:
    """An observer that does nothing."""

    is_on = False

    def is_wanted(self, number: int) -> bool:
        """Return True."""
        return True

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Do nothing."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Do nothing."""

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """Do nothing."""

    def stopped(self, number: int, length: int, best: float) -> None:
        """Do nothing."""


NO_OBSERVER = NoObserver()

"""Who looks on while a beam search chooses: nobody, unless the search is to be explained."""

from typing import Protocol

from torch import Tensor

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.rules import Rules
from clearhead.decoding.search.state import Beams, Candidates


class SearchObserver(Protocol):
    """Sees every step of a beam search; it changes nothing."""

    is_on: bool

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """See what the model says (B, K, V) of what comes after `beams`, before any rule hides some of it."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """See which candidates go on: `choice` (B, K)."""

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """See a hypothesis of a sentence that has ended, and the one that had to make room for it."""

    def stopped(self, number: int, length: int, best: float) -> None:
        """See a sentence done after so many tokens, and the log P of the best that was still going on."""


class NoObserver:
    """Looks at nothing."""

    is_on = False

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Look away."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Look away."""

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        """Look away."""

    def stopped(self, number: int, length: int, best: float) -> None:
        """Look away."""


NO_OBSERVER = NoObserver()

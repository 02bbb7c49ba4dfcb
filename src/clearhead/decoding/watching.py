"""Who looks on while a beam search chooses: nobody, unless the search is to be explained."""

from typing import Protocol

from torch import Tensor

from clearhead.decoding.rules import Rules
from clearhead.decoding.state import Beams, Candidates


class Watcher(Protocol):
    """Sees every step of a beam search; it changes nothing."""

    is_on: bool

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """See what the model says (B, K, V) of what comes after `beams`, before any rule hides some of it."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """See which candidates go on: `choice` (B, K)."""


class Nobody:
    """Looks at nothing."""

    is_on = False

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        """Look away."""

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        """Look away."""


NOBODY = Nobody()

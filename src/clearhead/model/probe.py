"""A probe: what a forward pass does besides computing its output. It is an argument, and no model stores it."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from clearhead.model.gates import NO_GATES, Gates
from clearhead.steps import NO_TRACE, Tracer

# The number of an encoder layer and its output (B, S, D) → the output to continue with
StateEdit = Callable[[int, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Probe:
    """Record the steps, scale heads, or replace states of the encoder; the default does nothing.

    A pass with an edit has no trace, because replaced states were computed in another pass.
    """

    trace: Tracer = NO_TRACE
    gates: Gates = NO_GATES
    edit: StateEdit | None = None

    def at(self, *place: str | int) -> "Probe":
        """Return the probe as seen from `place`, as in `at("encoder", 0)`."""
        if not (self.trace.is_on or self.gates.is_on):
            return self
        return Probe(self.trace.at(*place), self.gates.at(*place), self.edit)


NO_PROBE = Probe()

"""Run a language model one step at a time after prompts, so that the searches for translations continue texts too."""

from collections.abc import Callable

from torch import Tensor

from clearhead.decoding.search.stepper import Stepper
from clearhead.model import SequenceModel
from clearhead.steps import NO_TRACE, Tracer


class TextStepper(Stepper):
    """A model without an encoder that has read prompts (B, P) of one length, each with its start token.

    The log-probabilities and rules of a search concern only what follows the prompts. `on_step` receives the tokens
    (B, K, T) of the continuations so far, before each step.
    """

    def __init__(self, model: SequenceModel, prompts: Tensor, on_step: Callable[[Tensor], None] | None = None) -> None:
        self.model, self.hidden, self.memory = model, None, None
        self.cache = model.start_beams(None, len(prompts), prompts.device)
        for place in range(prompts.shape[1] - 1):  # the last token is read by the first step
            model.decode_states(prompts[:, place : place + 1], None, self.cache)
        self._last, self._on_step = prompts[:, -1:], on_step

    def step(self, tokens: Tensor, trace: Tracer = NO_TRACE) -> Tensor:
        """Read the last token of every continuation (B, K, T); return log P of every next token: (B, K, V)."""
        if self._on_step is not None:
            self._on_step(tokens)
        return super().step(tokens, trace)

    def _first(self, tokens: Tensor) -> Tensor:
        return self._last

    def keep(self, rows: Tensor) -> None:
        """Keep only the texts at `rows`."""
        super().keep(rows)
        self._last = self._last[rows]

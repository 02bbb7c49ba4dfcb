"""Greedy and beam search in NumPy for models that read one token at a time: the NumPy engine, and exports to ONNX."""

from collections import deque
from collections.abc import Sequence
from typing import Generic

import numpy as np

from clearhead.decoding.engines.engine import EngineNeeds, ModelInfo, Request, Use, batches_by_length, halves
from clearhead.decoding.search.constraints import NO_CONSTRAINTS
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.numpy_search import C, StepwiseModel, numpy_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError

LACKING_USES: dict[Use, str] = {
    "prefix": "a forced prefix",
    "forbidden": "forbidden phrases",
    "required": "required phrases",
    "explain": "explanations",
    "gates": "gates on attention heads",
}


def stepwise_lacks(needs: EngineNeeds) -> str | None:
    """Return why a search in NumPy does not support `needs`, as a clause (`it does not sample`), or None."""
    settings = needs.settings
    reasons = {
        **{f"it does not support {LACKING_USES[use]}": True for use in sorted(needs.uses) if use in LACKING_USES},
        "it does not sample": settings.is_sampling,
        "it does not support no_repeat": settings.no_repeat is not None,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


class StepwiseEngine(Generic[C]):
    """An engine whose model reads one token at a time, with greedy and beam search in NumPy."""

    name = "stepwise"

    def __init__(self, model: StepwiseModel[C]) -> None:
        self._stepwise = model

    @property
    def is_finite(self) -> bool:
        """Whether it computes finite numbers, tried with an empty sentence."""
        config = self._stepwise.config
        with np.errstate(all="ignore"):
            cache = self._stepwise.encode(np.array([[config.eos]]))
            return bool(np.isfinite(self._stepwise.step(np.array([[config.start_id]]), cache)).all())

    @property
    def info(self) -> ModelInfo:
        """The special ids and the length limit of the model."""
        return ModelInfo.of(self._stepwise.config)

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why it does not support `needs`, or None."""
        return stepwise_lacks(needs)

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first; raise ConfigError if this engine lacks what they need."""
        reason = self.lacks(EngineNeeds(settings))
        if reason is None and any(request.constraints != NO_CONSTRAINTS for request in requests):
            reason = "it does not support constraints"
        if reason is not None:
            raise ConfigError(
                f"the engine {self.name} cannot do this search: {reason}. Load the model with engine='torch'."
            )
        translations: list[list[Hypothesis]] = [[] for _ in requests]
        batches = deque(batches_by_length(requests, settings.tokens_on("cpu")))
        while batches:
            indices = batches.popleft()
            try:
                outcomes = self._search([requests[index] for index in indices], settings)
            except MemoryError:
                batches.extendleft(reversed(halves(indices, requests)))
                continue
            for index, hypotheses in zip(indices, outcomes, strict=True):
                translations[index] = hypotheses
        return translations

    def _search(self, batch: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        longest = max(len(request.ids) for request in batch)
        source = np.full((len(batch), longest), self._stepwise.config.pad)
        for row, request in enumerate(batch):
            source[row, : len(request.ids)] = request.ids
        limits = [request.limit for request in batch]
        with np.errstate(over="ignore"):  # exp(-x) of SiLU, whose result is right nevertheless
            hidden = batch[0].constraints.hidden
            return numpy_search(
                self._stepwise, source, limits, settings, hidden, lambda number: batch[number].is_wanted()
            )

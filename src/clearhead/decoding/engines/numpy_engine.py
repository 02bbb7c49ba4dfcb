"""The NumPy engine: greedy search, beam search and alignments on a CPU, without torch.

It starts sooner than the other engines and needs nothing but the core installation, so it translates a few sentences.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from clearhead.decoding.engines.engine import (
    DeviceName,
    EngineNeeds,
    ModelInfo,
    Precision,
    Request,
    Use,
    batches_by_length,
    halves,
    not_finite,
)
from clearhead.decoding.search.constraints import NO_CONSTRAINTS
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.numpy_search import numpy_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.errors import ConfigError
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_config
from clearhead.model.numpy_transformer import Array, NumpyTransformer, numpy_lacks

_LACKING: dict[Use, str] = {
    "prefix": "a forced prefix",
    "forbidden": "forbidden phrases",
    "required": "required phrases",
    "explain": "explanations",
    "alternatives": "alternatives",
    "gates": "gates on attention heads",
}


def lacks(model: ModelFolder, needs: EngineNeeds, device: DeviceName, precision: Precision) -> str | None:
    """Return why this engine does not support `needs`, as a clause (`it does not sample`), or None."""
    if precision not in ("auto", "float32"):
        return f"it computes in float32, not in {precision}"
    if device == "cuda":
        return "it does not use a GPU"
    if model.is_marian:
        return "it does not read OPUS-MT folders"
    return _search_lacks(needs) or numpy_lacks(load_config(model))


def _search_lacks(needs: EngineNeeds) -> str | None:
    settings = needs.settings
    reasons = {
        **{f"it does not support {_LACKING[use]}": True for use in sorted(needs.uses) if use in _LACKING},
        "it does not sample": settings.is_sampling,
        "it has no coverage penalty": bool(settings.coverage_penalty),
        "it does not support no_repeat": settings.no_repeat is not None,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


def open_numpy(model: ModelFolder) -> "NumpyEngine":
    """Load a model, and check that it computes finite numbers."""
    weights = load_arrays(model)
    engine = NumpyEngine(NumpyTransformer(weights.config, weights.arrays))
    if not engine.is_finite:
        raise not_finite(model.folder, "float32")
    return engine


class NumpyEngine:
    """A model in float32 on a CPU."""

    name = "numpy"
    described = "numpy, cpu, float32"

    def __init__(self, model: NumpyTransformer) -> None:
        self.model = model

    @property
    def is_finite(self) -> bool:
        """Whether it computes finite numbers, tried with an empty sentence."""
        with np.errstate(all="ignore"):
            cache = self.model.encode(np.array([[self.model.config.eos]]))
            return bool(np.isfinite(self.model.step(np.array([[self.model.config.start_id]]), cache)).all())

    @property
    def info(self) -> ModelInfo:
        """The special ids and the length limit of the model."""
        return ModelInfo.of(self.model.config)

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why it does not support `needs`, or None."""
        return _search_lacks(needs)

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first; raise ConfigError if this engine lacks what they need."""
        reason = _search_lacks(EngineNeeds(settings))
        if reason is None and any(request.constraints != NO_CONSTRAINTS for request in requests):
            reason = "it does not support constraints"
        if reason is not None:
            raise ConfigError(f"the engine numpy cannot do this search: {reason}. Load the model with engine='torch'.")
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
        source = np.full((len(batch), longest), self.model.config.pad)
        for row, request in enumerate(batch):
            source[row, : len(request.ids)] = request.ids
        limits = [request.limit for request in batch]
        with np.errstate(over="ignore"):  # exp(-x) of SiLU, whose result is right nevertheless
            return numpy_search(self.model, source, limits, settings, batch[0].constraints.hidden)

    def cross_attention(self, source: Sequence[int], target: Sequence[int]) -> list[Array]:
        """Return the attention (H, T + 1, S) of every layer for a translation over a sentence that includes eos."""
        with np.errstate(over="ignore"):
            return self.model.cross_attention(np.array(source), target)

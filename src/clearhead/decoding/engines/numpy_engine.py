"""The NumPy engine: greedy search, beam search and alignments on a CPU, without torch.

It starts sooner than the other engines and needs nothing but the core installation, so it translates a few sentences.
Its search also runs an export to ONNX, for the certificate.
"""

from collections.abc import Sequence
from typing import Generic

import numpy as np

from clearhead.decoding.alignment import CrossAttention
from clearhead.decoding.engines.engine import (
    DeviceName,
    EngineNeeds,
    Precision,
    Request,
    batches_by_length,
    not_finite,
    refuse_search,
    search_in_batches,
    unsupported_use,
)
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.numpy_search import C, StepwiseModel, numpy_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_config
from clearhead.model.numpy_transformer import NumpyCache, NumpyTransformer, numpy_lacks


def lacks(model: ModelFolder, needs: EngineNeeds, device: DeviceName, precision: Precision) -> str | None:
    """Return why this engine does not support `needs`, as a clause (`it does not sample`), or None."""
    if precision not in ("auto", "float32"):
        return f"it computes in float32, not in {precision}"
    if device == "cuda":
        return "it does not use a GPU"
    if model.is_marian:
        return "it does not read OPUS-MT folders"
    return search_lacks(needs) or numpy_lacks(load_config(model))


def search_lacks(needs: EngineNeeds) -> str | None:
    """Return why a search in NumPy does not support `needs`, as a clause, or None."""
    if reason := unsupported_use(needs.uses, ("alignment", "token_scores")):
        return reason
    if needs.settings.is_sampling:
        return "it does not sample"
    return None if needs.settings.no_repeat is None else "it does not support no_repeat"


def open_numpy(model: ModelFolder) -> "NumpyEngine":
    """Load a model, and check that it computes finite numbers."""
    weights = load_arrays(model)
    engine = NumpyEngine(NumpyTransformer(weights.config, weights.arrays))
    if not engine.is_finite:
        raise not_finite(model.folder, "float32")
    return engine


class StepwiseEngine(Generic[C]):
    """An engine whose model reads one token at a time, with greedy and beam search in NumPy."""

    name = "stepwise"

    def __init__(self, model: StepwiseModel[C]) -> None:
        self._stepwise, self.config = model, model.config

    @property
    def is_finite(self) -> bool:
        """Whether it computes finite numbers, tried with an empty sentence."""
        with np.errstate(all="ignore"):
            cache = self._stepwise.encode(np.array([[self.config.eos]]))
            return bool(np.isfinite(self._stepwise.step(np.array([[self.config.start_id]]), cache)).all())

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why it does not support `needs`, or None."""
        return search_lacks(needs)

    def translate(self, requests: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        """Return the hypotheses of each request, best first; raise ConfigError if this engine lacks what they need."""
        refuse_search(self.name, search_lacks(EngineNeeds(settings)), requests)
        batches = batches_by_length(requests, settings.tokens_on("cpu"))
        return search_in_batches(requests, batches, lambda batch: self._search(batch, settings))

    def _search(self, batch: Sequence[Request], settings: SearchSettings) -> list[list[Hypothesis]]:
        longest = max(len(request.ids) for request in batch)
        source = np.full((len(batch), longest), self.config.pad)
        for row, request in enumerate(batch):
            source[row, : len(request.ids)] = request.ids
        limits = [request.limit for request in batch]
        with np.errstate(over="ignore"):  # exp(-x) of SiLU, whose result is right nevertheless
            hidden = batch[0].constraints.hidden
            return numpy_search(
                self._stepwise, source, limits, settings, hidden, lambda number: batch[number].is_wanted()
            )


class NumpyEngine(StepwiseEngine[NumpyCache]):
    """A model in float32 on a CPU."""

    name = "numpy"
    described = "numpy, cpu, float32"

    def __init__(self, model: NumpyTransformer) -> None:
        super().__init__(model)
        self.model = model

    def cross_attention(self, source: Sequence[int], target: Sequence[int]) -> CrossAttention:
        """Return the attention of a translation over a sentence that includes eos."""
        with np.errstate(over="ignore"):
            return CrossAttention(self.model.cross_attention(np.array(source), target))

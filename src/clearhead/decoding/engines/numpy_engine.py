"""The NumPy engine: greedy search, beam search and alignments on a CPU, without torch.

It starts sooner than the other engines and needs nothing but the core installation, so it translates a few sentences.
"""

from collections.abc import Sequence

import numpy as np

from clearhead.decoding.engines.engine import DeviceName, EngineNeeds, Precision, not_finite
from clearhead.decoding.engines.stepwise_engine import StepwiseEngine, stepwise_lacks
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_config
from clearhead.model.numpy_transformer import Array, NumpyCache, NumpyTransformer, numpy_lacks


def lacks(model: ModelFolder, needs: EngineNeeds, device: DeviceName, precision: Precision) -> str | None:
    """Return why this engine does not support `needs`, as a clause (`it does not sample`), or None."""
    if precision not in ("auto", "float32"):
        return f"it computes in float32, not in {precision}"
    if device == "cuda":
        return "it does not use a GPU"
    if model.is_marian:
        return "it does not read OPUS-MT folders"
    return stepwise_lacks(needs) or numpy_lacks(load_config(model))


def open_numpy(model: ModelFolder) -> "NumpyEngine":
    """Load a model, and check that it computes finite numbers."""
    weights = load_arrays(model)
    engine = NumpyEngine(NumpyTransformer(weights.config, weights.arrays))
    if not engine.is_finite:
        raise not_finite(model.folder, "float32")
    return engine


class NumpyEngine(StepwiseEngine[NumpyCache]):
    """A model in float32 on a CPU."""

    name = "numpy"
    described = "numpy, cpu, float32"

    def __init__(self, model: NumpyTransformer) -> None:
        super().__init__(model)
        self.model = model

    def cross_attention(self, source: Sequence[int], target: Sequence[int]) -> list[Array]:
        """Return the attention (H, T + 1, S) of every layer for a translation over a sentence that includes eos."""
        with np.errstate(over="ignore"):
            return self.model.cross_attention(np.array(source), target)

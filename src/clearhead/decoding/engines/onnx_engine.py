"""The ONNX engine: greedy and beam search on the graphs of `formats/onnx_transformer.py`, run by onnxruntime.

It needs no torch. An exported folder is opened as it is; for any other model the graphs are built in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from clearhead.decoding.engines.engine import DeviceName, EngineNeeds, Precision, not_finite
from clearhead.decoding.engines.stepwise_engine import StepwiseEngine, stepwise_lacks
from clearhead.errors import CheckpointError, ConfigError, printable
from clearhead.formats.export_file import read_export
from clearhead.formats.model_folder import ModelFolder, load_arrays, load_config
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import Array, Ids, numpy_lacks

PACKAGES = ("onnx", "onnxruntime")
_PRECISIONS: Mapping[Precision, str] = {"auto": "float32", "float32": "float32", "int8": "int8"}


def lacks(model: ModelFolder, needs: EngineNeeds, device: DeviceName, precision: Precision) -> str | None:
    """Return why this engine does not support `needs`, as a clause (`it does not sample`), or None."""
    if precision not in _PRECISIONS:
        return f"it computes in float32 or int8, not in {precision}"
    if device == "cuda":
        return "it does not use a GPU"
    missing = next((package for package in PACKAGES if find_spec(package) is None), None)
    if missing is not None:
        return f"{missing} is not installed"
    return _search_lacks(needs) or numpy_lacks(load_config(model))


def _search_lacks(needs: EngineNeeds) -> str | None:
    return "it does not support alignments" if "alignment" in needs.uses else stepwise_lacks(needs)


def open_onnx(model: ModelFolder, precision: Precision = "auto", num_threads: int = 0) -> "OnnxEngine":
    """Load a model; an export has its precision already. 0 threads means one for each core."""
    if precision not in _PRECISIONS:
        raise ConfigError(f"the engine onnx does not support {precision}. Use float32 or int8.")
    from clearhead.formats.onnx_files import read_onnx_models
    from clearhead.formats.onnx_transformer import onnx_models

    if model.runtime == "onnx":
        model.verify()
        models, kind = read_onnx_models(model.folder), read_export(model.folder).precision
    else:
        kind = "int8" if precision == "int8" else "float32"
        models = onnx_models(load_arrays(model), kind)
    encoder, step = (part.SerializeToString() for part in (models.encoder, models.step))
    try:
        transformer = OnnxTransformer(load_config(model), encoder, step, num_threads)
    except RuntimeError as wrong:
        raise CheckpointError(
            f"onnxruntime cannot open {printable(str(model.folder))} ({printable(str(wrong)[:200])}). "
            "Export the model again."
        ) from None
    engine = OnnxEngine(transformer, kind)
    if not engine.is_finite:
        raise not_finite(model.folder, kind)
    return engine


@dataclass
class OnnxCache:
    """What the decoder has computed for B sentences with K hypotheses each, under the names of the graph's inputs."""

    memory: dict[str, npt.NDArray[Any]]  # keys, values and is_hidden of the source: (B, …)
    past: dict[str, Array] = field(default_factory=dict)  # of the target: (B, K, H, T, E)
    length: int = 0  # tokens read so far

    def follow(self, parents: Ids) -> None:
        """Continue with new hypotheses (B, K′), each with the past of its parent."""
        rows = np.arange(len(parents))[:, None]
        self.past = {name: array[rows, parents] for name, array in self.past.items()}

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only the sentences at `rows`."""
        self.memory = {name: array[rows] for name, array in self.memory.items()}
        self.past = {name: array[rows] for name, array in self.past.items()}


class OnnxTransformer:
    """The two graphs of a model, loaded by onnxruntime on a CPU."""

    def __init__(self, config: ModelConfig, encoder: bytes, step: bytes, num_threads: int = 0) -> None:
        import onnxruntime

        from clearhead.formats.onnx_transformer import past_names

        self.config = config
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        options.log_severity_level = 3  # errors only
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # leave idle cores to others
        self._encoder, self._step = (
            onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
            for graph in (encoder, step)
        )
        self._memory_names = [output.name for output in self._encoder.get_outputs()]
        self._past_names = past_names(config, "past")

    def encode(self, source: Ids) -> OnnxCache:
        """Encode sentences (B, S), padded on the right; return a cache in which nothing is decoded yet."""
        outputs = self._encoder.run(None, {"source": source.astype(np.int64, copy=False)})
        config, width = self.config, self.config.head_width("decoder")
        nothing = np.zeros((len(source), 1, config.num_heads, 0, width), dtype=np.float32)
        memory = dict(zip(self._memory_names, outputs, strict=True))
        return OnnxCache(memory, dict.fromkeys(self._past_names, nothing))

    def step(self, tokens: Ids, cache: OnnxCache) -> Array:
        """Read the last token of every hypothesis (B, K); return the logits of the next one: (B, K, V)."""
        inputs: dict[str, npt.NDArray[Any]] = {"tokens": tokens.astype(np.int64, copy=False), **cache.memory}
        if self.config.has_position_table:
            inputs["length"] = np.array(cache.length, dtype=np.int64)
        logits, *past = self._step.run(None, inputs | cache.past)
        cache.past, cache.length = dict(zip(self._past_names, past, strict=True)), cache.length + 1
        return np.asarray(logits, dtype=np.float32)


class OnnxEngine(StepwiseEngine[OnnxCache]):
    """A model in float32 or int8 on a CPU."""

    name = "onnx"

    def __init__(self, model: OnnxTransformer, precision: str) -> None:
        super().__init__(model)
        self.model = model
        self.described = f"onnx, cpu, {precision}"

    def lacks(self, needs: EngineNeeds) -> str | None:
        """Return why it does not support `needs`, or None."""
        return _search_lacks(needs)

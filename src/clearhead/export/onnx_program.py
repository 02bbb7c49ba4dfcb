"""An export to ONNX, run by onnxruntime for its certificate: greedy and beam search over its two graphs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from clearhead.decoding.engines.numpy_engine import StepwiseEngine
from clearhead.formats.onnx_transformer import key_value_names
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import Array, Ids


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
        self._past_names = key_value_names(config, "past")

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
    """The graphs as a program that translates."""

    name = "onnx"

    def __init__(self, model: OnnxTransformer, precision: str) -> None:
        super().__init__(model)
        self.model = model
        self.described = f"onnx, cpu, {precision}"

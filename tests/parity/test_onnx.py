"""ONNX graphs compared with torch and NumPy: the same logits, and the same tokens for greedy search and beams."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="exports are compared with it: pip install '.[onnx]'")
pytest.importorskip("onnx", reason="exports are compared with it: pip install '.[onnx]'")

from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.settings import SearchSettings
from clearhead.export.onnx_program import OnnxEngine, OnnxTransformer
from clearhead.formats.arrays import arrays_of
from clearhead.formats.head_removal import without_heads
from clearhead.formats.onnx_graph import OnnxPrecision
from clearhead.formats.onnx_transformer import onnx_models
from clearhead.model import Transformer
from clearhead.model.heads import find_heads
from clearhead.model.numpy_transformer import NumpyTransformer
from tests.parity.engine_models import requests, toy
from tests.parity.test_numpy import MORE_KINDS, assert_same
from tests.tolerances import assert_close

SOURCE = np.array([[5, 7, 11, 13, 2], [3, 17, 2, 0, 0], [19, 2, 0, 0, 0]])


def engine_of(model: Transformer, precision: OnnxPrecision = "float32") -> OnnxEngine:
    graphs = onnx_models(arrays_of(model), precision)
    parts = (graphs.encoder.SerializeToString(), graphs.step.SerializeToString())
    return OnnxEngine(OnnxTransformer(model.config, *parts, num_threads=1), precision)


@pytest.mark.parametrize("kind", MORE_KINDS)
def test_tokens_and_scores_are_those_of_torch(kind: str) -> None:
    model = toy(**MORE_KINDS[kind])
    engine = engine_of(model)
    for beam in (1, 4):
        settings = SearchSettings(beam=beam, n_best=beam, batch_tokens=37)
        assert_same(*(own.translate(requests(model), settings) for own in (engine, TorchEngine(model))))


@pytest.mark.parametrize("kind", MORE_KINDS)
def test_the_logits_of_every_step_are_those_of_numpy(kind: str) -> None:
    model = toy(**MORE_KINDS[kind])
    config, weights = model.config, arrays_of(model)
    source = np.where(SOURCE == 2, config.eos, np.where(SOURCE == 0, config.pad, SOURCE))
    models = (engine_of(model).model, NumpyTransformer(config, weights.arrays))
    caches: list[Any] = [own.encode(source) for own in models]
    for tokens in ([[config.start_id]] * 3, [[5], [7], [11]], [[13], [3], [6]]):
        ours, expected = (
            own.step(np.array(tokens), cache)
            for own, cache in zip(models, caches, strict=True)  # type: ignore[attr-defined]
        )
        assert_close(ours, expected, "float32")


def test_a_pruned_model_gives_the_results_of_torch() -> None:
    whole = toy()
    model = without_heads(whole, find_heads(["encoder.0.self_attention.head.1", "decoder.1.*.head.*"], whole.config))
    settings = SearchSettings(beam=3)
    assert_same(*(own.translate(requests(model), settings) for own in (engine_of(model), TorchEngine(model))))


def test_int8_is_near_float32_and_does_not_depend_on_the_other_sentences_of_a_batch() -> None:
    model = toy()
    engine, right = engine_of(model, "int8").model, engine_of(model).model
    start = np.full((3, 1), model.config.start_id)
    rounded, exact = (own.step(start, own.encode(SOURCE)) for own in (engine, right))
    assert 0 < np.abs(rounded - exact).max() < 0.1 * np.abs(exact).max()
    others = np.concatenate((SOURCE[:1], SOURCE[1:][::-1] % 3 + 19))  # other sentences in a batch of the same shape
    assert_close(engine.step(start, engine.encode(others))[0], rounded[0], "float32")

"""Programs that are compared: their logits agree with what they translate."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ctranslate2", reason="exports are compared with it: pip install '.[translate]'")
pytest.importorskip("onnxruntime", reason="exports are compared with it: pip install '.[onnx]'")
pytest.importorskip("onnx", reason="exports are compared with it: pip install '.[onnx]'")
pytest.importorskip("transformers", reason="exports are compared with it: pip install '.[dev]'")

from clearhead.decoding.engines.engine import EngineNeeds, Request
from clearhead.decoding.search.settings import SearchSettings
from clearhead.export.probe import ctranslate2_probe, onnx_probe, torch_probe
from clearhead.export.transformers_probe import marian_tokens, transformers_probe
from clearhead.formats.model_folder import find_model, load_vocabularies
from tests.tolerances import assert_close

FIRST = Path(__file__).parents[2] / "golden" / "first_release"
RUN = find_model(FIRST / "run")
SOURCES, TARGETS = [(5, 7, 11, 2), (13, 2)], [(17, 19, 2), (23, 29, 31, 3)]


def test_onnx_and_transformers_return_the_logits_of_torch() -> None:
    expected = torch_probe(RUN).logits
    assert expected is not None
    right = expected(SOURCES, TARGETS)
    for probe in (onnx_probe(find_model(FIRST / "onnx")), transformers_probe(find_model(FIRST / "marian"))):
        assert probe.logits is not None
        assert_close(probe.logits(SOURCES, TARGETS)[0, :3], right[0, :3], "float32")
        assert_close(probe.logits(SOURCES, TARGETS)[1], right[1], "float32")


def test_ctranslate2_returns_log_probabilities_and_omits_a_token_after_which_there_is_no_end() -> None:
    probe = ctranslate2_probe(find_model(FIRST / "ctranslate2"), "float32")
    assert probe.logits is None
    assert probe.log_probs is not None
    assert list(map(len, probe.log_probs(SOURCES, TARGETS))) == [3, 3]
    assert all(np.isfinite(row).all() for row in probe.log_probs(SOURCES, TARGETS))


def test_transformers_searches_greedily_up_to_the_limit_of_each_sentence() -> None:
    engine, expected = transformers_probe(find_model(FIRST / "marian")).engine, torch_probe(RUN).engine
    requests = [Request((5, 7, 11, 2), 13), Request((13, 17, 2), 3), Request((5, 2), 7)]
    ours, right = (own.translate(requests, SearchSettings()) for own in (engine, expected))
    assert [own[0].tokens for own in ours] == [own[0].tokens for own in right]
    assert [own[0].has_ended for own in ours] == [own[0].has_ended for own in right]
    assert engine.lacks(EngineNeeds()) is None
    assert engine.lacks(EngineNeeds(SearchSettings(beam=2))) == "only greedy search is compared"


def test_the_tokenizer_of_transformers_splits_like_ours() -> None:
    sentences = ["the cat sees a dog.", "a dog sleeps"]
    assert marian_tokens(FIRST / "marian", sentences) == load_vocabularies(RUN).source.encode(sentences)

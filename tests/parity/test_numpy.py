"""NumPy compared with torch: the same tokens for greedy search and beams, the same scores and the same attention."""

from typing import Any

import numpy as np
import pytest
import torch

from clearhead.decoding.alignment import cross_attention
from clearhead.decoding.engines.engine import Request
from clearhead.decoding.engines.numpy_engine import NumpyEngine
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats.arrays import arrays_of
from clearhead.model import Transformer
from clearhead.model.numpy_transformer import NumpyTransformer
from tests.parity.engine_models import KINDS, requests, toy
from tests.tolerances import assert_close

TOLERANCE = 2e-4  # of a score in float32: sums of tens of logarithms, in another order
MORE_KINDS: dict[str, dict[str, Any]] = {
    **KINDS,
    "no positions": {"positions": "none"},
    "a wider decoder": {"d_decoder": 20, "tied": "two"},
    "gated GELU": {"is_gated": True, "activation": "gelu"},
}


def engine_of(model: Transformer) -> NumpyEngine:
    weights = arrays_of(model)
    return NumpyEngine(NumpyTransformer(weights.config, weights.arrays))


def assert_same(outcomes: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[hypothesis.tokens for hypothesis in hypotheses] for hypotheses in outcomes] == [
        [hypothesis.tokens for hypothesis in hypotheses] for hypotheses in expected
    ]
    pairs = [pair for rows in zip(outcomes, expected, strict=True) for pair in zip(*rows, strict=True)]
    for ours, theirs in pairs:
        assert ours.score == pytest.approx(theirs.score, abs=TOLERANCE)
        assert ours.log_probs == pytest.approx(theirs.log_probs, abs=1e-3)
        assert ours.has_ended == theirs.has_ended


@pytest.mark.parametrize("alpha", [1.0, 0.0, 0.6])
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("kind", MORE_KINDS)
def test_tokens_and_scores_are_those_of_torch(kind: str, beam: int, alpha: float) -> None:
    model = toy(**MORE_KINDS[kind])
    settings = SearchSettings(beam=beam, n_best=beam, length_penalty=alpha, batch_tokens=37)
    right, outcomes = (engine.translate(requests(model), settings) for engine in (TorchEngine(model), engine_of(model)))
    assert_same(outcomes, right)


@pytest.mark.parametrize("stopping", ["first", "likely", "proved"])
@pytest.mark.parametrize("min_length", [0, 5])
def test_every_stopping_rule_and_a_minimum_length_are_those_of_torch(stopping: Any, min_length: int) -> None:
    model = toy()
    settings = SearchSettings(beam=3, n_best=2, stopping=stopping, min_length=min_length)
    right, outcomes = (engine.translate(requests(model), settings) for engine in (TorchEngine(model), engine_of(model)))
    assert_same(outcomes, right)


def test_a_hundred_sentences_are_translated_as_by_torch() -> None:
    model = toy()
    random = np.random.default_rng(7)
    rows = [random.integers(3, 29, size=length).tolist() for length in random.integers(1, 23, size=100)]
    many = [Request((*row, model.config.eos), 2 * len(row) + 3) for row in rows]
    settings = SearchSettings(beam=4)
    right, outcomes = (engine.translate(many, settings) for engine in (TorchEngine(model), engine_of(model)))
    same = [ours[0].tokens == theirs[0].tokens for ours, theirs in zip(outcomes, right, strict=True)]
    assert sum(same) == 100


def test_a_beam_as_wide_as_the_vocabulary_is_searched_like_in_torch() -> None:
    model = toy()
    settings = SearchSettings(beam=model.config.target_size, n_best=3)
    right, outcomes = (engine.translate(requests(model), settings) for engine in (TorchEngine(model), engine_of(model)))
    assert_same(outcomes, right)


@pytest.mark.parametrize("kind", MORE_KINDS)
def test_attention_over_the_source_is_that_of_torch(kind: str) -> None:
    model = toy(**MORE_KINDS[kind])
    source, target = [5, 7, 11, 13, 17, model.config.eos], [19, 23, 5]
    with torch.inference_mode():
        expected = cross_attention(model, torch.tensor(source), [target])[0].weights
    weights = engine_of(model).cross_attention(source, target).weights
    for layer, right in zip(weights, expected, strict=True):
        assert_close(layer, np.asarray(right), "float32")
        assert_close(layer.sum(axis=-1), np.ones(layer.shape[:-1]), "float32")


def test_padding_and_bos_are_never_written() -> None:
    model = toy(has_output_bias=True)
    never = {model.config.pad, model.config.bos}
    with torch.no_grad():
        model.output.bias[list(never)] = 30
    outcomes = engine_of(model).translate(requests(model), SearchSettings(beam=3, n_best=3))
    assert not any(never & {*hypothesis.tokens} for hypotheses in outcomes for hypothesis in hypotheses)

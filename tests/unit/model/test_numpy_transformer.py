"""The Transformer in NumPy: its parts by hand, and its logits those of the PyTorch model."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.formats.arrays import arrays_of
from clearhead.model import ModelConfig
from clearhead.model.numpy_transformer import (
    NumpyTransformer,
    complete_weights,
    log_softmax,
    numpy_lacks,
    softmax,
)
from clearhead.model.positions import sinusoids
from tests.tolerances import assert_close
from tests.unit.decoding.toys import random_model, sources


def numpy_model(**changes: Any) -> NumpyTransformer:
    weights = arrays_of(random_model(**changes))
    return NumpyTransformer(weights.config, weights.arrays)


def test_softmax_by_hand() -> None:
    x = np.array([[0.0, math.log(3.0)], [1000.0, 1000.0]], dtype=np.float32)
    assert_close(softmax(x), [[0.25, 0.75], [0.5, 0.5]], "float32")
    assert_close(log_softmax(x), np.log([[0.25, 0.75], [0.5, 0.5]]), "float32")


@pytest.mark.parametrize("order", ["pairs", "blocks"])
def test_sinusoids_are_those_of_the_pytorch_model(order: str) -> None:
    weights = arrays_of(random_model(sinusoids=order, tied="three"))
    complete = complete_weights(weights.config, weights.arrays)
    assert_close(complete["decoder.position"], sinusoids(23, 12, order).numpy(), "float32")
    assert complete["output.weight"] is complete["decoder.embedding.weight"] is complete["encoder.embedding.weight"]


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_steps_with_a_cache_give_the_logits_of_one_pass_in_pytorch(activation: str) -> None:
    torch_model = random_model(activation=activation).float()
    model = numpy_model(activation=activation)
    source, target = sources(torch_model), torch.tensor([[1, 5, 7], [1, 9, 4], [1, 8, 8], [1, 29, 6], [1, 11, 13]])
    with torch.inference_mode():
        expected = torch_model.decode(target, torch_model.encode(source)).numpy()  # (B, T, V)
    cache = model.encode(source.numpy())
    for place in range(target.shape[1]):
        logits = model.step(target[:, place : place + 1].numpy(), cache)  # (B, 1, V)
        np.testing.assert_allclose(logits[:, 0], expected[:, place], atol=2e-4)
    assert cache.length == 3


def test_hypotheses_follow_their_parents_and_sentences_are_dropped() -> None:
    model = numpy_model()
    source = sources(random_model()).numpy()
    cache = model.encode(source)
    model.step(np.full((5, 1), 1), cache)
    cache.follow(np.zeros((5, 2), dtype=np.int64))  # two continuations of each
    two = model.step(np.array([[5, 7]] * 5), cache)
    cache.follow(np.array([[1, 0]] * 5))
    cache.keep([3, 0])
    again = model.step(np.array([[11, 11]] * 2), cache)
    alone = model.encode(source[3:4])
    for token in (1, 7, 11):
        logits = model.step(np.array([[token]]), alone)
    assert_close(again[0, 0], logits[0, 0], "float32")
    assert two.shape == (5, 2, 30)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"positions": "rotary"}, "rotary positions"),
        ({"scale_scores": False}, "it always scales attention scores"),
        ({"encoder_norm": "all"}, "a norm over all numbers"),
        ({"shape": "decoder"}, "the model has the shape decoder"),
        ({}, None),
    ],
)
def test_what_is_not_supported_is_named(changes: dict[str, Any], reason: str | None) -> None:
    lacking = numpy_lacks(ModelConfig(source_vocabulary=11, d_model=8, num_heads=2, **changes))
    assert lacking is None if reason is None else reason in str(lacking)

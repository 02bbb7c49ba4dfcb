"""Pairs of sentences as ids: with their end tokens, in batches by length, or refused with the line."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from clearhead.errors import DataError
from clearhead.explain.token_pairs import TokenPair, batch_of, batch_tokens, batches_of, encode_pairs
from tests.parity.models import make_model
from tests.unit.decoding.toys import Both, random_model

CPU = torch.device("cpu")


def test_both_sides_end_with_the_end_token() -> None:
    model = random_model()
    assert encode_pairs(model, Both(), [("ab", "cde"), ("", "z")]) == [
        TokenPair((4, 5, 2), (6, 7, 8, 2)),
        TokenPair((2,), (29, 2)),
    ]


def test_a_language_model_reads_only_the_second_text() -> None:
    assert encode_pairs(make_model("decoder"), Both(), [("ab", "cd")]) == [TokenPair((), (6, 7, 2))]


def test_a_line_that_is_too_long_is_named() -> None:
    model = random_model()
    with pytest.raises(DataError, match=r"line 2: the target has 24 tokens \(including the end token\), but the model"):
        encode_pairs(model, Both(), [("ab", "cd"), ("a", "b" * 23)])
    with pytest.raises(DataError, match=r"there are no sentences\. Give at least one\."):
        encode_pairs(model, Both(), [])


def test_batches_have_similar_lengths_and_every_pair_once() -> None:
    pairs = [TokenPair((3,) * length, (3,) * 2) for length in (1, 7, 3, 11, 2, 5)]  # the target has 2 tokens
    batches = list(batches_of(pairs, 22))
    assert batches == [[3, 1], [5, 2, 0, 4]]
    assert list(batches_of(pairs, 1)) == [[3], [1], [5], [2], [0], [4]]


def test_a_gpu_gets_larger_batches_unless_the_vocabulary_is_large() -> None:
    model = random_model()
    assert batch_tokens(model) == 2048
    sizes = {"cuda": torch.device("cuda"), "meta": torch.device("meta")}
    seen = {
        (name, size): batch_tokens(cast(Any, SimpleNamespace(device=device, config=SimpleNamespace(target_size=size))))
        for name, device in sizes.items()
        for size in (10_000, 65_536)
    }
    assert seen == {("cuda", 10_000): 16384, ("cuda", 65_536): 4096, ("meta", 10_000): 2048, ("meta", 65_536): 2048}


def test_a_batch_is_padded_and_has_the_sides_of_the_model() -> None:
    pairs = [TokenPair((4, 5, 2), (6, 2)), TokenPair((4, 2), (6, 7, 8, 2))]
    batch = batch_of(pairs, make_model("encoder-decoder").config, CPU)
    assert batch.source is not None
    assert batch.target is not None
    assert batch.source.tolist() == [[4, 5, 2], [4, 2, 0]]
    assert batch.target.tolist() == [[6, 2, 0, 0], [6, 7, 8, 2]]
    assert batch_of(pairs, make_model("decoder").config, CPU).source is None

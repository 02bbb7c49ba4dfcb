"""Greedy search: the most probable token at each step, the same with and without a cache, alone and in a batch."""

import pytest
import torch
from torch import Tensor

from clearhead.decoding.search.greedy import greedy
from clearhead.model import Transformer
from tests.unit.decoding.toys import random_model, sources


def uncached(model: Transformer, source: Tensor, max_length: int) -> list[int]:
    """Return the translation of one sentence when the complete prefix is read again for every token."""
    tokens: list[int] = []
    memory = model.encode(source)
    while len(tokens) < max_length and model.config.eos not in tokens:
        prefix = torch.tensor([[model.config.start_id, *tokens]])
        logits = model.decode(prefix, memory)[0, -1]
        logits[model.config.pad] = logits[model.config.bos] = float("-inf")
        tokens.append(int(logits.argmax()))
    return tokens


def rows(model: Transformer, ids: Tensor) -> list[list[int]]:
    return [[token for token in row if token != model.config.pad] for row in ids.tolist()]


@pytest.mark.parametrize("start", ["bos", "eos", "pad"])
@pytest.mark.parametrize("seed", [3, 20, 36])
@torch.no_grad()
def test_a_batch_with_a_cache_equals_single_sentences_without_one(seed: int, start: str) -> None:
    model = random_model(seed, start=start)
    source = sources(model)
    expected = [uncached(model, row[row != model.config.pad][None], 13) for row in source]
    assert len({len(row) for row in expected}) > 1, "sentences that all end together prove less"
    assert rows(model, greedy(model, source, 13)) == expected


@torch.no_grad()
def test_it_stops_when_all_sentences_have_ended() -> None:
    model = random_model(7, has_output_bias=True)
    model.output.bias[model.config.eos] += 1e3
    source = sources(model)
    assert greedy(model, source, 13).tolist() == [[model.config.eos]] * len(source)


@torch.no_grad()
def test_every_sentence_has_its_own_limit() -> None:
    model = random_model(7, has_output_bias=True)
    model.output.bias[model.config.eos] -= 1e3
    source = sources(model)
    limits = torch.tensor([2, 0, 5, 1, 3])
    ids = greedy(model, source, limits)
    assert ids.shape == (5, 5)
    assert [len(row) for row in rows(model, ids)] == limits.tolist()
    assert greedy(model, source, 0).shape == (5, 0)


@pytest.mark.parametrize("start", ["bos", "pad", "eos"])
@torch.no_grad()
def test_padding_and_bos_are_never_written(start: str) -> None:
    model = random_model(7, has_output_bias=True, start=start)
    model.output.bias[[model.config.pad, model.config.bos]] += 1e3
    ids = greedy(model, sources(model, (3, 2)), 5)
    assert ids[0, 0] != model.config.pad
    assert not (ids == model.config.bos).any()


@torch.no_grad()
def test_a_bos_that_is_also_the_end_token_can_be_written() -> None:
    model = random_model(7, has_output_bias=True, bos=2)
    model.output.bias[2] += 1e3
    assert greedy(model, sources(model, (3, 2)), 5).tolist() == [[2], [2]]

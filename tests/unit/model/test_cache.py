"""The caches of a decoder: positions, masks and orders, without a model."""

import torch

from clearhead.model import ModelConfig
from clearhead.model.cache import BeamCache, Cache

CONFIG = ModelConfig(source_vocabulary=11, d_model=6, num_heads=2, d_ff=7, encoder_blocks=1, decoder_blocks=1)


def empty_cache(size: int) -> Cache:
    return Cache([], torch.zeros(size, 0, dtype=torch.bool), torch.zeros(size, dtype=torch.int64))


def test_padding_takes_no_position_and_is_not_seen() -> None:
    cache = empty_cache(2)
    places, mask = cache.advance(torch.tensor([[1, 5, 7], [1, 4, 0]]), CONFIG)
    assert places.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert cache.lengths.tolist() == [3, 2]
    assert mask.is_causal
    places, mask = cache.advance(torch.tensor([[3], [6]]), CONFIG)
    assert places.tolist() == [[3], [2]], "each goes on at its own place"
    assert cache.is_real.tolist() == [[True, True, True, True], [True, True, False, True]]
    assert (mask.is_causal, mask.first, cache.num_keys, cache.longest) == (False, 3, 4, 4)


def test_the_token_that_a_sentence_starts_from_is_real_even_if_it_is_padding() -> None:
    cache = empty_cache(1)
    cache.advance(torch.tensor([[0]]), CONFIG)
    assert cache.is_real.tolist() == [[True]]
    from_pad = CONFIG.model_copy(update={"start": "pad"})
    cache = empty_cache(1)
    cache.advance(torch.tensor([[0, 0]]), from_pad)
    assert cache.lengths.tolist() == [2]


def test_entries_are_put_in_another_order_or_repeated() -> None:
    cache = empty_cache(2)
    cache.advance(torch.tensor([[1, 5], [1, 0]]), CONFIG)
    cache.reorder(torch.tensor([1, 0, 1]))
    assert cache.lengths.tolist() == [1, 2, 1]
    assert cache.is_real.tolist() == [[True, False], [True, True], [True, False]]


def test_a_continuation_sees_its_own_past_and_nothing_of_its_siblings() -> None:
    beams = BeamCache([], torch.zeros(1, 2, 0, dtype=torch.bool))
    places, _ = beams.advance(torch.tensor([[3, 4]]), CONFIG)
    assert places.tolist() == [[0, 0]]
    beams.follow(torch.tensor([[1, 1]]))  # both continue from the second
    places, mask = beams.advance(torch.tensor([[5, 6]]), CONFIG)
    assert places.tolist() == [[1, 1]]
    assert mask.explicit is not None
    assert mask.explicit.tolist() == [[[False, True, True, False], [False, True, False, True]]]
    assert (beams.num_keys, beams.longest) == (4, 2)


def test_rows_of_beams_can_be_dropped() -> None:
    beams = BeamCache([], torch.tensor([[[True]], [[False]], [[True]]]), 1)
    beams.reorder(torch.tensor([1]))
    assert beams.past.tolist() == [[[False]]]

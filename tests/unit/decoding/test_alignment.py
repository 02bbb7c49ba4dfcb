"""Alignments: the row of cross-attention for a token, the rule chosen from data, and Pharaoh's format."""

from collections.abc import Sequence
from functools import partial

import pytest
import torch

from clearhead.decoding.alignment import (
    AlignmentRule,
    CrossAttention,
    Head,
    cross_attention,
    every_rule,
    links_by_rule,
    rate_rules,
)
from clearhead.decoding.word_alignment import Links, pharaoh
from clearhead.errors import ConfigError
from clearhead.model import Batch, SequenceModel, build_model
from clearhead.model.config import read_config
from tests.unit.decoding.toys import align, random_model, sources

TARGETS = ([9, 7, 11, 2], [5, 2], [])


def test_the_weights_are_those_of_the_model_s_own_trace() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    with torch.inference_mode():
        attention = cross_attention(model, source, TARGETS)
        target = torch.tensor([[9, 7, 11, 2, 0]])
        _, trace = model.trace(Batch(source[None], target), "decoder.1.cross_attention")
    shapes = [[layer.shape for layer in of_target.weights] for of_target in attention]
    assert shapes == [[(2, 5, 5)] * 2, [(2, 3, 5)] * 2, [(2, 1, 5)] * 2]
    for head, record in enumerate(trace.find("softmax")):
        torch.testing.assert_close(attention[0].weights[1][head], record.value[0])
    for layer in attention[0].weights:
        torch.testing.assert_close(layer.sum(-1), torch.ones(2, 5, dtype=torch.float64))


def test_a_token_is_aligned_by_the_row_that_reads_it_or_the_one_before() -> None:
    weights = torch.zeros(3, 2, 4, 5)
    for row, place in enumerate((4, 1, 0, 2)):
        weights[1, 0, row, place] = 1.0
        weights[1, 1, row, 3] = 0.5
    attention = CrossAttention(list(weights))

    def links(head: Head, *, is_shifted: bool = True) -> Links:
        return links_by_rule(attention, AlignmentRule(head, is_shifted), has_eos=False)

    assert links(Head(1, 0)) == ((1, 0), (0, 1), (2, 2))
    assert links(Head(1, 0), is_shifted=False) == ((4, 0), (1, 1), (0, 2))
    assert links(Head(1, 1)) == ((3, 0), (3, 1), (3, 2))
    assert links(Head(1)) == ((1, 0), (0, 1), (2, 2)), "the mean of both heads"
    assert pharaoh(((1, 0), (0, 1), (2, 2))) == "0-1 1-0 2-2"


@torch.inference_mode()
def test_end_tokens_are_not_linked() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    aligned = align(model, source, (9, 7, 11, 2))
    assert [target for _, target in aligned] == [0, 1, 2]
    assert all(place < 4 for place, _ in aligned)
    assert aligned == align(model, source, (9, 7, 11))
    assert align(model, source, (2,)) == ()
    assert align(model, source[-1:], (9, 2)) == ()


@torch.inference_mode()
def test_the_block_the_head_and_the_row_are_chosen_from_data() -> None:
    model = random_model(36)
    pairs = [(sources(model, (7,), seed)[0], (9, 7, 11, 13, 2)) for seed in range(5)]
    assert len(every_rule(model)) == 12
    for wanted in (
        AlignmentRule(head, is_shifted) for head in (Head(0, 1), Head(1, 0), Head(1)) for is_shifted in (True, False)
    ):
        right = [align(model, source, target, wanted) for source, target in pairs]
        rated = rate_rules(model, pairs, partial(num_different, right))
        assert (rated[0].rule, rated[0].error) == (wanted, 0)
        assert [rating.error for rating in rated] == sorted(rating.error for rating in rated)
        assert rated[1].error > 0
        assert len({rating.rule for rating in rated}) == 12


def num_different(right: Sequence[Links], links_by_pair: Sequence[Links]) -> int:
    return sum(len(set(a) ^ set(b)) for a, b in zip(links_by_pair, right, strict=True))


@pytest.mark.parametrize(("blocks", "expected"), [(1, 0), (2, 0), (6, 4)])
def test_the_default_is_the_second_last_block(blocks: int, expected: int) -> None:
    assert Head.usual(random_model(1, decoder_blocks=blocks).config) == Head(expected, None)


def recurrent(attention: str) -> SequenceModel:
    sizes = {"source_vocabulary": 13, "encoder_blocks": 1, "decoder_blocks": 2, "d_model": 6}
    return build_model(read_config({"architecture": "recurrent", "attention": attention, **sizes})).double().eval()


@torch.inference_mode()
def test_a_recurrent_model_is_aligned_by_its_only_attention_where_a_token_is_predicted() -> None:
    model, source = recurrent("additive"), torch.tensor([5, 7, 11, 2])
    rule = AlignmentRule.usual(model.config)
    assert rule == AlignmentRule(Head(1), is_shifted=False)
    attention = cross_attention(model, source, [[9, 7, 2]])[0]
    assert [tuple(layer.shape) for layer in attention.weights] == [(0, 4, 4), (1, 4, 4)]
    assert attention.rows(rule.head).sum(-1).tolist() == pytest.approx([1.0] * 3)
    assert len(align(model, source, (9, 7, 2))) == 2


def test_without_attention_there_is_no_alignment() -> None:
    with pytest.raises(ConfigError, match="this model has no attention to the source, so that there is no alignment"):
        AlignmentRule.usual(recurrent("none").config)

"""What may be written next: every rule by hand on small tensors, then in a search."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.required import held_tokens, next_tokens
from clearhead.decoding.search.rules import (
    Constraints,
    Forbidden,
    LongEnough,
    NeverWritten,
    NoRepeat,
    Rules,
    Unfinished,
)
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.model import Transformer
from tests.unit.decoding.toys import random_model, sources

VOCABULARY = 11


def hidden(rule: Any, written: list[list[list[int]]], numbers: list[int] | None = None) -> list[list[list[int]]]:
    """Return the tokens that a rule hides after each hypothesis."""
    told = torch.tensor(written).long()
    log_probs = torch.zeros(*told.shape[:2], VOCABULARY)
    rule.hide(log_probs, told, list(range(len(written))) if numbers is None else numbers)
    return [[row.isinf().nonzero().flatten().tolist() for row in rows] for rows in log_probs]


def test_padding_is_hidden_always() -> None:
    assert hidden(NeverWritten(3), [[[5], [7]]]) == [[[3], [3]]]


def test_the_end_is_hidden_until_enough_is_written() -> None:
    assert hidden(LongEnough(2, 3), [[[5, 7]]]) == [[[2]]]
    assert hidden(LongEnough(2, 2), [[[5, 7]]]) == [[[]]]


def test_a_run_is_not_written_twice() -> None:
    written = [[[5, 6, 7, 5, 6], [5, 6, 5, 6, 5]], [[8, 8, 8, 8, 8], [4, 5, 6, 7, 8]]]
    assert hidden(NoRepeat(3), written) == [[[7], [6]], [[8], []]]
    assert hidden(NoRepeat(2), written) == [[[7], [6]], [[8], []]]
    assert hidden(NoRepeat(1), written) == [[[5, 6, 7], [5, 6]], [[8], [4, 5, 6, 7, 8]]]
    assert hidden(NoRepeat(2), [[[5, 6, 5, 7, 5]]]) == [[[6, 7]]]
    assert hidden(NoRepeat(6), written) == [[[], []], [[], []]]


def test_a_forbidden_phrase_is_not_completed() -> None:
    rule = Forbidden([Constraints(), Constraints(forbidden=((5, 6, 7), (9,)))])
    assert hidden(rule, [[[4, 5, 6], [5, 6, 4]]], [1]) == [[[7, 9], [9]]]
    assert hidden(rule, [[[5, 6], [6, 5]], [[5, 6], [6, 5]]]) == [[[], []], [[7, 9], [9]]]
    assert hidden(rule, [[[6]]], [1]) == [[[9]]]


def test_the_end_waits_for_every_required_phrase() -> None:
    rule = Unfinished(2, [Constraints(required=((5, 6), (7,)))])
    assert hidden(rule, [[[5, 6, 7], [7, 5, 6], [5, 7, 6], [5, 6, 5]]]) == [[[], [], [2], [2]]]


def test_a_prefix_comes_whatever_other_rules_say() -> None:
    rules = Rules((NeverWritten(0), NoRepeat(1)), [Constraints(prefix=(5, 5)), Constraints()])
    log_probs = torch.full((2, 1, VOCABULARY), -1.5)
    rules.hide(log_probs, torch.tensor([[[5]], [[5]]]), [0, 1])
    assert log_probs[0, 0].isfinite().nonzero().flatten().tolist() == [5]
    assert log_probs[0, 0, 5] == -1.5
    assert log_probs[1, 0].isinf().nonzero().flatten().tolist() == [0, 5]


# In a search


def found(model: Transformer, source: Tensor, constraints: list[Constraints], **options: Any) -> list[Hypothesis]:
    with torch.inference_mode():
        made = beam_search(model, source, [17] * len(source), SearchSettings(**options), constraints)
    return [each[0] for each in made]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_begins_with_its_prefix_and_is_scored_by_the_model(beam: int) -> None:
    model = random_model(20)
    source = sources(model)
    constraints = [Constraints(prefix=prefix) for prefix in ((9,), (7, 7, 7), (), (11, 5), (8, 6))]
    made = found(model, source, constraints, beam=beam)
    free = found(model, source, [Constraints()] * 5, beam=beam)
    for each, wish in zip(made, constraints, strict=True):
        assert each.tokens[: len(wish.prefix)] == wish.prefix
        assert all(-100 < own < 0 for own in each.log_probs)
    assert made[2].tokens == free[2].tokens
    own = found(model, source, [Constraints(prefix=each.tokens[:3]) for each in free], beam=1)
    if beam == 1:
        assert [each.tokens for each in own] == [each.tokens for each in free], "its own beginning changes nothing"


@pytest.mark.parametrize("beam", [1, 3])
def test_forbidden_phrases_and_repeats_do_not_occur(beam: int) -> None:
    model = random_model(20)
    source = sources(model)
    free = found(model, source, [Constraints()] * 5, beam=beam)
    banned = tuple(each.tokens[1:3] for each in free)
    made = found(model, source, [Constraints(forbidden=(phrase,)) for phrase in banned], beam=beam)
    for each, phrase in zip(made, banned, strict=True):
        assert phrase not in zip(each.tokens, each.tokens[1:], strict=False)
    for each in found(model, source, [Constraints()] * 5, beam=beam, no_repeat=2):
        pairs = list(zip(each.tokens, each.tokens[1:], strict=False))
        assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_required_phrases_are_there_and_cost_less_in_a_wider_beam(beam: int) -> None:
    model = random_model(36)
    source = sources(model)
    phrases = ((21, 9), (13,), (9, 21, 5))
    made = found(model, source, [Constraints(required=phrases)] * 4 + [Constraints()], beam=beam)
    for each in made[:4]:
        text = ",".join(map(str, each.tokens)) + ","
        for phrase in phrases:
            assert ",".join(map(str, phrase)) + "," in text
    assert made[4].tokens == found(model, source, [Constraints()] * 5, beam=beam)[4].tokens
    if beam == 5:
        narrow = found(model, source, [Constraints(required=phrases)] * 5, beam=1)
        assert sum(each.score for each in made[:4]) > sum(each.score for each in narrow[:4])


def test_required_tokens_are_counted_whole_and_begun() -> None:
    phrases = ((5, 6, 7), (5, 5, 8), (9,))
    assert held_tokens([], phrases) == 0
    assert next_tokens([], phrases) == {5, 9}
    assert held_tokens([4, 5, 6], phrases) == 2
    assert next_tokens([4, 5, 6], phrases) == {7, 5, 9}
    assert held_tokens([5, 6, 7, 9], phrases) == 4
    assert held_tokens([5, 6, 4], phrases) == 0, "a phrase that broke off is not begun"
    assert held_tokens([5, 5, 5], phrases) == 2
    assert next_tokens([5, 5, 5], phrases) == {8, 6, 5, 9}


def test_a_translation_is_taken_as_it_is_when_the_rules_leave_nothing() -> None:
    model = random_model(5, source_vocabulary=8)
    made = found(model, sources(model, (3,)), [Constraints()], beam=2, no_repeat=1, min_length=9)
    assert set(made[0].tokens) == {3, 4, 5, 6, 7}
    assert len(made[0].tokens) == 5
    assert not made[0].has_ended


def test_the_shortest_length_is_kept() -> None:
    model = random_model(36, has_output_bias=True)
    with torch.no_grad():
        model.output.bias[model.config.eos] += 1e2
    made = found(model, sources(model), [Constraints()] * 5, beam=3, min_length=4)
    assert [len(each.tokens) for each in made] == [5] * 5


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "n_best": 3}, {"temperature": 1.0, "n_best": 3}])
@pytest.mark.parametrize("start", ["bos", "pad"])
@torch.inference_mode()
def test_neither_padding_nor_bos_is_written_by_any_search(start: str, options: dict[str, Any]) -> None:
    model = random_model(36, has_output_bias=True, start=start)
    model.output.bias[[model.config.pad, model.config.bos]] += 1e2
    source, settings = sources(model), SearchSettings(**options)
    search = sample if settings.is_sampling else beam_search
    made = [each for row in search(model, source, [7] * 5, settings) for each in row]
    assert len(made) == 5 * settings.n_best
    assert not {model.config.pad, model.config.bos} & {token for each in made for token in each.tokens}


@pytest.mark.parametrize(("changes", "expected"), [({}, (0, 1)), ({"bos": 2}, (0,)), ({"bos": 0}, (0,))])
def test_what_is_never_written_does_not_hold_the_end(changes: dict[str, Any], expected: tuple[int, ...]) -> None:
    assert random_model(1, **changes).config.never_written == expected


# Drawn at random


def drawn(
    model: Transformer, source: Tensor, numbers: list[int] | None = None, **options: Any
) -> list[list[Hypothesis]]:
    with torch.inference_mode():
        return sample(
            model, source, [13] * len(source), SearchSettings(**{"temperature": 1.0, **options}), None, numbers
        )


def test_the_same_seed_draws_the_same_whatever_the_batch() -> None:
    model = random_model(36)
    source = sources(model)
    together = drawn(model, source, n_best=3, seed=7)
    for number, row in enumerate(source):
        alone = drawn(model, row[row != model.config.pad][None], [number], n_best=3, seed=7)[0]
        assert [each.tokens for each in alone] == [each.tokens for each in together[number]]
    assert drawn(model, source, n_best=3, seed=8) != together
    assert len({each.tokens for row in together for each in row}) > 10


def test_tokens_are_drawn_as_often_as_the_model_says() -> None:
    model = random_model(36)
    source = sources(model, (3,)).expand(2000, -1)
    with torch.no_grad():
        start = torch.tensor([[model.config.start_id]])
        logits = model.decode(start, model.encode(source[:1]))[0, -1]
    logits[[model.config.pad, model.config.bos]] = float("-inf")
    settings = SearchSettings(temperature=0.7)
    with torch.inference_mode():
        first = [each[0].tokens[0] for each in sample(model, source, [1] * 2000, settings)]
    counts = torch.bincount(torch.tensor(first), minlength=30) / 2000
    assert (counts - (logits / 0.7).softmax(dim=-1)).abs().max() < 0.05


def test_only_the_likeliest_are_drawn_from() -> None:
    model = random_model(36)
    source = sources(model)
    best = found(model, source, [Constraints()] * 5, beam=1, max_length=13)
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-6}):
        assert [row[0].tokens[:13] for row in drawn(model, source, **options)] == [each.tokens[:13] for each in best]
    one = sources(model, (3,)).expand(500, -1)
    settings = SearchSettings(temperature=5.0, top_k=4)
    with torch.inference_mode():
        assert len({each[0].tokens for each in sample(model, one, [1] * 500, settings)}) == 4
        nucleus = SearchSettings(temperature=1.0, top_p=0.5)
        logits = model.decode(torch.tensor([[model.config.start_id]]), model.encode(one[:1]))[0, -1]
        shares = logits.softmax(dim=-1).sort(descending=True).values.cumsum(dim=-1)
        size = int((shares < 0.5).sum()) + 1
        assert len({each[0].tokens for each in sample(model, one, [1] * 500, nucleus)}) == size


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"n_best": 3, "beam": 2}, "n_best = 3 is more than beam = 2. Use a beam of 3"),
        ({"temperature": 1, "beam": 4}, "temperature draws at random, and beam = 4 searches. Leave one of them out"),
        ({"top_k": 4}, "top_k and top_p say what is drawn from. Give a temperature too"),
        ({"min_length": 5, "max_length": 5}, "min_length = 5 leaves no room below max_length = 5"),
    ],
)
def test_settings_that_do_not_go_together_are_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        SearchSettings(**options)
    assert told in str(wrong.value)

"""Required phrases: counted by hand, then in a search."""

import pytest

from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.required import held_tokens, holds_all, next_tokens
from tests.unit.decoding.toys import best_hypotheses, random_model, sources


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_required_phrases_are_present_and_cost_less_in_a_wider_beam(beam: int) -> None:
    model = random_model(36)
    source = sources(model)
    phrases = ((21, 9), (13,), (9, 21, 5))
    wide = best_hypotheses(model, source, [Constraints(required=phrases)] * 4 + [Constraints()], beam=beam)
    for hypothesis in wide[:4]:
        text = ",".join(map(str, hypothesis.tokens)) + ","
        for phrase in phrases:
            assert ",".join(map(str, phrase)) + "," in text
    assert wide[4].tokens == best_hypotheses(model, source, [Constraints()] * 5, beam=beam)[4].tokens
    if beam == 5:
        narrow = best_hypotheses(model, source, [Constraints(required=phrases)] * 5, beam=1)
        assert sum(hypothesis.score for hypothesis in wide[:4]) > sum(hypothesis.score for hypothesis in narrow[:4])


def test_tokens_of_complete_and_of_started_phrases_are_counted() -> None:
    phrases = ((5, 6, 7), (5, 5, 8), (9,))
    assert held_tokens([], phrases) == 0
    assert next_tokens([], phrases) == {5, 9}
    assert held_tokens([4, 5, 6], phrases) == 2
    assert next_tokens([4, 5, 6], phrases) == {7, 5, 9}
    assert held_tokens([5, 6, 7, 9], phrases) == 4
    assert held_tokens([5, 6, 4], phrases) == 0, "a phrase that broke off is not begun"
    assert held_tokens([5, 5, 5], phrases) == 2
    assert next_tokens([5, 5, 5], phrases) == {8, 6, 5, 9}


def test_all_phrases_occur_in_any_order_and_each_without_interruption() -> None:
    constraints = Constraints(required=((5, 6), (9,)))
    assert holds_all([9, 4, 5, 6], constraints)
    assert not holds_all([5, 4, 6, 9], constraints)
    assert not holds_all([5, 6], constraints)
    assert holds_all([], Constraints())

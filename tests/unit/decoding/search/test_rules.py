"""Rules for the next token: every rule by hand on small tensors, then in a search."""

from typing import Any

import pytest
import torch

from clearhead.decoding.search.beam import search_with
from clearhead.decoding.search.rules import (
    Constraints,
    Forbidden,
    LongEnough,
    NeverWritten,
    NoRepeat,
    Rules,
    Unfinished,
    WholeWords,
)
from clearhead.decoding.search.sampling import sample
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from tests.unit.decoding.toys import best_hypotheses, random_model, sources

VOCABULARY = 11


def hidden(rule: Any, hypotheses: list[list[list[int]]], numbers: list[int] | None = None) -> list[list[list[int]]]:
    """Return the tokens that a rule hides after each hypothesis."""
    tokens = torch.tensor(hypotheses).long()
    log_probs = torch.zeros(*tokens.shape[:2], VOCABULARY)
    rule.hide(log_probs, tokens, list(range(len(hypotheses))) if numbers is None else numbers)
    return [[row.isinf().nonzero().flatten().tolist() for row in rows] for rows in log_probs]


def test_padding_is_hidden_always() -> None:
    assert hidden(NeverWritten(3), [[[5], [7]]]) == [[[3], [3]]]


def test_the_end_token_is_hidden_until_the_minimum_length() -> None:
    assert hidden(LongEnough(2, 3), [[[5, 7]]]) == [[[2]]]
    assert hidden(LongEnough(2, 2), [[[5, 7]]]) == [[[]]]


def test_an_n_gram_is_not_repeated() -> None:
    hypotheses = [[[5, 6, 7, 5, 6], [5, 6, 5, 6, 5]], [[8, 8, 8, 8, 8], [4, 5, 6, 7, 8]]]
    assert hidden(NoRepeat(3), hypotheses) == [[[7], [6]], [[8], []]]
    assert hidden(NoRepeat(2), hypotheses) == [[[7], [6]], [[8], []]]
    assert hidden(NoRepeat(1), hypotheses) == [[[5, 6, 7], [5, 6]], [[8], [4, 5, 6, 7, 8]]]
    assert hidden(NoRepeat(2), [[[5, 6, 5, 7, 5]]]) == [[[6, 7]]]
    assert hidden(NoRepeat(6), hypotheses) == [[[], []], [[], []]]


def test_a_forbidden_phrase_is_not_completed() -> None:
    rule = Forbidden([Constraints(), Constraints(forbidden=((5, 6, 7), (9,)))])
    assert hidden(rule, [[[4, 5, 6], [5, 6, 4]]], [1]) == [[[7, 9], [9]]]
    assert hidden(rule, [[[5, 6], [6, 5]], [[5, 6], [6, 5]]]) == [[[], []], [[7, 9], [9]]]
    assert hidden(rule, [[[6]]], [1]) == [[[9]]]


def test_a_required_phrase_ends_with_a_word() -> None:
    rule = WholeWords([Constraints(required=((5, 6), (7,)), continuing=(3, 8)), Constraints()])
    assert hidden(rule, [[[4, 5, 6], [5, 6, 7], [6, 5, 4]], [[4, 5, 6], [5, 6, 7], [6, 5, 4]]]) == [
        [[3, 8], [3, 8], []],
        [[], [], []],
    ]


def test_a_longer_required_phrase_can_go_on_after_a_shorter_one() -> None:
    rule = WholeWords([Constraints(required=((5,), (5, 8)), continuing=(3, 8))])
    assert hidden(rule, [[[4, 5], [5, 8]]]) == [[[3], [3, 8]]]


def test_the_end_token_is_hidden_until_every_required_phrase_is_complete() -> None:
    rule = Unfinished(2, [Constraints(required=((5, 6), (7,)))])
    assert hidden(rule, [[[5, 6, 7], [7, 5, 6], [5, 7, 6], [5, 6, 5]]]) == [[[], [], [2], [2]]]


def test_a_prefix_overrides_other_rules() -> None:
    rules = Rules((NeverWritten(0), NoRepeat(1)), [Constraints(prefix=(5, 5)), Constraints()])
    log_probs = torch.full((2, 1, VOCABULARY), -1.5)
    rules.hide(log_probs, torch.tensor([[[5]], [[5]]]), [0, 1])
    assert log_probs[0, 0].isfinite().nonzero().flatten().tolist() == [5]
    assert log_probs[0, 0, 5] == -1.5
    assert log_probs[1, 0].isinf().nonzero().flatten().tolist() == [0, 5]


# In a search


@pytest.mark.parametrize("beam", [1, 3])
def test_a_translation_begins_with_its_prefix_and_is_scored_by_the_model(beam: int) -> None:
    model = random_model(20)
    source = sources(model)
    constraints = [Constraints(prefix=prefix) for prefix in ((9,), (7, 7, 7), (), (11, 5), (8, 6))]
    constrained = best_hypotheses(model, source, constraints, beam=beam)
    free = best_hypotheses(model, source, [Constraints()] * 5, beam=beam)
    for hypothesis, constraint in zip(constrained, constraints, strict=True):
        assert hypothesis.tokens[: len(constraint.prefix)] == constraint.prefix
        assert all(-100 < log_prob < 0 for log_prob in hypothesis.log_probs)
    assert constrained[2].tokens == free[2].tokens
    continued = best_hypotheses(
        model, source, [Constraints(prefix=hypothesis.tokens[:3]) for hypothesis in free], beam=1
    )
    if beam == 1:
        assert [hypothesis.tokens for hypothesis in continued] == [hypothesis.tokens for hypothesis in free], (
            "its own beginning changes nothing"
        )


@pytest.mark.parametrize("beam", [1, 3])
def test_forbidden_phrases_and_repeats_do_not_occur(beam: int) -> None:
    model = random_model(20)
    source = sources(model)
    free = best_hypotheses(model, source, [Constraints()] * 5, beam=beam)
    banned = tuple(hypothesis.tokens[1:3] for hypothesis in free)
    constrained = best_hypotheses(model, source, [Constraints(forbidden=(phrase,)) for phrase in banned], beam=beam)
    for hypothesis, phrase in zip(constrained, banned, strict=True):
        assert phrase not in zip(hypothesis.tokens, hypothesis.tokens[1:], strict=False)
    for hypothesis in best_hypotheses(model, source, [Constraints()] * 5, beam=beam, no_repeat=2):
        pairs = list(zip(hypothesis.tokens, hypothesis.tokens[1:], strict=False))
        assert len(set(pairs)) == len(pairs)


def test_a_translation_ends_when_the_rules_allow_no_token() -> None:
    model = random_model(5, source_vocabulary=8)
    hypotheses = best_hypotheses(model, sources(model, (3,)), [Constraints()], beam=2, no_repeat=1, min_length=9)
    assert set(hypotheses[0].tokens) == {3, 4, 5, 6, 7}
    assert len(hypotheses[0].tokens) == 5
    assert not hypotheses[0].has_ended


def test_a_translation_has_at_least_the_minimum_length() -> None:
    model = random_model(36, has_output_bias=True)
    with torch.no_grad():
        model.output.bias[model.config.eos] += 1e2
    hypotheses = best_hypotheses(model, sources(model), [Constraints()] * 5, beam=3, min_length=4)
    assert [len(hypothesis.tokens) for hypothesis in hypotheses] == [5] * 5


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3, "n_best": 3}, {"temperature": 1.0, "n_best": 3}])
@pytest.mark.parametrize("start", ["bos", "pad"])
@torch.inference_mode()
def test_neither_padding_nor_bos_is_written_by_any_search(start: str, options: dict[str, Any]) -> None:
    model = random_model(36, has_output_bias=True, start=start)
    model.output.bias[[model.config.pad, model.config.bos]] += 1e2
    source, settings = sources(model), SearchSettings(**options)
    search = sample if settings.is_sampling else search_with
    outcomes = search(Stepper(model, source), source, [7] * 5, settings)
    hypotheses = [hypothesis for row in outcomes for hypothesis in row]
    assert len(hypotheses) == 5 * settings.n_best
    assert not {model.config.pad, model.config.bos} & {
        token for hypothesis in hypotheses for token in hypothesis.tokens
    }


@pytest.mark.parametrize(("changes", "expected"), [({}, (0, 1)), ({"bos": 2}, (0,)), ({"bos": 0}, (0,))])
def test_the_tokens_that_are_never_written_do_not_include_the_end_token(
    changes: dict[str, Any], expected: tuple[int, ...]
) -> None:
    assert random_model(1, **changes).config.never_written == expected

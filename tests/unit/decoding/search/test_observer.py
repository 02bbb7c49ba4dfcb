"""An observer of a beam search receives every step before rules hide tokens, and does not change the search."""

import math
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor

from clearhead.decoding.search.beam import NO_OBSERVER, SearchObserver, beam_search
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.rules import Rules
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.state import Beams, Candidates
from tests.unit.decoding.search.steps_by_hand import (
    EOS,
    LIMITS_BY_HAND,
    PAD,
    SETTINGS_BY_HAND,
    STEPS,
    new_search,
    run_search,
)
from tests.unit.decoding.toys import random_model, sources

LIMIT = 11
SETTINGS = SearchSettings(beam=3, n_best=3, stopping="proved", length_penalty=0.6)


@dataclass
class Witness(SearchObserver):
    """Records everything it gets, and then overwrites it, which must not affect the search."""

    is_on: bool = True
    log_probs: list[Tensor] = field(default_factory=list)
    numbers: list[list[int]] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    survivors: list[Beams] = field(default_factory=list)
    endings: list[tuple[int, Hypothesis, Hypothesis | None]] = field(default_factory=list)
    stops: list[tuple[int, int, float]] = field(default_factory=list)

    def look(self, beams: Beams, log_probs: Tensor, rules: Rules) -> None:
        assert rules.rules
        self.log_probs.append(log_probs.clone())
        self.numbers.append(beams.numbers)
        self.lengths.append(beams.length)
        log_probs.fill_(-math.inf)

    def chose(self, beams: Beams, candidates: Candidates, choice: Tensor) -> None:
        self.survivors.append(candidates.chosen(beams, choice))

    def ended(self, number: int, hypothesis: Hypothesis, pushed_out: Hypothesis | None) -> None:
        self.endings.append((number, hypothesis, pushed_out))

    def stopped(self, number: int, length: int, best: float) -> None:
        self.stops.append((number, length, best))


@pytest.fixture(scope="module")
def witness() -> Witness:
    model, witness = random_model(36), Witness()
    source = sources(model)
    with torch.inference_mode():
        observed = beam_search(model, source, [LIMIT] * len(source), SETTINGS, observer=witness)
        assert observed == beam_search(model, source, [LIMIT] * len(source), SETTINGS), "watching changes nothing"
    return witness


def test_every_step_is_observed(witness: Witness) -> None:
    num_steps = max(length for _, length, _ in witness.stops)
    assert witness.lengths == list(range(num_steps))
    assert [beams.length for beams in witness.survivors] == list(range(1, num_steps + 1))
    assert witness.numbers[0] == [0, 1, 2, 3, 4]
    for numbers, log_probs in zip(witness.numbers, witness.log_probs, strict=True):
        assert len(numbers) == len(log_probs)


def test_log_probabilities_are_observed_before_any_rule(witness: Witness) -> None:
    for log_probs in witness.log_probs:
        torch.testing.assert_close(log_probs.exp().sum(dim=-1), torch.ones(log_probs.shape[:2], dtype=torch.float64))
        assert bool((log_probs[..., PAD] > -math.inf).all())


def test_the_observed_endings_are_those_of_the_pools(witness: Witness) -> None:
    model = random_model(36)
    source = sources(model)
    with torch.inference_mode():
        expected = beam_search(model, source, [LIMIT] * len(source), SETTINGS)
    for number, best in enumerate(expected):
        pool: set[Hypothesis] = set()
        for sentence, hypothesis, pushed_out in witness.endings:
            if sentence == number:
                pool = (pool | {hypothesis}) - {pushed_out}
        assert sorted(pool, key=lambda hypothesis: -hypothesis.score) == best
    assert any(pushed_out is not None for *_, pushed_out in witness.endings)


def test_the_end_of_every_sentence_is_observed_once(witness: Witness) -> None:
    assert sorted(number for number, _, _ in witness.stops) == [0, 1, 2, 3, 4]
    for number, length, _ in witness.stops:
        assert sum(number in numbers for numbers in witness.numbers) == length


def test_a_search_worked_by_hand_is_observed_step_by_step() -> None:
    witness = Witness()
    run_search(new_search(LIMITS_BY_HAND, SETTINGS_BY_HAND, witness), STEPS)
    assert [beams.tokens.tolist() for beams in witness.survivors[:2]] == [[[[3], [4]]], [[[3, 3], [4, 3]]]]
    early = Hypothesis((3, EOS), (-1.0, -0.5), -0.75, has_ended=True)
    cut = Hypothesis((3, 3, 3), (-1.0, -1.0, -0.1), pytest.approx(-0.7), has_ended=False)
    assert witness.endings == [(0, early, None), (0, cut, None)]
    assert witness.stops == [(0, 3, -math.inf)]


def test_an_observer_that_is_off_gets_no_step() -> None:
    assert not NO_OBSERVER.is_on
    sleeping = Witness(is_on=False)
    search = new_search(LIMITS_BY_HAND, SETTINGS_BY_HAND, sleeping)
    run_search(search, STEPS)
    assert (sleeping.log_probs, sleeping.survivors) == ([], [])
    plain = new_search(LIMITS_BY_HAND, SETTINGS_BY_HAND)
    run_search(plain, STEPS)
    assert plain.observer is NO_OBSERVER
    assert [pool.best for pool in search.pools] == [pool.best for pool in plain.pools]

"""The choices of a fixed step: worked by hand, and those of `BeamSearch` on the same log-probabilities."""

import math

import pytest
import torch

from clearhead.decoding.search.record_reader import IS_ENDED, LOG_PROB, PARENT, TOKEN, TOTAL
from clearhead.decoding.search.selection import Selection
from clearhead.decoding.search.settings import SearchSettings
from tests.unit.decoding.search.steps_by_hand import (
    EOS,
    LIMITS_BY_HAND,
    NEVER,
    SETTINGS_BY_HAND,
    STEPS,
    first_beams,
    never_written,
    new_search,
    random_steps,
    run_selection,
)


def test_three_steps_are_chosen_as_worked_by_hand() -> None:
    selection = Selection(1, SETTINGS_BY_HAND.beam, len(STEPS), NEVER, EOS)
    selection.start(LIMITS_BY_HAND, SETTINGS_BY_HAND.min_length)
    parents, tokens = selection.choose(STEPS[0], torch.tensor([0]))
    assert (parents.tolist(), tokens.tolist()) == ([[0, 0]], [[3, 4]])
    assert selection.totals.tolist() == [[-1.0, -2.0]]
    parents, tokens = selection.choose(STEPS[1], torch.tensor([1]))
    assert (parents.tolist(), tokens.tolist()) == ([[0, 1]], [[3, 3]])
    assert selection.totals.tolist() == [[-2.0, -2.25]]
    selection.choose(STEPS[2], torch.tensor([2]))
    assert selection.totals.tolist() == [[-math.inf, -math.inf]], "all have reached the limit"
    assert selection.record[1, 0].tolist() == [
        [0.0, EOS, -0.5, -1.5, 1.0],
        [0.0, 3.0, -1.0, -2.0, 0.0],
        [1.0, 3.0, -0.25, -2.25, 0.0],
        [1.0, 4.0, -0.5, -2.5, 0.0],
    ]
    last = selection.record[2, 0]
    assert last[:, PARENT].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert last[:, TOKEN].tolist() == [3.0, EOS, EOS, 4.0]
    assert last[:, LOG_PROB].tolist() == [-0.1, -0.3, -1.0, -3.0]
    assert last[:, TOTAL].tolist() == pytest.approx([-2.1, -2.55, -3.0, -5.0])
    assert last[:, IS_ENDED].tolist() == [1.0] * 4


def test_a_restarted_selection_does_not_depend_on_the_previous_one() -> None:
    selection = run_selection(STEPS, LIMITS_BY_HAND, SETTINGS_BY_HAND, NEVER)
    expected = selection.record.clone()
    selection.start(LIMITS_BY_HAND, SETTINGS_BY_HAND.min_length)
    for place, log_probs in enumerate(STEPS):
        selection.choose(log_probs, torch.tensor([place]))
    torch.testing.assert_close(selection.record, expected, rtol=0, atol=0)


def test_rows_without_a_sentence_end_at_once() -> None:
    selection = Selection(3, 2, 5, NEVER, EOS)
    selection.start([5], 0)
    assert selection.limits.tolist() == [5, 1, 1]
    selection.choose(STEPS[0].expand(3, -1, -1), torch.tensor([0]))
    assert selection.totals[1:].tolist() == [[-math.inf] * 2] * 2
    assert selection.totals[0].tolist() == [-1.0, -2.0]


@pytest.mark.parametrize(("beam", "num_tokens", "expected"), [(1, 7, 2), (3, 7, 6), (5, 7, 10), (1, 1, 1)])
def test_there_are_twice_as_many_candidates_as_beams_if_the_vocabulary_is_large_enough(
    beam: int, num_tokens: int, expected: int
) -> None:
    assert Selection(2, beam, 3, torch.zeros(num_tokens), 0).num_candidates == expected


@pytest.mark.parametrize("min_length", [0, 3])
@pytest.mark.parametrize("beam", [1, 2, 3, 5])
def test_every_choice_is_that_of_a_beam_search(beam: int, min_length: int) -> None:
    limits, num_tokens = [11, 7, 2], 13
    settings = SearchSettings(beam=beam, min_length=min_length)
    steps = random_steps(beam, len(limits), beam, num_tokens, length=7)
    record = run_selection(steps, limits, settings, never_written(num_tokens)).record
    search, beams = new_search(limits, settings), first_beams(len(limits))
    num_compared = 0
    for place, log_probs in enumerate(steps):
        candidates = search.candidates(beams, log_probs[:, : beams.totals.shape[1]].clone())
        for row, candidates_of_row in enumerate(candidates.fetched()):
            attainable = [numbers for numbers in candidates_of_row if numbers[TOTAL] > -math.inf]
            chosen = [numbers for numbers in record[place, row].tolist() if numbers[TOTAL] > -math.inf]
            assert chosen == attainable
            num_compared += len(chosen)
        beams = search.survivors(beams, candidates)[1]
    assert num_compared >= 2 * beam * 8, "sentences go on for 7, 7 and 2 steps"

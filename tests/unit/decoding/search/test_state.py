"""Hypotheses and the candidates for the next step: two sentences, two hypotheses each, worked by hand."""

import math

import pytest
import torch

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.state import Beams, Candidate, Candidates

EOS = 2
# Sentence 4 has "3 5" with log P -0.5 - 0.25 and "7 3" with -1 - 0.5; sentence 9 has "5 5" alone, and no second one.
BEAMS = Beams(
    tokens=torch.tensor([[[3, 5], [7, 3]], [[5, 5], [0, 0]]]),
    log_probs=torch.tensor([[[-0.5, -0.25], [-1.0, -0.5]], [[-2.0, -1.0], [0.0, 0.0]]]),
    totals=torch.tensor([[-0.75, -1.5], [-3.0, -math.inf]]),
    numbers=[4, 9],
)
# Three candidates for each sentence, best first; sentence 9 can only end.
CANDIDATES = Candidates(
    parents=torch.tensor([[0, 1, 0], [0, 1, 1]]),
    tokens=torch.tensor([[EOS, 7, 3], [EOS, 3, EOS]]),
    log_probs=torch.tensor([[-0.25, -0.5, -2.0], [-1.0, -1.0, -1.0]]),
    totals=torch.tensor([[-1.0, -2.0, -2.75], [-4.0, -math.inf, -math.inf]]),
    is_ended=torch.tensor([[True, False, False], [True, False, True]]),
)


def test_a_search_starts_with_one_empty_hypothesis_for_each_sentence() -> None:
    beams = Beams.start(torch.tensor([[5, 7, 2], [3, 2, 0]]), torch.float64)
    assert beams.tokens.shape == beams.log_probs.shape == (2, 1, 0)
    assert beams.totals.tolist() == [[0.0], [0.0]]
    assert beams.numbers == [0, 1]
    assert beams.length == 0
    assert beams.hypothesis(1, 0, -3.0) == Hypothesis((), (), -3.0, has_ended=False)


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(torch.float16, torch.float32), (torch.bfloat16, torch.float32), (torch.float64, torch.float64)],
)
def test_log_probabilities_are_added_up_in_float32_or_wider(dtype: torch.dtype, wide: torch.dtype) -> None:
    beams = Beams.start(torch.tensor([[5, 2]]), dtype)
    assert beams.totals.dtype == beams.log_probs.dtype == wide
    assert beams.tokens.dtype == torch.long


def test_only_the_sentences_at_some_rows_remain() -> None:
    second = BEAMS.only(torch.tensor([1]))
    assert second.numbers == [9]
    assert second.tokens.tolist() == [[[5, 5], [0, 0]]]
    assert second.totals.tolist() == [[-3.0, -math.inf]]
    assert second.log_probs.tolist() == [[[-2.0, -1.0], [0.0, 0.0]]]
    assert BEAMS.only(torch.tensor([], dtype=torch.long)).numbers == []
    assert BEAMS.only(torch.tensor([1, 0])).numbers == [9, 4]


def test_hypotheses_are_read_at_any_rows_and_beams() -> None:
    assert BEAMS.hypotheses([]) == []
    last, first = BEAMS.hypotheses([(1, 0), (0, 1)])
    assert (last.tokens, last.log_probs, last.has_ended) == ((5, 5), (-2.0, -1.0), False)
    assert (first.tokens, first.log_probs, first.has_ended) == ((7, 3), (-1.0, -0.5), False)
    assert math.isnan(last.score)
    assert BEAMS.hypothesis(0, 0, -0.375) == Hypothesis((3, 5), (-0.5, -0.25), -0.375, has_ended=False)


def test_candidates_are_listed_for_every_sentence() -> None:
    first, second = CANDIDATES.tolist()
    assert first == [
        Candidate(0, EOS, -0.25, -1.0, is_ended=True),
        Candidate(1, 7, -0.5, -2.0, is_ended=False),
        Candidate(0, 3, -2.0, -2.75, is_ended=False),
    ]
    assert second[0] == Candidate(0, EOS, -1.0, -4.0, is_ended=True)
    assert CANDIDATES.fetched()[0][0] == [0.0, 2.0, -0.25, -1.0, 1.0]


@pytest.mark.parametrize("beam", [1, 2, 3])
def test_only_what_ends_among_the_best_candidates_counts(beam: int) -> None:
    # the third candidate of sentence 9 writes eos too, but no hypothesis leads there: its log P is -∞
    endings = CANDIDATES.ended(beam)
    assert endings.ended == [
        (0, Candidate(0, EOS, -0.25, -1.0, is_ended=True)),
        (1, Candidate(0, EOS, -1.0, -4.0, is_ended=True)),
    ]
    assert endings.stuck == []


def test_an_ending_behind_the_best_candidates_does_not_count() -> None:
    behind = Candidates(
        parents=torch.tensor([[0, 0, 1]]),
        tokens=torch.tensor([[3, 5, EOS]]),
        log_probs=torch.tensor([[-0.5, -1.0, -1.5]]),
        totals=torch.tensor([[-0.5, -1.0, -2.0]]),
        is_ended=torch.tensor([[False, False, True]]),
    )
    assert behind.ended(2).ended == []
    assert behind.ended(3).ended == [(0, Candidate(1, EOS, -1.5, -2.0, is_ended=True))]


def test_a_sentence_without_any_candidate_is_stuck() -> None:
    hidden = torch.full((2, 2), -math.inf)
    hidden[0, 0] = -1.0
    blank = torch.zeros(2, 2, dtype=torch.long)
    candidates = Candidates(blank, blank, hidden, hidden, torch.ones(2, 2, dtype=torch.bool))
    endings = candidates.ended(2)
    assert endings.stuck == [1]
    assert endings.ended == [(0, Candidate(0, 0, -1.0, -1.0, is_ended=True))]


def test_chosen_candidates_continue_the_tokens_of_their_parents() -> None:
    # sentence 4: "7 3" + 7, and "3 5" + 3; sentence 9: "5 5" + eos, and one without a hypothesis behind it
    chosen = CANDIDATES.chosen(BEAMS, torch.tensor([[1, 2], [0, 1]]))
    assert chosen.tokens[0].tolist() == [[7, 3, 7], [3, 5, 3]]
    assert chosen.tokens[1, 0].tolist() == [5, 5, EOS]
    assert chosen.log_probs[0].tolist() == [[-1.0, -0.5, -0.5], [-0.5, -0.25, -2.0]]
    assert chosen.totals.tolist() == [[-2.0, -2.75], [-4.0, -math.inf]]
    assert chosen.numbers == [4, 9]
    assert chosen.length == BEAMS.length + 1 == 3

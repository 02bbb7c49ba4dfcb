"""Beam search: compared with a slow one, with all possible translations, and alone or in a batch."""

import math
from typing import Any

import pytest
import torch

from clearhead.decoding.scoring import token_log_probs
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.greedy import greedy
from clearhead.decoding.search.hypothesis import Hypothesis, normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.stepper import Stepper
from clearhead.model import Transformer
from tests.unit.decoding.oracle import exhaustive, plain_beam
from tests.unit.decoding.toys import random_model, sources

LIMIT = 11
EACH_STOPPING = pytest.mark.parametrize("stopping", ["proved", "likely", "first"])


@torch.inference_mode()
def search(model: Transformer, source: torch.Tensor, limit: int = LIMIT, **options: Any) -> list[list[Hypothesis]]:
    return beam_search(model, source, [limit] * len(source), SearchSettings(**options))


def real(model: Transformer, row: torch.Tensor) -> torch.Tensor:
    return row[row != model.config.pad]


@EACH_STOPPING
@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("seed", [3, 20, 36])
def test_one_beam_is_greedy_search(seed: int, alpha: float, stopping: str) -> None:
    model = random_model(seed)
    source = sources(model)
    with torch.no_grad():
        rows = greedy(model, source, LIMIT).tolist()
    expected = [[token for token in row if token != model.config.pad] for row in rows]
    outcomes = search(model, source, beam=1, length_penalty=alpha, stopping=stopping)
    assert [list(hypotheses[0].tokens) for hypotheses in outcomes] == expected


@pytest.mark.parametrize("options", [{}, {"start": "pad"}, {"positions": "rotary"}, {"norm_place": "post"}], ids=str)
@pytest.mark.parametrize(("beam", "alpha"), [(2, 1.0), (3, 0.0), (4, 0.6), (7, 1.0)])
def test_it_equals_a_plain_beam_search_without_a_cache(beam: int, alpha: float, options: dict[str, Any]) -> None:
    model = random_model(20, **options)
    source = sources(model)
    outcomes = search(model, source, beam=beam, n_best=2, length_penalty=alpha, stopping="proved")
    for row, hypotheses in zip(source, outcomes, strict=True):
        right = plain_beam(model, real(model, row), LIMIT, beam, alpha)[:2]
        assert [hypothesis.tokens for hypothesis in right] == [hypothesis.tokens for hypothesis in hypotheses]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [hypothesis.score for hypothesis in right], abs=1e-9
        )


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1.7])
@pytest.mark.parametrize("seed", [2, 5])
def test_a_wide_enough_beam_finds_the_best_of_all_translations(seed: int, alpha: float) -> None:
    model = random_model(seed, source_vocabulary=6)
    source = sources(model, (3, 2))
    outcomes = search(model, source, limit=4, beam=300, n_best=200, length_penalty=alpha, stopping="proved")
    for row, hypotheses in zip(source, outcomes, strict=True):
        everything = exhaustive(model, real(model, row), 4, alpha)
        assert len(everything) == 1 + 3 + 9 + 27 + 81
        assert [hypothesis.tokens for hypothesis in hypotheses] == [hypothesis.tokens for hypothesis in everything]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [hypothesis.score for hypothesis in everything], abs=1e-9
        )


@EACH_STOPPING
@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_sentence_gets_the_same_hypotheses_alone_and_in_a_batch(beam: int, stopping: str) -> None:
    model = random_model(36)
    source = sources(model)
    together = search(model, source, beam=beam, n_best=beam, stopping=stopping)
    for row, hypotheses in zip(source, together, strict=True):
        alone = search(model, real(model, row)[None], beam=beam, n_best=beam, stopping=stopping)[0]
        assert [hypothesis.tokens for hypothesis in alone] == [hypothesis.tokens for hypothesis in hypotheses]
        assert [hypothesis.score for hypothesis in alone] == pytest.approx(
            [hypothesis.score for hypothesis in hypotheses], abs=1e-9
        )


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("n_best", [1, 3])
def test_stopping_early_does_not_change_the_result(n_best: int, alpha: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(3)
    source = sources(model)
    early = search(model, source, beam=3, n_best=n_best, length_penalty=alpha, stopping="proved")
    monkeypatch.setattr("clearhead.decoding.search.hypothesis.best_attainable", lambda *_: math.inf)
    late = search(model, source, beam=3, n_best=n_best, length_penalty=alpha, stopping="proved")
    assert [[hypothesis.tokens for hypothesis in row] for row in late] == [
        [hypothesis.tokens for hypothesis in row] for row in early
    ]


@EACH_STOPPING
def test_stopping_early_saves_work(stopping: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that the model steps through: three beams of five sentences, once one, for 22 tokens, if nothing stopped."""
    model, rows = random_model(3), []
    step = Stepper.step
    monkeypatch.setattr(
        Stepper,
        "step",
        lambda self, tokens: (rows.append(tokens[..., 0:1].shape[:2].numel()), step(self, tokens))[1],
    )
    search(model, sources(model), limit=22, beam=3, stopping=stopping, length_penalty=0.3)
    assert sum(rows) < 5 + 21 * 15


def test_hypotheses_are_ranked_and_their_scores_are_those_of_a_full_pass() -> None:
    model = random_model(20)
    source = sources(model)
    outcomes = search(model, source, beam=4, n_best=4, length_penalty=0.8, stopping="proved")
    assert any(not hypothesis.has_ended for row in outcomes for hypothesis in row), "some are cut at the limit"
    assert any(hypothesis.has_ended for row in outcomes for hypothesis in row)
    for row, hypotheses in zip(source, outcomes, strict=True):
        assert [hypothesis.score for hypothesis in hypotheses] == sorted(
            (hypothesis.score for hypothesis in hypotheses), reverse=True
        )
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == 4
        for hypothesis in hypotheses:
            with torch.no_grad():
                again = token_log_probs(model, real(model, row)[None], torch.tensor([hypothesis.tokens]))[0].tolist()
            assert list(hypothesis.log_probs) == pytest.approx(again, abs=1e-9)
            assert hypothesis.log_prob == pytest.approx(sum(again))
            assert hypothesis.score == pytest.approx(normalised(sum(again), len(hypothesis.tokens), 0.8))
            assert hypothesis.has_ended == (hypothesis.tokens[-1] == model.config.eos)


def test_every_sentence_has_its_own_limit() -> None:
    model = random_model(20)
    source = sources(model)
    limits = [2, 9, 1, 5, 3]
    with torch.inference_mode():
        outcomes = beam_search(model, source, limits, SearchSettings(beam=3, min_length=9))
    assert [len(hypotheses[0].tokens) for hypotheses in outcomes] == limits
    assert not any(hypotheses[0].has_ended for hypotheses in outcomes)

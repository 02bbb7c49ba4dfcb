"""An explained search is the search itself: its records lead from the start to the translation, and lose nobody."""

import json
import math
import re
from typing import Any

import pytest
import torch

from clearhead.decoding.alignment import Head, cross_attention
from clearhead.decoding.alternatives import alternatives
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.coverage import CoverageStepper
from clearhead.decoding.search.hypothesis import normalised
from clearhead.decoding.search.settings import SearchSettings
from clearhead.explain.search import Explanation, explain_search
from tests.unit.decoding.toys import random_model, sources

SETTINGS = SearchSettings(beam=3, n_best=2, length_penalty=0.6, stopping="proved")


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    model = random_model(36)
    with torch.inference_mode():
        return explain_search(model, sources(model, (5,))[0], 11, SETTINGS)


@torch.inference_mode()
def test_looking_changes_nothing(explanation: Explanation) -> None:
    model = random_model(36)
    assert list(explanation.best) == beam_search(model, sources(model, (5,)), [11], SETTINGS)[0]


def test_the_records_lead_from_the_start_to_every_hypothesis(explanation: Explanation) -> None:
    paths: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended = set()
    for number, step in enumerate(explanation.steps, 1):
        assert step.number == number
        going = {}
        for option in step.options:
            written, total = paths[option.parent]
            assert option.total == pytest.approx(total + option.log_prob)
            whole = (*written, option.token)
            if option.fate == "kept":
                assert option.slot is not None
                going[option.slot] = (whole, option.total)
            elif option.fate == "ended":
                ended.add(whole)
        lost = {each.slot for each in step.lost}
        assert lost == set(range(len(paths))) - {
            option.parent for option in step.options if option.fate in ("kept", "ended")
        }
        paths = [going[slot] for slot in sorted(going)]
    assert ended >= {each.tokens for each in explanation.best}
    assert {each.hypothesis.tokens for each in explanation.ended} <= ended


def test_every_dropped_candidate_says_why(explanation: Explanation) -> None:
    fates = {option.fate for step in explanation.steps for option in step.options}
    assert {"kept", "dropped", "ended", "hidden"} >= fates > {"kept", "dropped"}
    for step in explanation.steps:
        assert sum(option.fate == "kept" for option in step.options) <= 3
        for option in step.options:
            assert bool(option.why) == (option.fate in ("dropped", "hidden"))
        for each in step.lost:
            assert each.why.startswith("none of its continuations has a log P of -")
    assert explanation.stopped.startswith("after ")


def test_what_a_rule_hides_is_named() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    with torch.inference_mode():
        free = explain_search(model, source, 7, SETTINGS)
        first = next(option.token for option in free.steps[0].options if option.fate == "kept")
        bound = explain_search(model, source, 7, SETTINGS, Constraints(forbidden=((first,),)))
        begun = explain_search(model, source, 7, SETTINGS, Constraints(prefix=(9,)))
        short = explain_search(model, source, 7, SearchSettings(beam=300, min_length=5))
    hidden = [option for option in bound.steps[0].options if option.fate == "hidden"]
    assert (hidden[0].token, hidden[0].why) == (first, "hidden by forbidden")
    assert {option.why for option in begun.steps[0].options if option.fate == "hidden"} >= {"hidden by prefix"}
    assert {option.why for option in short.steps[0].options if option.fate == "hidden"} == {
        "hidden by padding",
        "hidden by start",
        "hidden by min_length",
    }


def test_the_kept_say_what_they_attended_to() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    with torch.inference_mode():
        one = explain_search(model, source, 7, SETTINGS, head=Head(1, 0))
        every = explain_search(model, source, 7, SETTINGS, head="all")
        seen = cross_attention(model, source, [one.best[0].tokens])[0].weights
    first = next(option for option in one.steps[0].options if option.slot == 0)
    assert sum(first.attention) == pytest.approx(1)
    assert first.attention == pytest.approx(seen[1, 0, 0].tolist())
    shown = next(option for option in every.steps[0].options if option.slot == 0).attention
    torch.testing.assert_close(torch.tensor(shown, dtype=torch.float64), seen[:, :, 0])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "after 3 tokens: 3 have ended, as many as the beam is wide"),
        ({"stopping": "likely"}, "after 3 tokens: the best that goes on is no better now than any of those that ended"),
        ({"stopping": "proved"}, "after 3 tokens: the best that goes on can reach a score of -"),
        ({"beam": 1}, "after 3 tokens: it has ended"),
    ],
)
@torch.inference_mode()
def test_why_it_stopped_is_told_by_its_rule(options: dict[str, Any], told: str) -> None:
    model = random_model(36)
    made = explain_search(
        model, sources(model, (5,))[0], 22, SearchSettings(**{"beam": 3, "length_penalty": 0.3, **options})
    )
    assert re.sub("after [0-9]+ tokens", "after 3 tokens", made.stopped).startswith(told)


def test_it_can_be_written_as_json(explanation: Explanation) -> None:
    told = json.loads(json.dumps(explanation.to_dict()))
    assert told["steps"][0]["options"][0]["fate"] == "kept"
    assert told["best"][0]["tokens"] == list(explanation.best[0].tokens)


def test_a_hypothesis_that_is_pushed_out_is_remembered() -> None:
    model = random_model(6)
    with torch.inference_mode():
        settings = SearchSettings(beam=2, length_penalty=1.0, stopping="proved")
        made = explain_search(model, sources(model, (7,))[0], 22, settings)
    assert made.stopped == "after 22 tokens, the most that it may have"
    out = [each for each in made.ended if each.pushed_out_at is not None]
    assert out
    for each in out:
        assert each.pushed_out_at >= each.step  # type: ignore[operator]
        assert each.hypothesis.score <= made.best[0].score


# Alternatives


@torch.inference_mode()
def test_alternatives_are_the_likeliest_tokens_each_with_its_best_translation() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    whole = beam_search(model, source[None], [11], SearchSettings())[0][0]
    made = alternatives(model, source, whole.tokens[:2], 4, 11)
    assert len(made) == 4
    assert made[0].token == whole.tokens[2]
    assert made[0].hypothesis.tokens == whole.tokens
    assert [each.log_prob for each in made] == sorted((each.log_prob for each in made), reverse=True)
    for each in made:
        assert each.hypothesis.tokens[:3] == (*whole.tokens[:2], each.token)
        assert each.hypothesis.log_probs[2] == pytest.approx(each.log_prob)
    first = alternatives(model, source, (), 50, 11)
    assert len(first) == 28, "every token but padding and bos"


# Coverage


@torch.inference_mode()
def test_the_coverage_penalty_is_the_one_of_the_attention_seen_afterwards() -> None:
    model = random_model(36)
    source = sources(model, (7, 4))
    settings = SearchSettings(beam=3, n_best=3, coverage_penalty=0.4, length_penalty=0.6, stopping="proved")
    made = beam_search(model, source, [9, 9], settings)
    for row, several in zip(source, made, strict=True):
        alone = row[row != model.config.pad]
        for each in several:
            weights = cross_attention(model, alone, [each.tokens])[0].rows(Head(1), is_shifted=False)
            lost = sum(math.log(min(given, 1.0)) for given in weights.sum(dim=0).tolist())
            expected = normalised(each.log_prob, len(each.tokens), 0.6) + 0.4 * lost
            assert each.score == pytest.approx(expected, abs=1e-6)
    assert isinstance(CoverageStepper(model, source, 0.4).penalties(), torch.Tensor)


@torch.inference_mode()
def test_coverage_reorders_translations() -> None:
    model = random_model(20)
    source = sources(model)
    both = [SearchSettings(beam=4, coverage_penalty=weight, stopping="proved") for weight in (0.0, 5.0)]
    plain, covered = (beam_search(model, source, [11] * 5, settings) for settings in both)
    assert [each[0].tokens for each in plain] != [each[0].tokens for each in covered]

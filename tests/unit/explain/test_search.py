"""An explained search is the search itself: its records lead from the start to the translation, and account for every hypothesis."""

import json
import re
from dataclasses import asdict
from typing import Any

import pytest
import torch

from clearhead.decoding.alignment import Head, cross_attention
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from clearhead.explain.search import RecordedSearch, explain_search
from tests.unit.decoding.toys import random_model, sources

SETTINGS = SearchSettings(beam=3, n_best=2, length_penalty=0.6, stopping="proved")


@pytest.fixture(scope="module")
def explanation() -> RecordedSearch:
    model = random_model(36)
    with torch.inference_mode():
        return explain_search(model, sources(model, (5,))[0], 11, SETTINGS)


@torch.inference_mode()
def test_recording_does_not_change_the_search(explanation: RecordedSearch) -> None:
    model = random_model(36)
    assert list(explanation.best) == beam_search(model, sources(model, (5,)), [11], SETTINGS)[0]


def test_the_records_lead_from_the_start_to_every_hypothesis(explanation: RecordedSearch) -> None:
    paths: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    ended = set()
    for number, step in enumerate(explanation.steps, 1):
        assert step.number == number
        going = {}
        for option in step.options:
            tokens, total = paths[option.parent]
            assert option.total == pytest.approx(total + option.log_prob)
            continued = (*tokens, option.token)
            if option.fate == "kept":
                assert option.slot is not None
                going[option.slot] = (continued, option.total)
            elif option.fate == "ended":
                ended.add(continued)
        lost = {dropped.slot for dropped in step.lost}
        assert lost == set(range(len(paths))) - {
            option.parent for option in step.options if option.fate in ("kept", "ended")
        }
        paths = [going[slot] for slot in sorted(going)]
    assert ended >= {hypothesis.tokens for hypothesis in explanation.best}
    assert {ending.hypothesis.tokens for ending in explanation.ended} <= ended


def test_every_dropped_candidate_has_a_reason(explanation: RecordedSearch) -> None:
    fates = {option.fate for step in explanation.steps for option in step.options}
    assert {"kept", "dropped", "ended", "hidden"} >= fates > {"kept", "dropped"}
    for step in explanation.steps:
        assert sum(option.fate == "kept" for option in step.options) <= 3
        for option in step.options:
            assert bool(option.why) == (option.fate in ("dropped", "hidden"))
        for dropped in step.lost:
            assert dropped.why.startswith("all its continuations scored below -")
    assert explanation.stopped.startswith("after ")


def test_what_a_rule_hides_is_named() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    with torch.inference_mode():
        free = explain_search(model, source, 7, SETTINGS)
        first = next(option.token for option in free.steps[0].options if option.fate == "kept")
        bound = explain_search(model, source, 7, SETTINGS, Constraints(forbidden=((first,),)))
        prefixed = explain_search(model, source, 7, SETTINGS, Constraints(prefix=(9,)))
        short = explain_search(model, source, 7, SearchSettings(beam=300, min_length=5))
    hidden = [option for option in bound.steps[0].options if option.fate == "hidden"]
    assert (hidden[0].token, hidden[0].why) == (first, "hidden by the rule forbidden")
    assert {option.why for option in prefixed.steps[0].options if option.fate == "hidden"} >= {
        "hidden by the rule prefix"
    }
    assert {option.why for option in short.steps[0].options if option.fate == "hidden"} == {
        "hidden by the rule padding",
        "hidden by the rule start",
        "hidden by the rule min_length",
    }


def test_kept_candidates_have_their_attention() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    with torch.inference_mode():
        one = explain_search(model, source, 7, SETTINGS, head=Head(1, 0))
        every = explain_search(model, source, 7, SETTINGS, head="all")
        weights = cross_attention(model, source, [one.best[0].tokens])[0].weights
    first = next(option for option in one.steps[0].options if option.slot == 0)
    assert sum(first.attention) == pytest.approx(1)
    assert first.attention == pytest.approx(weights[1][0, 0].tolist())
    shown = next(option for option in every.steps[0].options if option.slot == 0).attention
    expected = torch.stack([torch.as_tensor(layer) for layer in weights])[:, :, 0]
    torch.testing.assert_close(torch.tensor(shown, dtype=torch.float64), expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "after 3 tokens: 3 hypotheses have ended, which is the beam size"),
        ({"stopping": "likely"}, "after 3 tokens: the best unfinished hypothesis scores no better than the worst"),
        ({"stopping": "proved"}, "after 3 tokens: no unfinished hypothesis can reach a score above -"),
        ({"beam": 1}, "after 3 tokens: the hypothesis has ended"),
    ],
)
@torch.inference_mode()
def test_the_reason_for_stopping_depends_on_the_rule(options: dict[str, Any], sentence: str) -> None:
    model = random_model(36)
    explanation = explain_search(
        model, sources(model, (5,))[0], 22, SearchSettings(**{"beam": 3, "length_penalty": 0.3, **options})
    )
    assert re.sub("after [0-9]+ tokens", "after 3 tokens", explanation.stopped).startswith(sentence)


def test_it_can_be_written_as_json(explanation: RecordedSearch) -> None:
    data = json.loads(json.dumps(asdict(explanation)))
    assert data["steps"][0]["options"][0]["fate"] == "kept"
    assert data["best"][0]["tokens"] == list(explanation.best[0].tokens)


def test_a_hypothesis_that_is_pushed_out_is_remembered() -> None:
    model = random_model(6)
    with torch.inference_mode():
        settings = SearchSettings(beam=2, length_penalty=1.0, stopping="proved")
        explanation = explain_search(model, sources(model, (7,))[0], 22, settings)
    assert explanation.stopped == "after 22 tokens: this is the length limit"
    out = [ending for ending in explanation.ended if ending.pushed_out_at is not None]
    assert out
    for ending in out:
        assert ending.pushed_out_at >= ending.step  # type: ignore[operator]
        assert ending.hypothesis.score <= explanation.best[0].score

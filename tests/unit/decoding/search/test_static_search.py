"""A search whose choices are made by a fixed step: the very hypotheses of `beam_search`. On a CPU it is not recorded."""

from typing import Any

import pytest
import torch

from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.search.static_search import can_choose, static_search
from clearhead.decoding.search.static_step import StaticStepPool
from clearhead.model import Transformer
from tests.unit.decoding.search.test_static_step import KINDS
from tests.unit.decoding.toys import random_model, sources

SETTINGS: list[dict[str, Any]] = [
    {"beam": 1},
    {"beam": 4, "n_best": 4},
    {"beam": 4, "n_best": 2, "stopping": "proved", "length_penalty": 0.6},
    {"beam": 3, "n_best": 3, "stopping": "likely", "min_length": 5},
    {"beam": 40, "n_best": 3, "stopping": "proved"},  # wider than the vocabulary
]


def check(found: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> None:
    assert [[each.tokens for each in row] for row in found] == [[each.tokens for each in row] for row in right]
    assert [[each.has_ended for each in row] for row in found] == [[each.has_ended for each in row] for row in right]
    for row, expected in zip(found, right, strict=True):
        assert [each.score for each in row] == pytest.approx([each.score for each in expected], abs=1e-10)
        for one, other in zip(row, expected, strict=True):
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-10)


def searched(model: Transformer, options: dict[str, Any], device: str = "cpu") -> None:
    source, limits = sources(model).to(device), [13, 11, 7, 5, 3]
    settings = SearchSettings(**options)
    assert can_choose(settings, [Constraints()] * 5, model.config)
    right = beam_search(model, source, limits, settings)
    pool = StaticStepPool(model)
    for _ in range(2):  # the second time with what the first has left in the buffers
        with pool.step(source, settings.beam, max(limits)) as step:
            check(static_search(step, source, limits, settings), right)
    fewer = [2, 0, 4]  # a smaller batch in the same room
    with pool.step(source[fewer], settings.beam, 11) as step:
        found = static_search(step, source[fewer], [limits[each] for each in fewer], settings)
    check(found, [right[each] for each in fewer])


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_a_fixed_step_chooses_as_a_search_does(kind: str, options: dict[str, Any]) -> None:
    searched(random_model(**KINDS[kind]), options)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: steps are recorded there only")
@pytest.mark.parametrize("options", SETTINGS)
@torch.inference_mode()
def test_a_recorded_step_chooses_as_a_search_does(options: dict[str, Any]) -> None:
    searched(random_model().cuda(), options, "cuda")


@pytest.mark.parametrize(
    ("options", "wish"),
    [
        ({"no_repeat": 2}, Constraints()),
        ({"coverage_penalty": 0.5}, Constraints()),
        ({"temperature": 1.0}, Constraints()),
        ({}, Constraints(prefix=(7,))),
        ({}, Constraints(forbidden=((7, 5),))),
    ],
)
def test_what_looks_back_is_left_to_another_search(options: dict[str, Any], wish: Constraints) -> None:
    config = random_model().config
    assert not can_choose(SearchSettings(**options), [Constraints(), wish], config)
    assert can_choose(SearchSettings(), [Constraints(), Constraints()], config)

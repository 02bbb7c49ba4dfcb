"""A search with the choices of a static step finds the same hypotheses as `beam_search`. On a CPU it is not recorded."""

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


def check(outcomes: list[list[Hypothesis]], expected: list[list[Hypothesis]]) -> None:
    assert [[hypothesis.tokens for hypothesis in row] for row in outcomes] == [
        [hypothesis.tokens for hypothesis in row] for row in expected
    ]
    assert [[hypothesis.has_ended for hypothesis in row] for row in outcomes] == [
        [hypothesis.has_ended for hypothesis in row] for row in expected
    ]
    for row, expected_row in zip(outcomes, expected, strict=True):
        assert [hypothesis.score for hypothesis in row] == pytest.approx(
            [hypothesis.score for hypothesis in expected_row], abs=1e-10
        )
        for one, other in zip(row, expected_row, strict=True):
            assert one.log_probs == pytest.approx(other.log_probs, abs=1e-10)


def searched(model: Transformer, options: dict[str, Any], device: str = "cpu") -> None:
    source, limits = sources(model).to(device), [13, 11, 7, 5, 3]
    settings = SearchSettings(**options)
    assert can_choose(settings, [Constraints()] * 5, model.config)
    right = beam_search(model, source, limits, settings)
    pool = StaticStepPool(model)
    for _ in range(2):  # the second time with the values that the first left in the buffers
        with pool.step(source, settings.beam, max(limits)) as step:
            check(static_search(step, source, limits, settings), right)
    fewer = [2, 0, 4]  # a smaller batch in the same buffers
    with pool.step(source[fewer], settings.beam, 11) as step:
        outcomes = static_search(step, source[fewer], [limits[number] for number in fewer], settings)
    check(outcomes, [right[number] for number in fewer])


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
    ("options", "constraint"),
    [
        ({"no_repeat": 2}, Constraints()),
        ({"temperature": 1.0}, Constraints()),
        ({}, Constraints(prefix=(7,))),
        ({}, Constraints(forbidden=((7, 5),))),
    ],
)
def test_rules_that_depend_on_earlier_tokens_use_another_search(
    options: dict[str, Any], constraint: Constraints
) -> None:
    config = random_model().config
    assert not can_choose(SearchSettings(**options), [Constraints(), constraint], config)
    assert can_choose(SearchSettings(), [Constraints(), Constraints()], config)

"""An engine stops the search of a request that nobody waits for, and finishes the others of its batch."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from clearhead.decoding.engines.engine import IsWanted, Request
from clearhead.decoding.engines.numpy_engine import NumpyEngine
from clearhead.decoding.engines.torch_engine import TorchEngine
from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats.arrays import arrays_of
from clearhead.model.numpy_transformer import NumpyTransformer
from tests.unit.decoding.toys import random_model

IDS = (5, 7, 9, 4, 2)
LIMIT = 23


def numpy_engine() -> NumpyEngine:
    weights = arrays_of(random_model())
    return NumpyEngine(NumpyTransformer(weights.config, weights.arrays))


def torch_engine() -> TorchEngine:
    return TorchEngine(random_model())


def wanted_for(num_steps: int) -> IsWanted:
    """Return a function that answers True so often, and then False."""
    answers = iter([True] * num_steps)
    return lambda: next(answers, False)


def lengths(hypotheses: Sequence[Hypothesis]) -> list[int]:
    return [len(hypothesis.tokens) for hypothesis in hypotheses]


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("make", [numpy_engine, torch_engine])
def test_a_search_stops_at_the_next_step_and_leaves_the_batch(
    make: Callable[[], Any], beam: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make()
    settings = SearchSettings(beam=beam, n_best=beam, min_length=LIMIT - 1, max_length=LIMIT)
    (alone,) = engine.translate([Request(IDS, LIMIT)], settings)
    rows = [Request(IDS, LIMIT, number=1), Request(IDS[1:], LIMIT, number=2, is_wanted=wanted_for(3))]
    kept, stopped = engine.translate(rows, settings)
    assert [hypothesis.tokens for hypothesis in kept] == [hypothesis.tokens for hypothesis in alone]
    assert lengths(kept)[0] == LIMIT
    assert stopped == []
    questions: list[bool] = []

    def is_wanted() -> bool:
        questions.append(len(questions) < 3)
        return questions[-1]

    assert engine.translate([Request(IDS, LIMIT, is_wanted=is_wanted)], settings) == [[]]
    assert questions == [True, True, True, False]  # one for each step: the search of 23 steps ended with the fourth

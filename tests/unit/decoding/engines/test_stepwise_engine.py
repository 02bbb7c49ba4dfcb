"""What the engines that search in NumPy share."""

import pytest

from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.engines.stepwise_engine import LACKING_USES, stepwise_lacks
from clearhead.decoding.search.settings import SearchSettings


@pytest.mark.parametrize("use", sorted(LACKING_USES))
def test_every_use_that_needs_torch_is_named(use: str) -> None:
    assert stepwise_lacks(EngineNeeds(uses=(use,))) == f"it does not support {LACKING_USES[use]}"  # type: ignore[index, arg-type]


def test_searches_that_need_torch_are_named() -> None:
    assert stepwise_lacks(EngineNeeds(SearchSettings(beam=5, min_length=3))) is None
    assert stepwise_lacks(EngineNeeds(SearchSettings(temperature=1.0))) == "it does not sample"
    assert stepwise_lacks(EngineNeeds(SearchSettings(no_repeat=3))) == "it does not support no_repeat"

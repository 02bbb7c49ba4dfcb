"""The maximum length of a translation, and which sentences share a batch: worked by hand."""

from clearhead.decoding.engines.engine import ModelInfo, Request, batches_by_length, length_limit
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from tests.unit.decoding.toys import random_model


def test_a_limit_grows_with_the_source_up_to_the_positions_of_the_model() -> None:
    info = ModelInfo(pad=0, eos=2, max_length=23)
    assert length_limit(3, SearchSettings(), info) == 14
    assert length_limit(3, SearchSettings(), info, Constraints(prefix=(7, 8), required=((9,), (5, 6)))) == 19
    assert length_limit(11, SearchSettings(), info) == 23
    settings = SearchSettings(max_ratio=1.5, max_extra=3)
    assert [length_limit(length, settings, info) for length in (2, 11, 17)] == [6, 19, 23]
    assert [length_limit(length, SearchSettings(max_length=7), info) for length in (2, 11, 17)] == [7, 7, 7]
    endless = ModelInfo(pad=0, eos=2, max_length=None)
    assert length_limit(1000, SearchSettings(), endless) == 512, "max_length of the search"


def test_requests_of_similar_length_share_a_batch_longest_first() -> None:
    requests = [Request((5,) * size, 9) for size in (3, 7, 5, 2)]
    assert batches_by_length(requests, 14) == [[1, 2], [0, 3]]
    assert batches_by_length(requests, 1) == [[1], [2], [0], [3]]
    assert batches_by_length(requests, 100, 3) == [[1, 2, 0], [3]]
    assert batches_by_length(requests, 14, 1) == [[1], [2], [0], [3]]
    lengths = (3, 11, 2, 5, 5, 13, 1)
    batches = batches_by_length([Request((7,) * length, 9) for length in lengths], 13)
    assert [[lengths[index] for index in batch] for batch in batches] == [[13], [11], [5, 5], [3, 2, 1]]
    assert batches_by_length([], 13) == []


def test_the_limits_of_a_model_come_from_the_positions_in_its_config() -> None:
    config = random_model(36, max_length=17).config
    assert ModelInfo.of(config) == ModelInfo(config.pad, config.eos, 17)
    assert ModelInfo.of(random_model(36, positions="rotary").config).max_length is None

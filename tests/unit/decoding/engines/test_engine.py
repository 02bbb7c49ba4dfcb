"""The maximum length of a translation, and which sentences share a batch: worked by hand."""

from clearhead.decoding.engines.engine import Request, batches_by_length, length_limit
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from tests.unit.decoding.toys import random_model


def test_a_limit_grows_with_the_source_up_to_the_positions_of_the_model() -> None:
    config = random_model(max_length=23).config
    assert length_limit(3, SearchSettings(), config) == 14
    assert length_limit(3, SearchSettings(), config, Constraints(prefix=(7, 8), required=((9,), (5, 6)))) == 19
    assert length_limit(11, SearchSettings(), config) == 23
    settings = SearchSettings(max_ratio=1.5, max_extra=3)
    assert [length_limit(length, settings, config) for length in (2, 11, 17)] == [6, 19, 23]
    assert [length_limit(length, SearchSettings(max_length=7), config) for length in (2, 11, 17)] == [7, 7, 7]
    endless = random_model(positions="rotary").config
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

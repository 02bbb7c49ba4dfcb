"""Pools read from the record of a fixed step: worked by hand, and those of `BeamSearch` on the same log-probabilities."""

from typing import Any

import pytest

from clearhead.decoding.search.hypothesis import Hypothesis
from clearhead.decoding.search.record_reader import RecordReader
from clearhead.decoding.search.settings import SearchSettings
from tests.unit.decoding.search.steps_by_hand import (
    EOS,
    LIMITS_BY_HAND,
    NEVER,
    SETTINGS_BY_HAND,
    STEPS,
    never_written,
    new_search,
    random_steps,
    run_search,
    run_selection,
)


def test_a_record_of_three_steps_gives_the_pool_worked_by_hand() -> None:
    record = run_selection(STEPS, LIMITS_BY_HAND, SETTINGS_BY_HAND, NEVER).record.numpy()
    reader = RecordReader(LIMITS_BY_HAND, SETTINGS_BY_HAND, EOS)
    assert reader.going == [0]
    reader.read(record[0])
    assert (reader.pools[0].best, reader.going) == ([], [0])
    reader.read(record[1])
    early = Hypothesis((3, EOS), (-1.0, -0.5), -0.75, has_ended=True)
    assert (reader.pools[0].best, reader.going) == ([early], [0])
    reader.read(record[2])
    cut = Hypothesis((3, 3, 3), (-1.0, -1.0, -0.1), pytest.approx(-0.7), has_ended=False)
    assert reader.pools[0].best == [cut, early], "-0.85 of '4 3 eos' has no room"
    assert reader.going == []


def test_tokens_written_after_the_end_of_a_sentence_are_not_read() -> None:
    settings = SearchSettings(beam=1)
    steps = random_steps(seed=3, num_sentences=2, beam=1, num_tokens=5, length=7)
    steps[0][0, :, EOS] = 5.0  # the first sentence ends at once, and its row continues
    steps[0][1, :, EOS] = -50.0
    record = run_selection(steps, [7, 7], settings, never_written(5)).record.numpy()
    reader = RecordReader([7, 7], settings, EOS)
    reader.read(record[0])
    assert reader.going == [1]
    before = list(reader.pools[0].best)
    assert [hypothesis.tokens for hypothesis in before] == [(EOS,)]
    for step in record[1:]:
        reader.read(step)
    assert reader.pools[0].best == before
    assert reader.going == []


@pytest.mark.parametrize("seed", [2, 3, 5])
@pytest.mark.parametrize(
    "options",
    [
        {"beam": 1},
        {"beam": 3, "min_length": 2},
        {"beam": 3, "stopping": "likely", "length_penalty": 0.6},
        {"beam": 5, "n_best": 2, "stopping": "proved", "length_penalty": 0.0},
        {"beam": 2, "n_best": 2, "stopping": "proved", "length_penalty": 1.7},
    ],
    ids=str,
)
def test_the_pools_are_those_of_a_beam_search(options: dict[str, Any], seed: int) -> None:
    settings, limits, num_tokens = SearchSettings(**options), [11, 7, 5, 2, 1], 13
    steps = random_steps(seed, len(limits), settings.beam, num_tokens, max(limits))
    expected = new_search(limits, settings)
    run_search(expected, steps)
    reader = RecordReader(limits, settings, EOS)
    for step in run_selection(steps, limits, settings, never_written(num_tokens)).record.numpy():
        reader.read(step)
        if not reader.going:
            break
    assert reader.going == []
    assert all(pool.best for pool in expected.pools)
    assert [pool.best for pool in reader.pools] == [pool.best for pool in expected.pools]

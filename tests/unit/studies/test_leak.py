"""A decoder without a mask reads the answer."""

import numpy as np
import pytest

from clearhead.studies import Experiment
from clearhead.studies.leak import LENGTH, VOCABULARY, predict
from tests.tolerances import assert_close
from tests.unit.studies.tiny import measured


@pytest.fixture(scope="module")
def leak() -> Experiment:
    return measured("leak")


def test_the_table_of_the_notes_is_masked_and_renormalised(leak: Experiment) -> None:
    unmasked, masked, _ = leak.tables
    assert [row[-1] for row in unmasked.rows] == pytest.approx([0.2, 0.1, 0.0])
    # 0.15 / 0.9 and 0.75 / 0.9; the last row can see everything.
    assert_close([row[1:] for row in masked.rows], [[1, 0, 0], [1 / 6, 5 / 6, 0], [0.1, 0.2, 0.7]])


def test_the_unmasked_copier_reads_the_answer_and_loses_it_at_inference(leak: Experiment) -> None:
    without, masked = leak.tables[2].rows
    chance = 1 / VOCABULARY
    assert without[1] == 1.0
    assert without[2] == pytest.approx(chance, abs=0.02)  # five standard errors of 10,000 guesses
    assert masked[1] == pytest.approx(chance, abs=0.02)
    assert masked[1] == masked[2]
    assert masked[3] == 1.0


def test_the_masked_copier_predicts_the_most_frequent_token_so_far() -> None:
    tokens = np.random.default_rng(11).integers(VOCABULARY, size=(13, LENGTH))
    counted = [
        [np.argmax(np.bincount(row[: end + 1], minlength=VOCABULARY)) for end in range(LENGTH)] for row in tokens
    ]
    assert predict(tokens, True).tolist() == np.array(counted).tolist()

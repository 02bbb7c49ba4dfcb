"""Sentences with an ambiguous word: the cue stands where it should and decides the translation."""

import pytest
import torch

from clearhead.studies.sense_task import SenseTask
from clearhead.studies.tasks import EOS, FIRST

TASK = SenseTask(length=7, farthest=5, num_plain=3, num_cues=2, num_ambiguous=3)


def test_every_kind_of_word_has_its_own_ids() -> None:
    assert (TASK.first_cue, TASK.first_ambiguous, TASK.first_translation, TASK.vocabulary) == (6, 10, 13, 19)


@pytest.mark.parametrize("distance", [-5, -1, 1, 4])
def test_the_cue_stands_at_its_distance_and_decides_the_translation(distance: int) -> None:
    sentences = TASK.sentences(24, distance, torch.Generator().manual_seed(1))
    source, target = sentences.batch.source, sentences.batch.target
    assert source is not None
    assert target is not None
    for row in range(24):
        words, place = source[row].tolist(), int(sentences.places[row])
        word, sense = int(sentences.words[row]), int(sentences.senses[row])
        assert words[-1] == target[row, -1] == EOS
        assert words[place] == TASK.first_ambiguous + word
        assert (words[place + distance] - TASK.first_cue) // TASK.num_cues == sense
        others = [other for index, other in enumerate(words[:-1]) if index not in (place, place + distance)]
        assert all(FIRST <= other < TASK.first_cue for other in others)
        words[place] = TASK.first_translation + 3 * sense + word
        assert target[row].tolist() == words


def test_words_and_senses_are_equally_frequent() -> None:
    sentences = TASK.sentences(12, 2, torch.Generator())
    pairs = list(zip(sentences.words.tolist(), sentences.senses.tolist(), strict=True))
    assert all(pairs.count((word, sense)) == 2 for word in range(3) for sense in range(2))


def test_training_has_cues_at_all_distances_on_both_sides() -> None:
    batch = TASK.batch(600, torch.Generator().manual_seed(4))
    assert batch.source is not None
    is_cue = (batch.source >= TASK.first_cue) & (batch.source < TASK.first_ambiguous)
    is_ambiguous = batch.source >= TASK.first_ambiguous
    assert (is_cue.sum(dim=1) == 1).all()
    assert (is_ambiguous.sum(dim=1) == 1).all()
    distances = is_cue.int().argmax(dim=1) - is_ambiguous.int().argmax(dim=1)
    assert set(distances.tolist()) == {-5, -4, -3, -2, -1, 1, 2, 3, 4, 5}

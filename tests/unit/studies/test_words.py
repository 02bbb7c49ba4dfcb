"""Sentence pairs of the phrasebook as ids of words."""

from itertools import islice

import torch

from clearhead.data.phrasebook import pairs, set_phrases
from clearhead.studies.tasks import EOS, PAD
from clearhead.studies.words import Phrases, split_words


def test_words_and_punctuation_are_separate_tokens() -> None:
    assert split_words("I don't know, Ana!") == ["i", "don't", "know", ",", "ana", "!"]
    assert split_words("¿Dónde está?") == ["¿", "dónde", "está", "?"]


def test_ids_become_the_words_again() -> None:
    phrases = Phrases.draw(300, seed=1)
    batch = phrases.encode(phrases.pairs[:3])
    assert batch.target is not None
    assert [phrases.text(row) for row in batch.target] == [" ".join(split_words(pair[1])) for pair in phrases.pairs[:3]]
    assert int(batch.target.max()) < phrases.vocabulary
    assert {EOS, PAD} <= set(batch.target.flatten().tolist())


def test_held_out_pairs_have_only_known_words_and_are_not_of_training() -> None:
    phrases = Phrases.draw(2000, seed=1)
    held_out = phrases.held_out("test", 5, seed=1)
    assert len(held_out) == 5
    assert set(split_words(" ".join(map(" ".join, held_out)))) <= set(phrases.words)
    assert not set(held_out) & set(phrases.pairs)


def test_a_batch_is_drawn_from_the_pairs() -> None:
    phrases = Phrases.draw(50, seed=1)
    batch = phrases.batch(7, torch.Generator().manual_seed(0))
    assert batch.source is not None
    known = {" ".join(split_words(pair[0])) for pair in phrases.pairs}
    assert {phrases.text(row) for row in batch.source} <= known


def test_seed_1_reads_the_file_in_its_order_and_another_seed_reads_other_pairs() -> None:
    first, second, again = (Phrases.draw(2000, seed).pairs for seed in (1, 2, 2))
    assert first == tuple(islice(pairs("train"), 2000))
    assert second == again
    assert second[:244] == first[:244] == tuple(set_phrases())
    assert len(set(first) & set(second)) < 400

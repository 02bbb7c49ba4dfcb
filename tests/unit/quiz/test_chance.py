"""Random integers that never change."""

from collections import Counter

from clearhead.quiz.chance import Chance


def test_the_stream_of_a_key_never_changes() -> None:
    chance = Chance("clearhead")
    assert [chance.below(1000) for _ in range(11)] == [741, 525, 86, 600, 814, 831, 176, 781, 540, 731, 398]


def test_all_integers_of_a_range_occur_about_equally_often() -> None:
    chance = Chance("range")
    counts = Counter(chance.between(-2, 4) for _ in range(7000))
    assert set(counts) == set(range(-2, 5))
    assert all(850 < count < 1150 for count in counts.values())  # a fixed stream: this never varies


def test_a_sample_has_different_items() -> None:
    chance = Chance("sample")
    sample = chance.sample(range(11), 11)
    assert sorted(sample) == list(range(11))
    assert sample != list(range(11))
    assert chance.choose(["only"]) == "only"

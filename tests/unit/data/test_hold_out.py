"""Held-out parts: no sentence in two parts, whatever connects the pairs, the same for the same seed."""

from itertools import combinations

import pytest

from clearhead.data.hold_out import Split, TextPair, group_pairs, hold_out, part_size
from clearhead.data.phrasebook import pairs as phrasebook
from clearhead.errors import DataError


def corpus(number: int) -> list[TextPair]:
    """Return pairs in which a source or a target occurs several times, with other case and spaces."""
    return [
        (f"Source {index // 3}" if index % 2 else f"source  {index // 3} ", f"target {index // 2}")
        for index in range(number)
    ]


def sentences(pairs: list[TextPair], indices: tuple[int, ...], side: int) -> set[str]:
    return {" ".join(pairs[index][side].casefold().split()) for index in indices}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("number", [307, 5003])
def test_no_part_has_a_sentence_of_another(number: int, side: int) -> None:
    pairs = [*corpus(number // 2), *list(phrasebook("train"))[: number // 2]]
    # every target of `corpus` is in a pair with the next source: only every twelfth pair starts a new group
    pairs = [(source, f"{target} {index // 12}") for index, (source, target) in enumerate(pairs)]
    split = hold_out(pairs)
    for one, other in combinations((split.train, split.valid, split.test), 2):
        assert not sentences(pairs, one, side) & sentences(pairs, other, side)
    assert sorted((*split.train, *split.valid, *split.test)) == list(range(len(pairs)))
    assert len(split.valid) >= part_size(len(pairs))
    assert len(split.test) >= part_size(len(pairs))


def test_pairs_are_connected_over_several_steps() -> None:
    pairs = [("a", "1"), ("b", "2"), ("c", "3"), ("b", "1"), ("d", "4"), ("C ", "2")]
    assert group_pairs(pairs) == [0, 0, 0, 0, 4, 0]


@pytest.mark.parametrize("other", ["Two words ", "two  words", "two\twords", "two\u00a0words", "\u2003TWO words\r"])
def test_case_and_spaces_make_no_difference(other: str) -> None:
    assert group_pairs([("one", "1"), ("two words", "2"), (other, "3"), ("twowords", "4")]) == [0, 1, 1, 3]


def test_the_parts_depend_only_on_the_seed() -> None:
    pairs = [(f"s{index}", f"t{index}") for index in range(997)]
    assert hold_out(pairs, 3) == hold_out(pairs, 3)
    assert hold_out(pairs, 3) != hold_out(pairs, 5)


@pytest.mark.parametrize(
    ("number", "size"), [(100, 10), (1000, 100), (4288, 200), (29_000, 580), (115_499, 2000), (10**7, 2000)]
)
def test_a_part_is_large_enough_to_mean_something(number: int, size: int) -> None:
    assert part_size(number) == size


def test_a_large_group_stays_in_the_training_text() -> None:
    pairs = [("Yes.", f"target {index}") for index in range(500)] + [(f"s{index}", f"t{index}") for index in range(500)]
    split = hold_out(pairs)
    assert isinstance(split, Split)
    assert set(range(500)) <= set(split.train)


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(DataError) as error:
        hold_out([("a", "b")] * 12)
    assert str(error.value) == (
        "12 pairs are too few to train on: some of them must be held out to measure the result. Give at least 100; a "
        "useful translator needs thousands."
    )


def test_a_text_that_repeats_one_sentence_is_refused() -> None:
    with pytest.raises(DataError, match=r"no pairs can be held out .*: 300 of 300 pairs share a sentence with many"):
        hold_out([("Yes.", f"target {index}") for index in range(300)])

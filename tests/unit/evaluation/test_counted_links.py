"""Counted links: what two word models agree on, on a language that is known word by word."""

from random import Random

from clearhead.evaluation.counted_links import counted_links

NOUNS = ("cat", "dog", "book", "house", "bird", "tree", "glass")
COLOURS = ("red", "old", "small", "new", "dark")


def sentences(number: int) -> tuple[list[str], list[str]]:
    """Return `the COLOUR NOUN sees a NOUN.` in a language that has its colours behind, its words backwards."""
    random = Random(7)
    sources, targets = [], []
    for _ in range(number):
        colour, first, second = random.choice(COLOURS), random.choice(NOUNS), random.choice(NOUNS)
        sources.append(f"The {colour} {first} sees a {second}.")
        targets.append(f"{first[::-1]} {colour[::-1]} videt {second[::-1]}!")
    return sources, targets


def test_words_that_come_together_are_linked_across_the_order() -> None:
    sources, targets = sentences(60)
    found = counted_links(sources, targets)
    right = {(1, 1), (2, 0), (3, 2), (5, 3)}
    hits = sum(len(each & right) for each in found)
    made = sum(len(each) for each in found)
    assert len(found) == 60
    assert hits / made > 0.75, "precision: the two articles may be linked too"
    assert hits / (60 * len(right)) > 0.9, "recall"


def test_every_word_has_one_partner_at_most() -> None:
    for each in counted_links(*sentences(20)):
        assert len({source for source, _ in each}) == len({target for _, target in each}) == len(each)


def test_empty_lines_and_bare_punctuation_do_no_harm() -> None:
    assert counted_links([], []) == []
    assert counted_links([""], [""]) == [frozenset()]
    assert counted_links(["", "a"], ["b", ""]) == [frozenset(), frozenset()]
    assert counted_links(["- a", "- a"], ["- b", "- b"])[0] == {(0, 0), (1, 1)}

"""Counted links: the links that two word models agree on, in an artificial language with known links."""

from random import Random

from clearhead.evaluation.ibm_alignment import ibm_model1_links

NOUNS = ("cat", "dog", "book", "house", "bird", "tree", "glass")
COLOURS = ("red", "old", "small", "new", "dark")


def sentences(number: int) -> tuple[list[str], list[str]]:
    """Return `the COLOUR NOUN sees a NOUN.` in a language with colours after nouns and reversed words."""
    random = Random(7)
    sources, targets = [], []
    for _ in range(number):
        colour, first, second = random.choice(COLOURS), random.choice(NOUNS), random.choice(NOUNS)
        sources.append(f"The {colour} {first} sees a {second}.")
        targets.append(f"{first[::-1]} {colour[::-1]} videt {second[::-1]}!")
    return sources, targets


def test_words_that_occur_together_are_linked_in_any_order() -> None:
    sources, targets = sentences(60)
    alignments = ibm_model1_links(sources, targets)
    right = {(1, 1), (2, 0), (3, 2), (5, 3)}
    hits = sum(len(links & right) for links in alignments)
    num_links = sum(len(links) for links in alignments)
    assert len(alignments) == 60
    assert hits / num_links > 0.75, "precision: the two articles may be linked too"
    assert hits / (60 * len(right)) > 0.9, "recall"


def test_every_word_has_at_most_one_link() -> None:
    for links in ibm_model1_links(*sentences(20)):
        assert len({source for source, _ in links}) == len({target for _, target in links}) == len(links)


def test_empty_lines_and_bare_punctuation_do_no_harm() -> None:
    assert ibm_model1_links([], []) == []
    assert ibm_model1_links([""], [""]) == [frozenset()]
    assert ibm_model1_links(["", "a"], ["b", ""]) == [frozenset(), frozenset()]
    assert ibm_model1_links(["- a", "- a"], ["- b", "- b"])[0] == {(0, 0), (1, 1)}

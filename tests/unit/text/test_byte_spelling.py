"""Bytes in training data: the same text in other pieces, chosen by a seed, on both sides, rare characters first."""

from collections import Counter

import pytest

from clearhead.text.byte_spelling import ByteSpelling, MarkedTexts
from clearhead.text.config import TextConfig
from clearhead.text.tokeniser import Tokeniser, Vocabularies
from clearhead.text.train import train_vocabularies
from tests.unit.text.sentences import ENGLISH, GERMAN, PAIRS


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def vocabularies(request: pytest.FixtureRequest) -> Vocabularies:
    config = {"kind": request.param, "vocabulary": 331, "byte_fallback": True, "sampling": 0.2}
    return train_vocabularies(PAIRS, TextConfig.model_validate(config), ("de",))


def _encoded(spelling: ByteSpelling, marked: MarkedTexts, side: int) -> list[list[int]]:
    rows = spelling.tokenisers[side].encode(marked.sides[side])
    spelling.restore(rows, marked, side)
    return rows


def _spelled(rows: list[list[int]], tokeniser: Tokeniser) -> list[list[str]]:
    """Return the characters of each row that are spelled as bytes."""
    first = tokeniser.byte_ids[0]
    groups = ["".join(f"{piece - first:02x}" if 0 <= piece - first < 256 else " " for piece in row) for row in rows]
    return [[char for run in group.split() for char in bytes.fromhex(run).decode()] for group in groups]


def test_the_text_stays_the_same_except_for_a_character_that_is_added_to_both_sides(vocabularies: Vocabularies) -> None:
    spelling = ByteSpelling((vocabularies.source, vocabularies.target), 0.5)
    sources = [f">>de<< {text}" for text in ENGLISH] * 7
    marked = spelling.mark([sources, GERMAN * 7], seed=5)
    assert 0.4 < len(marked.characters) / len(sources) < 0.6
    num_added = 0
    sides = [vocabularies.source.decode(_encoded(spelling, marked, side)) for side in range(2)]
    for row, (source, target) in enumerate(zip(*sides, strict=True)):
        texts = (ENGLISH * 7)[row], (GERMAN * 7)[row]
        if (source, target) == texts:
            continue
        num_added += 1
        characters = marked.characters[row]
        assert source in (f"{texts[0]} {characters}", f"{characters} {texts[0]}")
        assert target in (f"{texts[1]} {characters}", f"{characters} {texts[1]}")
    assert 0.15 < num_added / len(marked.characters) < 0.35


def test_characters_are_spelled_as_bytes_on_both_sides_and_the_rare_ones_most_often(vocabularies: Vocabularies) -> None:
    spelling = ByteSpelling((vocabularies.source, vocabularies.target), 0.5)
    marked = spelling.mark([ENGLISH * 7, GERMAN * 7], seed=5)
    counts, num_texts = Counter[str](), Counter[str]()
    for side, texts in enumerate((ENGLISH * 7, GERMAN * 7)):
        rows = _encoded(spelling, marked, side)
        for row, characters in enumerate(_spelled(rows, spelling.tokenisers[side])):
            num_texts.update(set(texts[row]))
            assert bool(characters) <= (row in marked.characters)
            if row in marked.characters and not set(marked.characters[row]).isdisjoint(texts[row]):
                assert set(characters) >= set(marked.characters[row]) & set(texts[row])
                counts.update(set(characters) & set(texts[row]))
    rates = {character: counts[character] / num_texts[character] for character in "We"}
    assert rates["W"] > 5 * rates["e"]


def test_the_choice_depends_on_the_texts_and_the_seed_alone(vocabularies: Vocabularies) -> None:
    spelling = ByteSpelling((vocabularies.source, vocabularies.target), 0.5)
    first, again, other = (spelling.mark([ENGLISH, GERMAN], seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_sampled_pieces_are_spelled_too(vocabularies: Vocabularies) -> None:
    spelling = ByteSpelling((vocabularies.target,), 0.5)
    marked = spelling.mark([GERMAN], seed=7)
    rows = vocabularies.target.sample(marked.sides[0], seed=11)
    spelling.restore(rows, marked, 0)
    for row, characters in enumerate(_spelled(rows, vocabularies.target)):
        assert set(characters) == set(marked.characters.get(row, ""))


def test_text_with_the_placeholders_themselves_is_left_alone(vocabularies: Vocabularies) -> None:
    spelling = ByteSpelling((vocabularies.target,), 0.5)
    texts = ["a\ufdd0b", "\ufdd3"] * 20
    assert spelling.mark([texts], seed=1) == MarkedTexts((texts,), {})


def test_nothing_is_spelled_without_byte_pieces() -> None:
    tokeniser = train_vocabularies(PAIRS, TextConfig(vocabulary=151)).source
    spelling = ByteSpelling((tokeniser,), 0.5)
    assert spelling.share == 0
    assert spelling.mark([ENGLISH], seed=1) == MarkedTexts((ENGLISH,), {})

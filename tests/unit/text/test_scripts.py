"""The scripts of characters, the usual ones of each language, and the pieces of other scripts."""

import pytest

from clearhead.text.config import TextConfig
from clearhead.text.scripts import ScriptCounter, script_of, scripts_of
from clearhead.text.train import train_vocabularies


@pytest.mark.parametrize(
    ("characters", "script"),
    [
        ("aÉßº", "LATIN"),
        ("कीँ", "DEVANAGARI"),
        ("কী", "BENGALI"),
        ("дЁ", "CYRILLIC"),
        ("中", "CJK"),
        ("7७৭.,?।॥ ▁€µ\u0301\u200d\U0001f600", None),
    ],
)
def test_letters_and_marks_have_a_script_and_other_characters_have_none(characters: str, script: str | None) -> None:
    assert {script_of(character) for character in characters} == {script}


def test_a_text_can_have_several_scripts() -> None:
    assert scripts_of("Tatoeba-তে 3টি বই।") == {"LATIN", "BENGALI"}
    assert scripts_of("12:30!") == set()


def test_a_script_of_less_than_a_thousandth_of_the_sentences_is_not_usual() -> None:
    counter = ScriptCounter()
    counter.add("bn", ["বই"] * 1998 + ["Tatoeba বই"] * 2)
    counter.add("hi", ["घर"] * 1999 + ["URL"])
    counter.add("hi", [])
    assert counter.usual == {"bn": ["BENGALI", "LATIN"], "hi": ["DEVANAGARI"]}


def test_pieces_of_other_scripts_are_named_but_no_special_token_tag_or_byte() -> None:
    pairs = [("the cat", "बिल्ली 5"), ("the dog", "কুকুর ৭!")] * 7
    vocabularies = train_vocabularies(pairs, TextConfig(vocabulary=303, byte_fallback=True), ("hi", "bn"))
    tokeniser = vocabularies.target
    outside = tokeniser.pieces_outside(("BENGALI",))
    assert outside is tokeniser.pieces_outside(("BENGALI",))
    for number, piece in enumerate(tokeniser.pieces(range(tokeniser.size))):
        is_special = number in {tokeniser.pad, tokeniser.bos, tokeniser.eos, tokeniser.unk, *tokeniser.tags.values()}
        is_other = not is_special and number not in tokeniser.byte_ids and scripts_of(piece) - {"BENGALI"} != set()
        assert (number in outside) is is_other, piece
    texts = tokeniser.decode([[number] for number in outside])
    assert any("ब" in text for text in texts)
    assert any("t" in text for text in texts)
    assert not any("ক" in text for text in texts)

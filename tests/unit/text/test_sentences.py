"""A text in parts is the same text: nothing lost, nothing changed, cut where a reader would."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.text.sentences import TextPart, join_parts, split_list, split_long, split_sentences


def spelled(parts: list[TextPart]) -> str:
    return "".join(part.text + part.space for part in parts)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("   ", []),
        ("One.", ["One."]),
        ("No end", ["No end"]),
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith came. He left.", ["Dr. Smith came.", "He left."]),
        ("J. Smith came. A. B. Jones left.", ["J. Smith came.", "A. B. Jones left."]),
        ("It costs 3.14 pounds. thank you.", ["It costs 3.14 pounds.", "thank you."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("Wait... What?!  Good.", ["Wait...", "What?!", "Good."]),
        ("One.\n\nTwo \u00a0 three.\u2003Four", ["One.", "Two \u00a0 three.", "Four"]),
        ("यह घर है। वह बड़ा है।", ["यह घर है।", "वह बड़ा है।"]),
        ("今日は。元気？ はい。", ["今日は。", "元気？", "はい。"]),
        ("هل أنت بخير؟ نعم.", ["هل أنت بخير؟", "نعم."]),
    ],
)
def test_a_text_is_split_where_sentences_end(text: str, sentences: list[str]) -> None:
    parts = split_sentences(text)
    assert [part.text for part in parts] == sentences
    assert spelled(parts) == text.strip()


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "en",
            "Mr. Jones paid $4.50 in the U.S. yesterday. Why?",
            ["Mr. Jones paid $4.50 in the U.S. yesterday.", "Why?"],
        ),
        ("es", "La Sra. López llegó. ¿Qué tal? ¡Bien!", ["La Sra. López llegó.", "¿Qué tal?", "¡Bien!"]),
        ("de", "Am 3. Mai kommt er z. B. an. Dr. Müller auch.", ["Am 3. Mai kommt er z. B. an.", "Dr. Müller auch."]),
        ("hi", "यह घर है। क्या वह बड़ा है? हाँ!", ["यह घर है।", "क्या वह बड़ा है?", "हाँ!"]),
        ("bn", "এটা ঘর। ওটা কি বড়? হ্যাঁ।", ["এটা ঘর।", "ওটা কি বড়?", "হ্যাঁ।"]),
        ("xx", "One. Two.", ["One.", "Two."]),
    ],
)
def test_each_language_has_its_abbreviations_and_signs(language: str, text: str, sentences: list[str]) -> None:
    assert [part.text for part in split_sentences(text, language)] == sentences


@pytest.mark.parametrize("language", ["en", "es", "de", "hi", "bn", "fr"])
@given(text=st.text(st.sampled_from("aAÁ .!?\n\t।。»”\"'(0é🍣\u200b\u00a0\u2003\u3000\x85")))
def test_no_character_is_lost(language: str, text: str) -> None:
    parts = split_sentences(text, language)
    assert spelled(parts) == text.strip()
    assert all(part.text for part in parts)


def test_an_initial_and_a_wide_space_do_not_stop_the_splitter() -> None:
    """sentencex 1.0.32 panics at this text."""
    assert [part.text for part in split_sentences("A\u00a0. B")] == ["A\u00a0. B"]


def test_a_long_text_is_cut_between_sentences_then_after_commas_then_at_spaces() -> None:
    def fits(text: str) -> bool:
        return len(text) <= 13

    assert [p.text for p in split_long("First part. Second one.", fits)] == ["First part.", "Second one."]
    assert [p.text for p in split_long("first part, second one", fits)] == ["first part,", "second one"]
    assert [p.text for p in split_long("first part second one", fits)] == ["first part", "second one"]
    assert [p.text for p in split_long("abcdefghijklmnopqrst", fits)] == ["abcdefghij", "klmnopqrst"]


def test_the_parts_of_a_long_text_spell_the_text_again() -> None:
    text = "The cat,  the dog; and a bird. " * 23 + "x" * 57
    parts = split_long(text, lambda piece: len(piece) <= 17)
    assert spelled(parts) == text.strip()
    assert all(0 < len(part.text) <= 17 for part in parts)


def test_a_letter_that_does_not_fit_is_returned_all_the_same() -> None:
    assert [part.text for part in split_long("abc", lambda _: False)] == ["a", "b", "c"]


def test_translations_are_joined_by_the_space_of_the_source_or_one_that_they_need() -> None:
    assert join_parts(["A.", "B.", "C."], ["  ", " ", ""]) == "A.  B. C."
    assert join_parts(["A.", "B."], ["", ""]) == "A. B."
    assert join_parts(["今日。", "明日。"], ["", ""]) == "今日。明日。"
    assert join_parts(["A.", "", "C."], [" ", "\u3000", ""]) == "A.\u3000C."
    assert join_parts([], []) == ""


@given(st.text(alphabet="ab ,;\u3000", max_size=60), st.integers(1, 9))
def test_the_parts_of_a_list_are_short_and_join_to_the_text(text: str, most: int) -> None:
    parts = split_list(text.strip(), most)
    assert "".join(part.text + part.space for part in parts) == text.strip()
    assert all(len(part.text + part.space) <= most for part in parts)


def test_a_list_is_split_after_commas_then_at_spaces_then_anywhere() -> None:
    assert [part.text for part in split_list("12 Main Street, 13 Main Street", 20)] == [
        "12 Main Street,",
        "13 Main Street",
    ]
    assert [part.text for part in split_list("one two three", 8)] == ["one two", "three"]
    assert [part.text for part in split_list("abcdefg", 3)] == ["abc", "def", "g"]

"""A text in parts is the same text: nothing lost, nothing changed, cut where a reader would."""

import pytest

from clearhead.text.sentences import TextPart, join_parts, split_long, split_sentences


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
        ("It costs 3.14 pounds. e.g. This one.", ["It costs 3.14 pounds. e.g. This one."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("Wait... What?! Yes…  Good.", ["Wait...", "What?!", "Yes…", "Good."]),
        ("version 2. of it", ["version 2. of it"]),
        ("यह घर है। वह बड़ा है।", ["यह घर है।", "वह बड़ा है।"]),
        ("今日は。元気？ はい。", ["今日は。", "元気？", "はい。"]),
        ("هل أنت بخير؟ نعم.", ["هل أنت بخير؟", "نعم."]),
    ],
)
def test_a_text_is_split_where_sentences_end(text: str, sentences: list[str]) -> None:
    parts = split_sentences(text)
    assert [part.text for part in parts] == sentences
    assert spelled(parts) == text.strip()


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

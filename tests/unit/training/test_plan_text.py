"""Warnings about a text with which no useful translator can be trained."""

from clearhead.data.hold_out import TextPair
from clearhead.data.phrasebook import pairs as phrasebook
from clearhead.training.plan_text import text_warnings

MANY = 8_000


def text() -> list[TextPair]:
    return list(phrasebook("train"))[:MANY]


def test_a_good_text_has_no_warning() -> None:
    assert list(text_warnings(text())) == []


def test_little_text_is_reported() -> None:
    (warning,) = text_warnings(text()[:700])
    assert warning.startswith("700 pairs are very little text: ")


def test_equal_sides_are_reported() -> None:
    copied = [(source, source if index % 2 else target) for index, (source, target) in enumerate(text())]
    (warning,) = text_warnings(copied)
    assert warning == (
        "The two sides are identical in 50 % of the pairs: the model will learn to copy. Are both files in the same "
        "language?"
    )


def test_a_line_that_is_missing_in_one_file_is_reported_with_its_place() -> None:
    pairs = text()
    shifted = pairs[: MANY // 2] + [
        (source, target) for (source, _), (_, target) in zip(pairs[MANY // 2 :], pairs[MANY // 2 + 1 :], strict=False)
    ]
    (warning,) = text_warnings(shifted)
    assert warning == (
        "The files look misaligned: long sentences do not have long translations in 10 of 20 parts of the text, first "
        "near pair 4,001. Check that each line is the translation of the same line in the other file."
    )


def test_sentences_of_one_length_say_nothing_about_alignment() -> None:
    assert list(text_warnings([(f"s{index:05}", f"t{index:05}") for index in range(MANY)])) == []

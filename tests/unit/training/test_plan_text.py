"""Warnings about a text with which no useful translator can be trained."""

from clearhead.data.hold_out import TextPair
from clearhead.data.phrasebook import pairs as phrasebook
from clearhead.training.plan_text import text_warnings

MANY = 8_000


def text() -> list[TextPair]:
    return list(phrasebook("train"))[:MANY]


def test_a_good_text_has_no_warning() -> None:
    assert list(text_warnings(text())) == []


def test_a_good_text_that_is_sorted_by_length_has_no_warning() -> None:
    assert list(text_warnings(sorted(text(), key=lambda pair: len(pair[0])))) == []


def test_little_text_is_reported() -> None:
    (warning,) = text_warnings(text()[:700])
    assert warning.sentence.startswith("700 pairs are very little text: ")
    assert not warning.is_certain


def test_equal_sides_are_reported() -> None:
    copied = [(source, source if index % 5 < 2 else target) for index, (source, target) in enumerate(text())]
    (warning,) = text_warnings(copied)
    assert not warning.is_certain
    assert warning.sentence == (
        "The two sides are identical in 40 % of the pairs: the model will learn to copy. Are both files in the same "
        "language?"
    )


def test_sides_that_are_mostly_equal_are_certainly_wrong() -> None:
    copied = [(source, source if index % 9 else target) for index, (source, target) in enumerate(text())]
    (warning,) = text_warnings(copied)
    assert warning.is_certain


def test_a_line_that_is_missing_in_one_file_is_reported_with_its_place() -> None:
    pairs = text()
    shifted = pairs[: MANY // 2] + [
        (source, target) for (source, _), (_, target) in zip(pairs[MANY // 2 :], pairs[MANY // 2 + 1 :], strict=False)
    ]
    (warning,) = text_warnings(shifted)
    assert warning.is_certain
    assert warning.sentence == (
        "The files look misaligned: long sentences do not have long translations in 10 of 20 parts of the text, first "
        "near pair 4,001. Check that each line is the translation of the same line in the other file."
    )


def test_a_misaligned_end_of_a_text_is_not_certain() -> None:
    pairs = text()
    end = 9 * MANY // 10
    shifted = pairs[:end] + [
        (source, target) for (source, _), (_, target) in zip(pairs[end:], pairs[end + 1 :], strict=False)
    ]
    (warning,) = text_warnings(shifted)
    assert "in 2 of 20 parts of the text, first near pair 7,201. " in warning.sentence
    assert not warning.is_certain


def test_sentences_of_one_length_say_nothing_about_alignment() -> None:
    assert list(text_warnings([(f"s{index:05}", f"t{index:05}") for index in range(MANY)])) == []

"""Warnings about the text of a plan, and the closing advice of a run."""

import pytest

from clearhead.data.hold_out import TextPair
from clearhead.data.phrasebook import pairs as phrasebook
from clearhead.training.outcome import KeptScore, Outcome, Stopped
from clearhead.training.plan_report import closing_advice, text_warnings

MANY = 8_000
SIGNATURE = "nrefs:1"
LITTLE, MUCH = ({"corpora": [{"path": "data.train.0", "kept": number}]} for number in (997, 50_021))


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


def outcome(bleu: float | None, stopped: Stopped = "steps") -> Outcome:
    scores = {} if bleu is None else {"bleu": KeptScore("BLEU", bleu, SIGNATURE)}
    return Outcome(101, 3.0, stopped, test_scores=scores)


@pytest.mark.parametrize(
    ("stopped", "data", "remedy"),
    [
        ("minutes", LITTLE, "It stopped after 101 of 2,003 updates: resume the training."),
        (
            "steps",
            LITTLE,
            "It was trained on only 997 pairs: collect more, if possible 20,000. More time helps little.",
        ),
        ("steps", MUCH, "Train for longer, or with more text."),
        ("patience", {}, "Train for longer, or with more text."),
    ],
)
def test_a_low_score_is_explained(stopped: Stopped, data: dict[str, object], remedy: str) -> None:
    (sentence,) = closing_advice(outcome(1.26, stopped), data, 2003)
    assert sentence == (
        "The model is not usable yet: most of its translations are wrong (BLEU 1.3 on the test sentences; expect "
        f"usable ones well above 5). {remedy}"
    )


def test_an_interrupted_training_has_no_usable_model() -> None:
    assert list(closing_advice(outcome(None, "interrupted"), MUCH, 2003)) == [
        "The model is not finished: the training was interrupted after 101 of 2,003 updates. Resume it.",
    ]


def test_a_good_score_needs_no_advice() -> None:
    assert list(closing_advice(outcome(5.0), MUCH, 2003)) == []
    assert list(closing_advice(outcome(31.0), LITTLE, 2003)) == []
    assert list(closing_advice(outcome(None), MUCH, 2003)) == []


def test_the_advice_is_kept_with_the_outcome() -> None:
    kept = Outcome(7, 1.0, "steps", advice=("Add text.",))
    assert Outcome.from_data(kept.to_data()) == kept

"""The number of a sheet: it holds every setting, and a number typed wrongly is never another sheet."""

from itertools import pairwise

import pytest

from clearhead.errors import QuizError
from clearhead.quiz.number import SheetNumber, check_letter, is_trace_number, parse_number
from clearhead.quiz.request import QuizRequest

REQUESTS = [
    SheetNumber(QuizRequest("self-attention", 2, 7, 3)),
    SheetNumber(QuizRequest("softmax", 1, 0, 1), 13),
    SheetNumber(QuizRequest("seq2seq-attention", 3, 999_999, 999, "hard", 4), 41),
    SheetNumber(QuizRequest("add-and-norm", 2, 31, 11, "row")),
    SheetNumber(QuizRequest("parts", 1, 5, 2, "all", 3)),
]


def test_a_number_is_readable() -> None:
    assert str(SheetNumber(QuizRequest("self-attention", 2, 7, 3))) == "self-attention-2-7-03-v1-U"
    assert str(SheetNumber(QuizRequest("self-attention", 2, 7, 3, "row", 3), 4)).startswith(
        "self-attention-2r3-7-03d4-v1-"
    )


@pytest.mark.parametrize("number", REQUESTS, ids=str)
def test_a_number_holds_every_setting(number: SheetNumber) -> None:
    assert parse_number(str(number)) == number


@pytest.mark.parametrize(
    "typed",
    [
        "SELF-ATTENTION-2-7-03-V1-u",
        " self-attention - 2-7-03-v1-U ",
        "self–attention–2–7–03–v1–U",
        "self-attention-2-7-3-v1-U",
    ],
)
def test_capitals_spaces_dashes_and_leading_zeros_do_not_matter(typed: str) -> None:
    assert str(parse_number(typed)) == "self-attention-2-7-03-v1-U"


@pytest.mark.parametrize("number", REQUESTS, ids=str)
def test_every_changed_digit_and_every_swap_of_neighbouring_digits_is_noticed(number: SheetNumber) -> None:
    text = str(number)
    body = text[:-2]
    for place, letter in enumerate(body):
        if letter.isdigit():
            for other in "0123456789".replace(letter, ""):
                assert check_letter(body[:place] + other + body[place + 1 :]) != text[-1]
    for place, (first, second) in enumerate(pairwise(body)):
        if first.isdigit() and second.isdigit() and first != second:
            assert check_letter(body[:place] + second + first + body[place + 2 :]) != text[-1]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("self-attention-2-7-03-v1-K", "the check letter K does not fit the rest"),
        ("self-atention-2-7-03-v1-U", "'self-atention' is not a kind of exercise. Did you mean 'self-attention'?"),
        ("self-attention-4-7-03-v1-U", "the difficulty 4 does not exist. It is an integer from 1 to 3."),
        ("self-attention-2-7-00-v1-U", "the variant 0 does not exist. It is an integer from 1 to 999."),
        ("self-attention-2r9-7-03-v1-U", "the decimals 9 does not exist. It is an integer from 1 to 4."),
        ("self-attention-2-7-03-v2-U", "version 2 of the generator is not known to this version of clearhead"),
        ("self-attention-2-7-03-U", "is not the number of a sheet. A number looks like"),
        ("", "is not the number of a sheet."),
        ("x" * 5000, "is not the number of a sheet."),
        ("trace-v1-00000000-K", "is found only by its key file"),
    ],
)
def test_a_wrong_number_gets_one_sentence_about_the_part_that_is_wrong(typed: str, sentence: str) -> None:
    with pytest.raises(QuizError) as caught:
        parse_number(typed)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def test_numbers_of_traces_are_recognised() -> None:
    assert is_trace_number(" Trace-v1-0a1b2c3d-K")
    assert not is_trace_number("transformer-1-7-01-v1-K")

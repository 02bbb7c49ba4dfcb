"""Settings of a request that are not possible."""

from dataclasses import replace

import pytest

from clearhead.errors import QuizError
from clearhead.quiz.request import QuizRequest, check_request

GOOD = QuizRequest("self-attention")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"kind": "self-attenton"},
            "is not a kind of exercise. Did you mean 'self-attention'? Kinds: seq2seq-attention",
        ),
        ({"difficulty": 4}, "difficulty = 4 is not possible. Choose 1, 2 or 3."),
        ({"blanks": "rows"}, "blanks = 'rows' is not possible. Did you mean 'row'? Choices: all, row, hard."),
        ({"seed": -1}, "seed = -1 is out of range. Give an integer from 0 to 999999."),
        ({"variant": 1000}, "variant = 1000 is out of range. Give an integer from 1 to 999."),
        ({"decimals": 0}, "decimals = 0 is out of range. Give an integer from 1 to 4."),
    ],
)
def test_an_impossible_setting_gets_one_sentence(changes: dict[str, int | str], sentence: str) -> None:
    check_request(GOOD)
    with pytest.raises(QuizError) as caught:
        check_request(replace(GOOD, **changes))  # type: ignore[arg-type]  # any of the fields
    assert sentence in str(caught.value)

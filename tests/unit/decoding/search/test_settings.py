"""Search settings that contradict each other are rejected, each with a message."""

from typing import Any

import pytest
from pydantic import ValidationError

from clearhead.decoding.search.settings import SearchSettings


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_best": 3, "beam": 2}, "n_best = 3 is more than beam = 2. Use a beam of 3"),
        ({"temperature": 1, "beam": 4}, "temperature samples at random, but beam = 4 searches. Remove one of them"),
        ({"top_k": 4}, "top_k and top_p only apply to sampling. Give a temperature too"),
        ({"min_length": 5, "max_length": 5}, "min_length = 5 must be less than max_length = 5"),
    ],
)
def test_settings_that_contradict_each_other_are_rejected(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as wrong:
        SearchSettings(**options)
    assert sentence in str(wrong.value)

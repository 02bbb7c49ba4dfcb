"""Where the text of a line is: columns by number or name, keys and keys inside keys."""

from typing import Any

import pytest

from clearhead.errors import DataError
from clearhead.files.fields import FieldFault, find_columns, json_text


@pytest.mark.parametrize(
    ("cells", "fields", "places"),
    [
        (["a", "b", "c"], ("3", "1"), (False, [2, 0])),
        (["id", " target ", "source"], ("source", "target"), (True, [2, 1])),
        (["hello", "hallo"], ("source", "target"), (False, [0, 1])),
        (["hello"], ("source",), (False, [0])),
        (["id", "de"], ("de",), (True, [1])),
    ],
)
def test_columns_are_found_by_number_by_name_or_as_the_first_ones(
    cells: list[str], fields: tuple[str, ...], places: tuple[bool, list[int]]
) -> None:
    assert find_columns("a.tsv", cells, fields) == places


def test_a_missing_column_gets_a_close_match() -> None:
    with pytest.raises(DataError) as error:
        find_columns("a.tsv", ["english", "german"], ("englsh", "german"))
    assert str(error.value) == (
        "a.tsv:1: there is no column 'englsh'. Did you mean 'english'? The first line has: english, german. "
        "Use a name from the first line, or a column number (counted from 1)."
    )


@pytest.mark.parametrize(
    ("data", "field", "text"),
    [
        ({"source": "one"}, "source", "one"),
        ({"translation": {"en": "one"}}, "translation.en", "one"),
        ({"translation.en": "two", "translation": {"en": "one"}}, "translation.en", "two"),
    ],
)
def test_text_is_found_under_a_key_and_inside_a_key(data: dict[str, Any], field: str, text: str) -> None:
    assert json_text(data, field) == text


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ([1], FieldFault("not JSON", "this is a JSON array, but an object {…} is required.")),
        (
            {"sourc": "x"},
            FieldFault(
                "missing key", "no key 'source', but 'sourc' is similar: rename it, or give that name. Keys: sourc."
            ),
        ),
        ({}, FieldFault("missing key", "no key 'source'. Keys: none.")),
        ({"source": 3}, FieldFault("not text", "'source' is a JSON number, but text is required.")),
        ({"source": None}, FieldFault("not text", "'source' is a JSON null, but text is required.")),
        ({"source": "a\0"}, FieldFault("NUL byte", "'source' contains a NUL character.")),
        (
            {"source": "\ud800"},
            FieldFault("invalid UTF-8", "'source' contains an unpaired surrogate, which is not a character."),
        ),
    ],
)
def test_a_value_that_is_not_text_is_a_fault(data: Any, fault: FieldFault) -> None:
    assert json_text(data, "source") == fault


@pytest.mark.parametrize(("label", "text"), [(3, "3"), (0.5, "0.5"), (True, "true"), ("good", "good")])
def test_a_label_can_be_a_number_or_true_or_false(label: Any, text: str) -> None:
    assert json_text({"label": label}, "label", is_label=True) == text

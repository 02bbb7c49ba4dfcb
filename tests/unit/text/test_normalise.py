"""Text that looks the same is spelled the same."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.text.normalise import normalise


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        ("  two   words\t", "nfc", "two words"),
        (" two  words ", "nfc", "two words"),
        ("zwei  Wörter ", "nfc", "zwei Wörter"),
        ("e\u0301te\u0301", "nfc", "été"),
        ("e\u0301te\u0301", "none", "e\u0301te\u0301"),
        ("ﬁve ①", "nfc", "ﬁve ①"),
        ("ﬁve ①", "nfkc", "five 1"),
        ("a\u00a0b\u3000c\u2028d\x85e", "nfc", "a b c d e"),
        ("bell\x07 null\x00 mark\ufeff", "nfc", "bell null mark"),
        ("half \ud83d a pair", "nfc", "half a pair"),
        ("a\u2581b", "nfc", "a b"),
        ("a\ufffdb \ufffd c", "nfc", "ab c"),
        ("क्\u200dष 👩\u200d🔬", "nfc", "क्\u200dष 👩\u200d🔬"),
        ("", "nfc", ""),
        (" \t\n", "nfc", ""),
    ],
)
def test_each_rule_changes_only_what_it_describes(text: str, form: str, expected: str) -> None:
    assert normalise(text, form) == expected


def test_capitals_become_small_letters_only_on_request() -> None:
    assert normalise("Große ÉTÉ") == "Große ÉTÉ"
    assert normalise("Große ÉTÉ", is_lower=True) == "große été"


@settings(max_examples=300)
@given(st.text(), st.sampled_from(["nfc", "nfkc", "none"]), st.booleans())
def test_doing_it_twice_changes_nothing_more(text: str, form: str, is_lower: bool) -> None:
    once = normalise(text, form, is_lower)
    assert normalise(once, form, is_lower) == once


@given(st.text())
def test_the_result_is_in_the_requested_unicode_form_and_can_be_encoded(text: str) -> None:
    result = normalise(text, "nfkc", True)
    assert unicodedata.is_normalized("NFKC", result)
    assert "  " not in result
    result.encode()

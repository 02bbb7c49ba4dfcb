"""Alignments drawn for a terminal."""

from clearhead.decoding.alignment_text import padded_to, render_alignment, width
from clearhead.decoding.word_alignment import WordAlignment


def test_an_alignment_is_drawn_in_columns_of_a_terminal() -> None:
    drawn = render_alignment(WordAlignment(("the", "घर"), ("das", "世界"), ((0, 0), (1, 1))))
    assert drawn == "     1  the\n     2  घर\n      1 2\ndas   ● ·\n世界  · ●\n"
    assert [width(text) for text in ("abc", "世界", "é", "हि")] == [3, 4, 1, 2]
    assert "\x1b" not in render_alignment(WordAlignment(("\x1b[31m",), ("a",), ()))


def test_padding_fills_columns_and_not_letters() -> None:
    assert padded_to("世界", 5) == "世界 "
    assert padded_to("abc", 5) == "abc  "
    assert padded_to("abcdef", 5) == "abcdef"


def test_ten_words_have_columns_of_two() -> None:
    drawn = render_alignment(WordAlignment(tuple("abcdefghij"), ("x",), ((9, 0),)))
    assert drawn.splitlines()[-2:] == ["    1  2  3  4  5  6  7  8  9 10", "x   ·  ·  ·  ·  ·  ·  ·  ·  ·  ●"]
    assert render_alignment(WordAlignment((), (), ())) == "\n"

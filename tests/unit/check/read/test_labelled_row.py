"""Rows with a label before their numbers, and the captions that name them."""

import pytest

from clearhead.check.read.labelled_row import LabelledRow, captioned, labelled_row, labelled_rows, named_row

TOKENS = frozenset({"sun", "moon"})


@pytest.mark.parametrize(
    ("line", "label", "cells"),
    [
        ("sun: 0.31 0.69", "sun", ("0.31", "0.69")),
        ("- moon: (0.1, 0.9)", "moon", ("0.1", "0.9")),
        ("**sun** → [1; 0]", "sun", ("1", "0")),
        ("sun 1 0", "sun", ("1", "0")),
        ("row 2: 0.1 0.9", "2", ("0.1", "0.9")),
        ("2) 0.1 0.9", "2", ("0.1", "0.9")),
        ("2: .1 .9", "2", (".1", ".9")),
        ("q1: 2 0", "q1", ("2", "0")),
        ("sun: 0.1 _", "sun", ("0.1", "_")),
    ],
)
def test_a_labelled_row_is_read(line, label, cells):
    assert labelled_row(line, TOKENS) == LabelledRow(label, cells)


@pytest.mark.parametrize("line", ["0.42 0.16", "Q: 1 2", "cloud: 1 2", "sun shines", "sun: 3", "row two: 1 2"])
def test_other_lines_are_not_labelled_rows(line):
    assert labelled_row(line, TOKENS) is None


def test_without_tokens_any_word_can_be_a_label_but_not_a_name_or_marks():
    assert labelled_row("cloud: 1 2", ()) == LabelledRow("cloud", ("1", "2"))
    assert labelled_row("V: 1 2", ()) is None
    assert labelled_row("Marks: 4 5", ()) is None


def test_rows_end_where_a_line_has_no_label():
    rows = labelled_rows(["sun: 1 2", "moon: 3 4", "", "sun: 5 6"], 0, TOKENS)
    assert [row.label for row in rows] == ["sun", "moon"]


@pytest.mark.parametrize(
    ("line", "equation"),
    [
        ("scores for sun: 2, 0", "scores for sun = 2, 0"),
        ("The weights of moon are 0.1 0.9.", "The weights of moon = 0.1 0.9"),
        ("z1: 1.27, 1.00", "z1 = 1.27, 1.00"),
        ("the weather of moon is 1 2", ""),
        ("weights: none", ""),
    ],
)
def test_a_sentence_that_names_its_row_is_an_equation(line, equation):
    assert named_row(line, TOKENS) == equation


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2. Weights", "Weights"),
        ("Step 2: divide by √2", "scaled scores"),
        ("Step 3: softmax", "weights"),
        ("softmax of the scaled scores", "weights"),
        ("Masked scores", "masked scores"),
        ("Weighted sum of V", "output"),
    ],
)
def test_a_caption_names_or_describes_its_line(text, name):
    symbol = captioned(text, TOKENS)
    assert symbol is not None
    assert symbol.name == name


@pytest.mark.parametrize("text", ["So the weight is 0.42.", "Some words", "x" * 90])
def test_other_words_are_not_captions(text):
    symbol = captioned(text, TOKENS)
    assert symbol is None or symbol.part is None

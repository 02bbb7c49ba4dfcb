"""The heading of a written line: name, place, and the line into which it was copied."""

import pytest

from clearhead.check.read.heading import LineHeading, read_heading


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Q", LineHeading("Q")),
        ("  Q = ", LineHeading("Q")),
        ("cross: Q", LineHeading("Q", "cross")),
        ("cross: Q into scores", LineHeading("Q", "cross", "scores")),
        ("K_copied_into_scores:", LineHeading("K", "", "scores")),
        ("K copied into scores", LineHeading("K", "", "scores")),
        (": Q", LineHeading(": Q")),
    ],
)
def test_a_heading_has_a_name_a_place_and_a_copy(text, heading):
    assert read_heading(text) == heading


def test_a_place_is_added_to_the_one_that_contains_it():
    assert read_heading("head 2: A", "decoder.0") == LineHeading("A", "decoder.0.head 2")


def test_a_written_line_has_all_parts_of_its_heading():
    line = read_heading("cross: Q into scores").line((("1", "2"),), "row 3")
    assert (line.name, line.cells, line.where, line.place, line.copied_into) == (
        "Q", (("1", "2"),), "cross", "row 3", "scores",
    )  # fmt: skip

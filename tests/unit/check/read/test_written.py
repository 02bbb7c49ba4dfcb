"""The `written:` section: matrices, rows and numbers as text, and all mistakes in one message."""

import pytest

from clearhead.check.limits import MAX_WRITTEN_CELLS
from clearhead.check.read.written import WrittenReader
from clearhead.errors import ProblemError


def reader_of(data: object) -> WrittenReader:
    reader = WrittenReader()
    reader.read(data)
    return reader


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        ("0.50", (("0.50",),)),
        (["0.50", "1.2"], (("0.50", "1.2"),)),
        ([["1", None], ["3", "4"]], (("1", ""), ("3", "4"))),
        ("0.26 0.33\n0.41 0.59", (("0.26", "0.33"), ("0.41", "0.59"))),
        (["0.26 0.33", "0.41 0.59"], (("0.26", "0.33"), ("0.41", "0.59"))),
        ("1 234", (("1 234",),)),  # may be one number
        ("e^2 + 1", (("e^2 + 1",),)),
    ],
)
def test_a_value_is_a_grid_of_texts(value, cells):
    assert reader_of({"Q": value}).lines[0].cells == cells


def test_nested_names_are_places_and_copies_name_their_line():
    lines = reader_of({"cross": {"Q": "1", "operands": {"scores": {"K": "2"}}}}).lines
    assert [(line.name, line.where, line.copied_into) for line in lines] == [
        ("Q", "cross", ""),
        ("K", "cross", "scores"),
    ]


def test_mistakes_are_collected_with_their_path():
    reader = reader_of({"Q": [], "K": [["1"], "2"], "V": "1", "copies": {"X": ["1"]}})
    assert [line.name for line in reader.lines] == ["V"]
    assert [mistake.partition(" ")[0] for mistake in reader.mistakes] == ["written:", "written:", "written:"]
    assert "written: Q is an empty list." in reader.mistakes[0]
    assert "written: K mixes rows and single numbers." in reader.mistakes[1]
    assert "does not name the line that X was copied into" in reader.mistakes[2]


def test_too_many_cells_are_rejected():
    row = ["1"] * 2**10
    with pytest.raises(ProblemError, match=f"more than {MAX_WRITTEN_CELLS:,} cells"):
        reader_of({f"Q{number}": [row] * 2**5 for number in range(33)})

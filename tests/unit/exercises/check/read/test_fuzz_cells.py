"""Any text at all: a cell is read or has a reason why not, and a file is read or rejected with a ProblemError."""

import contextlib
import math
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import is_blank, read_cell, visible
from clearhead.exercises.check.read.reading import read_page
from clearhead.exercises.check.read.workings import load_workings

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True, database=None)
PIECES = [
    *"0123456789.,+-*/^(){}[]eEπ√xX%∞½²⁻³·×÷−–—_? \t\n~≈=$\\:;\"'&#!|>",
    *(
        "\\frac",
        "\\sqrt",
        "\\times10^",
        "10^",
        "exp(",
        "ln(",
        "inf",
        "1e",
        "e^",
        "9**9",
        "\u200b",
        "\x00",
        "\x1b",
        "１",
    ),
]
CELL = st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text(
    st.characters(max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=20
)
WORD = st.sampled_from(["Q", "K", "scores", "cross", "operands", "Q into scores", "problem", "written", "kind"]) | CELL
GRID = st.lists(
    st.lists(st.sampled_from(["", "", "0.5", "-0,5", "Q", "e", "student", "decimal"]) | CELL, max_size=6), max_size=8
)
START = st.sampled_from(["problem: bank\nwritten:\n", "kind: a\nwritten: ", "", '{"written": '])
MARKS = st.sampled_from(["", "- ", "? ", "<<: ", "&a ", "*a", "!!int ", "!!set ", "[", "{", "  "])
YAML = st.lists(
    st.tuples(MARKS, WORD, st.sampled_from([": ", ":", "", " |", ": *a", ": [[0.50, 1], [2]]"]), CELL), max_size=8
)


@SETTINGS
@given(CELL, st.booleans(), st.booleans())
def test_any_cell_has_a_value_or_a_problem(text, has_decimal_comma, dot_is_point):
    number = read_cell(text, has_decimal_comma=has_decimal_comma, dot_is_point=dot_is_point)
    assert number.text == text, "the raw text is kept"
    assert bool(number.problem) == math.isnan(number.value), "one or the other"
    assert 0.0 <= number.unit < math.inf
    assert not number.is_whole or number.unit == 1.0
    assert not is_blank(text) or number.problem, "a blank is no number"
    assert (
        read_cell(visible(text), has_decimal_comma=has_decimal_comma).value == number.value
        or dot_is_point
        or (math.isnan(number.value))
    ), "making it visible changes no number"


@SETTINGS
@given(START, YAML)
def test_any_working_file_is_read_or_refused(tmp_path_factory, start, lines):
    path = Path(tmp_path_factory.getbasetemp()) / "any.yaml"
    path.write_text(start + "\n".join("".join(line) for line in lines), encoding="utf-8", errors="replace")
    with contextlib.suppress(ProblemError):
        (working_read,) = load_workings(path)
        assert working_read.lines or working_read.notes, "something was read"


@SETTINGS
@given(GRID, st.sampled_from([(",", ".csv"), (";", ".csv"), ("\t", ".tsv")]))
def test_any_table_is_read_or_refused_and_no_grid_is_ragged(grid, form):
    delimiter, suffix = form
    content = "\n".join(delimiter.join(row) for row in grid).encode("utf-8", "replace")
    with contextlib.suppress(ProblemError):
        page = read_page(content, f"table{suffix}")
        for block in page.blocks:
            for table in block.sides[-1].grids:
                assert len({len(row) for row in table}) == 1, "an empty cell keeps its place"

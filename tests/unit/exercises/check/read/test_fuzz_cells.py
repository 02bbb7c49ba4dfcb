"""Any text at all: a cell is read or has a reason why not, and a file is read or rejected with a ProblemError."""

import contextlib
import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhead.check.working import Working
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import is_blank, read_cell, visible
from clearhead.exercises.check.read.reading import read_page
from clearhead.exercises.check.read.workings import load_workings, read_workings

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


# ---- Any text is read within bounds, or rejected with a message; it never causes a crash ----

FRAGMENTS = [
    *(
        "$$",
        "$",
        "\\[",
        "\\]",
        "\\begin{bmatrix}",
        "\\end{bmatrix}",
        "\\begin{aligned}",
        "\\end{aligned}",
        "\\begin{align}",
    ),
    *(
        "\\end{align}",
        "\\begin{array}{ll}",
        "\\end{array}",
        "&",
        "\\\\",
        "\\quad ",
        "\n",
        "\n\n",
        "\t",
        "|",
        " | ",
        "|---|---|\n",
    ),
    *(
        "Q",
        "K",
        "V",
        "X",
        "Y",
        "E",
        "A",
        "Z",
        "W^Q",
        "W_{K}",
        "W_v",
        "Output",
        "h_1",
        "h_2",
        "S_t",
        "W",
        "W h_1",
        "e_{h_1}",
        "e^t",
    ),
    *(
        "\\alpha^t",
        "x_1",
        "QK^T",
        "QL",
        "KL",
        "QL = Lets X Q",
        "KL = Lets X K",
        "VL = Lets X V",
        "QLxKL = 1.5",
        "Lets\tgo\n",
    ),
    *(
        " = ",
        "=",
        " \\times ",
        " X ",
        "+",
        "-",
        "−",
        "→",
        "\\Rightarrow ",
        "softmax",
        "\\text{softmax}",
        "\\frac{1}{2}",
        "\\sqrt{d_k}",
    ),
    *(
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ",",
        ";",
        "~~",
        "\\cancel{",
        "#",
        "# Masked attention\n",
        "1.) Cross-Attention\n",
        "X — X — X\n",
    ),
    *(
        "1",
        "0",
        "0.5",
        ".5",
        "-0.25",
        "1 2 3",
        "1, 2",
        "2 \\cdot 1",
        "2·1",
        "7.9 \\times 10^{-32}",
        "10^{592}",
        "-∞",
        "\\infty",
        "1e-3",
    ),
    *(
        "[1, 2]",
        "[[1, 2], [3, 4]]",
        "1 & 2 \\\\ 3 & 4",
        "1 & 2 \\\\ 3",
        "E =\t1\t2\n\t3\t4\n",
        "\ue000" + "0" + "\ue001",
        "�",
        "\x00",
        "\u202e",
    ),
    *(
        "<b>",
        "Softmax(1, 2) 0.3, 0.7",
        "EOS [1, 2] + positional encoding [0, 1] = [1, 3]\n",
        "³",
        "٣",
        "①",
        "x̂",
        "\ud7ff",
        "𝟙",
    ),
]
MATRIX = st.lists(
    st.lists(st.sampled_from(["0", "1", "-2", "0.5", "", "1·5", "?", "3.15", "16"]), min_size=0, max_size=4), max_size=4
).map(lambda rows: "\\begin{bmatrix} " + " \\\\ ".join(" & ".join(row) for row in rows) + " \\end{bmatrix}")
NAMES = st.sampled_from(
    [
        "Q",
        "K",
        "V",
        "X",
        "Y",
        "W^Q",
        "W_K",
        "W_V",
        "W",
        "h_1",
        "h_2",
        "S_t",
        "E",
        "A",
        "Z",
        "e_1",
        "\\alpha^t",
        "Output",
        "",
    ]
)
EQUATION = st.builds(
    lambda name, sides: f"$${name} = {' = '.join(sides)}$$\n\n",
    NAMES,
    st.lists(
        st.one_of(
            MATRIX, st.builds(lambda a, b: f"{a} {b}", MATRIX, MATRIX), st.sampled_from(["X W", "0.5", "[1, 2]"])
        ),
        min_size=1,
        max_size=3,
    ),
)
TEXT = st.one_of(
    st.text(max_size=200),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=60).map("".join),
    st.lists(
        st.one_of(EQUATION, st.sampled_from(["# Exercise 2\n", "X — X — X\n", "cross\n", "masked\n", "\n"])),
        max_size=14,
    ).map("".join),
)


def read_or_refuse(text: str, problem: dict[str, object] | None = None) -> list[Working]:
    try:
        workings = read_workings(text.encode("utf-8", "replace"), ".md", problem)
    except ProblemError:
        return []
    for working in workings:
        assert isinstance(working, Working)
        assert all(isinstance(cell, str) for line in working.lines for row in line.cells for cell in row), (
            "cells stay text"
        )
        assert all(line.name and line.cells for line in working.lines), "every line has a name and cells"
        assert not working.problem or "kind" in working.problem, "a problem has a kind"
    return [working for working in workings if isinstance(working, Working)]


@settings(max_examples=400, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(TEXT)
def test_any_text_is_read_or_refused(text):
    read_or_refuse(text)


@settings(max_examples=120, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(TEXT)
def test_any_text_is_read_as_a_working_of_a_given_problem(text):
    workings = read_or_refuse(text, {"kind": "seq2seq-attention", "h": [[1, 2]], "s": [1, 2]})
    assert len(workings) <= 1, "with a problem there is one working"


# Inputs that fuzzing found: each of them once caused a ragged line or stopped the reader.
FOUND = [
    "O=\\begin{matrix}&0·0\\\\0·0\\end{A}",
]


@pytest.mark.parametrize("text", FOUND)
def test_inputs_that_fuzzing_found_stay_fixed(text):
    workings = read_or_refuse(text)
    assert isinstance(workings, list), "read"

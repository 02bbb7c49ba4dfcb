"""Any text is read within bounds, or rejected with a message; it never causes a crash."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clearhead.check.working import Working
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.workings import read_workings

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

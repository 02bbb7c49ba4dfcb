"""Matrices, names and damage as they appear in Markdown, LaTeX, plain text and scans."""

import pytest

from clearhead.check.limits import MAX_DOCUMENT, MAX_DOCUMENT_ITEMS
from clearhead.check.read import document
from clearhead.check.read.document import read_document, scan_document
from clearhead.check.read.latex import MAX_DEPTH, is_number, split_numbers
from clearhead.check.read.page_item import Equation, PageHeading
from clearhead.check.read.symbol import plain, read_symbol
from clearhead.errors import ProblemError

SQUARE = (("1", "2"), ("3", "4"))


def statements(text: str) -> list[Equation]:
    return [item for item in scan_document(text).items if isinstance(item, Equation)]


def named(text: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    grids = {}
    for equation in statements(text):
        values = [side.value for side in equation.sides if side.value is not None]
        if equation.symbol and values:
            grids[equation.symbol.name] = values[-1].cells
    return grids


@pytest.mark.parametrize(
    "text",
    [
        r"$$Q = \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}$$",
        r"\[ Q = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} \]",
        r"$Q = \left[\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right]$",
        r"Here $Q = \begin{smallmatrix} 1 & 2 \\ 3 & 4 \\ \end{smallmatrix}$ is meant.",
        "\\begin{equation}\n\\mathbf{Q} = \\begin{vmatrix} 1 & 2 \\\\[2pt] 3 & 4 \\end{vmatrix}\n\\end{equation}",
        "\\begin{align*}\nQ &= \\begin{matrix} 1 & 2 \\\\ 3 & 4 \\end{matrix} \\\\\n\\end{align*}",
        "Q = [[1, 2], [3, 4]]",
        "Q = [[1 2]\n     [3 4]]",
        "Q = [1 2; 3 4]",
        "Q = [1, 2; 3, 4]",
        "Q =\n1 2\n3 4",
        "Q = 1 2\n3 4",
        "Q:\n1, 2\n3, 4",
        "**Q** =\n\n| | a | b |\n|---|---|---|\n| x | 1 | 2 |\n| y | 3 | 4 |\n",
        "Q:\n\n| 1 | 2 |\n|--:|--:|\n| 3 | 4 |\n",
        "| Q | a | b |\n|---|---|---|\n| x | 1 | 2 |\n| y | 3 | 4 |\n",
        "Q =\t1\t2\n\t3\t4\n",
        "\t1\t2\nQ =\t3\t4\n",
        "Let Q be as follows:\n\n| 1 | 2 |\n|---|---|\n| 3 | 4 |\n",
        "$$\nQ =\n\\begin{bmatrix}\n1 & 2 \\\\\n3 & 4\n\\end{bmatrix}\n$$",
    ],
)
def test_a_matrix_is_read_in_every_notation(text):
    assert named(text) == {"Q": SQUARE}, f"read from {text!r}"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a^t = [0.26, 0.33, 0.41]", ("0.26", "0.33", "0.41")),
        (r"$$a^t = [1 \quad 0.3 \quad 0.4]$$", ("1", "0.3", "0.4")),
        (r"$$a^t = [1 \ 0.3 \ 0.4]$$", ("1", "0.3", "0.4")),
        ("a^t = (1, 2)", ("1", "2")),
        ("a^t = 0.1, 0.9", ("0.1", "0.9")),
        ("a^t = [0,5; 0,25]", ("0,5", "0,25")),
        ("a^t = [1e-3, -∞, .5, 50%]", ("1e-3", "-∞", ".5", "50%")),
        (
            r"$$a^t = \left[\frac{e^2}{e^2+e^4}, 7.9 \times 10^{-32}\right]$$",
            (r"\frac{e^2}{e^2+e^4}", r"7.9 \times 10^{-32}"),
        ),
        ("a^t = [−1 − 2]", ("−1", "− 2")),
    ],
)
def test_a_vector_keeps_its_digits_as_written(text, cells):
    assert named(text) == {"a^t": (cells,)}, f"read from {text!r}"


def test_a_column_is_kept_as_a_column():
    assert named(r"$$c = \begin{bmatrix} 1 \\ 2 \end{bmatrix}$$") == {"c": (("1",), ("2",))}, "one cell a row"


def test_several_equations_in_one_display_are_separated():
    text = r"$$W_q = \begin{bmatrix} 1 \end{bmatrix}, \quad W_k = \begin{bmatrix} 2 \end{bmatrix} \quad x_1 = [3, 4]$$"
    assert named(text) == {"W_Q": (("1",),), "W_K": (("2",),), "X[1]": (("3", "4"),)}, "three equations"


def test_several_equations_on_a_plain_line_are_separated():
    assert named("QE = [1, 2] KE = [3, 4] VE = [5, 6]") == {
        "QE": (("1", "2"),),
        "KE": (("3", "4"),),
        "VE": (("5", "6"),),
    }, "three equations"


def test_an_aligned_block_is_split_by_line_and_column():
    text = r"$$\begin{aligned} QE &= [1, 2] & KE &= [3, 4] \\ VE &= [5, 6] \end{aligned}$$"
    assert named(text) == {"QE": (("1", "2"),), "KE": (("3", "4"),), "VE": (("5", "6"),)}, "three equations"


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (r"\alpha^t", "α^t"),
        ("W^Q", "W_Q"),
        ("W_q", "W_Q"),
        ("W^{Q}", "W_Q"),
        ("W_{k}", "W_K"),
        ("WV", "W_V"),
        ("QK^T", "QKᵀ"),
        ("QKᵀ", "QKᵀ"),
        (r"Q K^{\top}", "QKᵀ"),
        (r"\frac{QK^T}{\sqrt{d_k}}", "QKᵀ/√d_k"),
        (r"\text{Output}", "Output"),
        ("h_{1}", "h[1]"),
        ("e_{h_1}", "e[1]"),
        (r"\alpha_{h1}", "α[1]"),
        ("W h_1", "W h[1]"),
        ("S_t", "s"),
        (r"\text{Step 1: } Q", "Q"),
        (r"\therefore K", "K"),
        ("So, x", "X"),
        ("z_2", "Z[2]"),
        (r"\alpha_{1,2}", "α[1, 2]"),
        ("e_{21}", "e[2, 1]"),
        ("Scores (S)", "S"),
    ],
)
def test_names_are_cleaned(raw, name):
    symbol = read_symbol(raw)
    assert symbol is not None, f"{raw} is a name"
    assert symbol.name == name, f"{raw} is {name}"


def test_words_are_not_a_name():
    assert read_symbol("the number of heads that we use here is") is None, "a sentence is no name"


def test_latex_in_a_formula_becomes_plain():
    assert plain(r"\text{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V") == "softmax (QKᵀ/√d_k )V", "plain Unicode"


def test_headings_rulers_and_weak_titles_are_distinguished():
    text = (
        "# One\n\nX — X — X\n\nMasked self-attention by hand\n\n\\section{Two}\n\n3.) Three\n\nQ4) Four\n\nExercise 5\n"
    )
    headings = [(item.text, item.is_strong) for item in scan_document(text).items if isinstance(item, PageHeading)]
    assert headings == [
        ("One", True),
        ("", True),
        ("Masked self-attention by hand", False),
        ("Two", True),
        ("3.) Three", True),
        ("Q4) Four", True),
        ("Exercise 5", True),
    ], "each by its kind"


def test_lines_are_numbered_as_in_the_file():
    lines = [equation.line for equation in statements("\n\nQ = [1, 2]\n\n$$\nK = [3, 4]\n$$\nV = [5, 6]\n")]
    assert lines == [3, 6, 8], "counted from 1"
    block = "\\begin{align}\nQ &= \\begin{bmatrix} 1 & 2 \\\\\n3 & 4 \\end{bmatrix} \\\\\nK &= [3,\n 4]\n\\\\ V &= [5, 6]\n\\end{align}\nA = [7, 8]"
    equations = [(equation.symbol.name, equation.line) for equation in statements(block)]
    assert equations == [("Q", 2), ("K", 4), ("V", 6), ("A", 8)], "within a display too"


@pytest.mark.parametrize(
    "text", ["3×4 4×3\n", "$$4 \\times 3 \\quad 3 \\times 3$$", "n = 4\n", "We use 30 words and 512 numbers.\n"]
)
def test_sizes_and_prose_are_not_read_as_exercises(text):
    assert read_document(text) == [], "nothing to mark, nothing to say"


def test_a_matrix_of_letters_is_not_read_as_an_exercise():
    text = (
        r"$$X = \begin{bmatrix} x_1 & \dots & x_n \end{bmatrix}, p_1 = \begin{bmatrix} 1 \\ 0 \\ \vdots \end{bmatrix}$$"
    )
    assert read_document(text) == [], "no numbers to mark"


def test_struck_out_numbers_are_skipped_and_reported():
    document = scan_document("Q = [1, 2] ~~3 4~~ \\cancel{\\text{5}}")
    assert [equation.sides[-1].value.cells for equation in document.items] == [(("1", "2"),)], "only what stands"
    assert [note.sentence for note in document.notes] == ["struck out, so ignored: 3 4, 5"], "said so"


def test_a_stray_cell_at_the_end_of_a_scanned_row_is_skipped_and_reported():
    document = scan_document("A =\t1\t0\t7\n\t0\t1\t\n\t0.5\t0.5\t\n")
    assert document.items[0].sides[0].value.cells == (("1", "0"), ("0", "1"), ("0.5", "0.5")), "two columns"
    assert document.notes[0].sentence.startswith("row 1 of A has one number more"), "said so"


@pytest.mark.parametrize(
    ("cell", "is_it"),
    [
        *[
            ("0.5", True),
            ("-∞", True),
            (r"\frac{1}{2}", True),
            ("e^{0.6} / (1 + e)", True),
            ("10⁻³", True),
            ("½", True),
        ],
        *[("x_1", False), ("", False), ("-", False), (r"512 \times", False), (r"\vdots", False), ("abc", False)],
    ],
)
def test_numbers_are_distinguished_from_letters(cell, is_it):
    assert is_number(cell) is is_it, cell


def test_numbers_separated_by_spaces_are_split_around_powers_of_ten():
    assert split_numbers(r"2.9 \times 10^{-89} \quad 1 -3") == [r"2.9 \times 10^{-89}", "1", "-3"], "three numbers"
    assert split_numbers("1 apple 2") == [], "words are no numbers"


@pytest.mark.parametrize("unit", ["[", "(", r"\left(", r"\begin{bmatrix}", r"\begin{aligned}"])
def test_deep_nesting_is_reported_and_skipped(unit):
    document = scan_document("$$Q = " + unit * 5000 + "$$\n\nK = [1, 2]\n")
    assert MAX_DEPTH < 5000, "else this proves nothing"
    assert [note.kind for note in document.notes] == ["unreadable"], "said so"
    assert named("$$Q = " + unit * 5000 + "$$\n\nK = [1, 2]\n") == {"K": (("1", "2"),)}, "the rest is read"


@pytest.mark.parametrize("unit", ["[", "&", "\\\\", "$", "{", "~", "|", "\t", "Q=", "-\n", r"\text{", r"\begin{align}"])
def test_a_long_run_of_one_sign_is_read_in_one_pass(unit):
    assert read_document(unit * (2**16 // len(unit)), name="run") is not None, "it ends"


def test_too_long_a_document_is_refused():
    with pytest.raises(
        ProblemError,
        match="notes.md: this document has 1,048,577 characters; the limit is 1,048,576. Give only the pages",
    ):
        read_document(" " * (MAX_DOCUMENT + 1), name="notes.md")


def test_too_many_statements_are_refused():
    with pytest.raises(ProblemError, match="line 1: this document contains more than 5,000 lines and statements"):
        read_document("Q=1," * (MAX_DOCUMENT_ITEMS + 1))


def test_a_forged_internal_mark_in_a_document_is_plain_text():
    assert named("Q = \ue0000\ue001 [1, 2]") == {}, "a forged mark does not point at a matrix"


@pytest.mark.parametrize("unit", ["|" * 20_000 + "\n", "| a word | another |\n"])
def test_lines_with_pipes_that_are_no_table_are_not_read_again_for_every_line(monkeypatch, unit):
    rows_read = []
    read = document.table_cells
    monkeypatch.setattr(document, "table_cells", lambda *line: rows_read.append(1) or read(*line))
    read_document(unit * 40, name="pipes")
    assert len(rows_read) <= 20 * 40, "each of the 40 lines was the first of a table of up to 40 lines"

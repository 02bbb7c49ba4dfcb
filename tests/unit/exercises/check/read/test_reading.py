"""Every form of a working is read into a page of blocks; nothing but ProblemError is raised."""

import io
import json
import random

import openpyxl
import pytest

from clearhead.errors import ProblemError
from clearhead.exercises.check.read.page import Page, PageBlock
from clearhead.exercises.check.read.reading import read_page


def page_of(text: str, name: str = "page.txt") -> Page:
    """Return the page of a text."""
    return read_page(text.encode(), name)


def statements(page: Page) -> list[tuple[str, ...]]:
    """Return name and sides of every block, with the cells of each grid in place of its character."""
    return [(block.name, *map(shown, block.sides)) for block in page.blocks]


def shown(side: object) -> str:
    """Return the text of a side with its cells written out."""
    text = side.text  # type: ignore[attr-defined]
    for grid in side.grids:  # type: ignore[attr-defined]
        text = text.replace("▢", "[" + "; ".join(" ".join(row) for row in grid) + "]", 1)
    return text


def only_block(page: Page) -> PageBlock:
    """Return the one block of a page."""
    assert len(page.blocks) == 1
    return page.blocks[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Q = [[1, 2], [3, 4]]", [("Q", "[1 2; 3 4]")]),
        ("q1 = (0.26, 0.32)", [("q1", "[0.26 0.32]")]),
        ("q1 = [0.1 0.2]", [("q1", "[0.1 0.2]")]),
        ("K = array([[1., 2.],\n           [3., 4.]], dtype=float32)", [("K", "[1. 2.; 3. 4.]")]),
        ("K = [[1. 2.]\n     [3. 4.]]", [("K", "[1. 2.; 3. 4.]")]),
        ("S = Q K^T = [[1, 2]] [[3], [4]] = [[11]]", [("S", "Q K^T", "[1 2] [3; 4]", "[11]")]),
        ("S = Q K^T\n  = [[1, 2]]\n  = [[3, 4]]", [("S", "Q K^T", "[1 2]", "[3 4]")]),
        ("Q =\n1 2\n3 4\n", [("Q", "[1 2; 3 4]")]),
        ("Q = | 1 2 |\n    | 3 4 |", [("Q", "[1 2; 3 4]")]),
        ("e1 = 1.52, e2 = 0.72 and e3 = 1.0", [("e1", "1.52"), ("e2", "0.72"), ("e3", "1.0")]),
        ("a = 1; b = 2", [("a", "1"), ("b", "2")]),
        ("s_11 = 2  s_{1,2} = 0.5", [("s_11", "2"), ("s_{1,2}", "0.5")]),
        ("A[2] = 1/2, 2/4 = 0.5, 0.5", [("A[2]", "[1/2 2/4]", "[0.5 0.5]")]),
        ("S[1] = 2, 0.5, S[2] = 2, 2", [("S[1]", "[2 0.5]"), ("S[2]", "[2 2]")]),
        ("q1·k1 = 1.2 + 0.32 = 1.52", [("q1·k1", "1.2 + 0.32", "1.52")]),
        ("score(2,1) = 0", [("score(2,1)", "0")]),
        ("softmax(2, 7) = (0.01, 0.99)", [("", "softmax[2 7]", "[0.01 0.99]")]),
        ("weights: 0.4 0.6", [("weights", "[0.4 0.6]")]),
        ("- ∴ ⇒ z = 0.3·(2, 0) + 0.7·(1, 3)", [("z", "0.3·[2 0] + 0.7·[1 3]")]),
        ("king → [0.6, 0.1]", [("king", "[0.6 0.1]")]),
        ("A = softmax(E)\n[0.1, 0.9] → input 1", [("A", "softmax(E)", "[0.1 0.9]")]),
    ],
)
def test_statements_of_plain_text(text: str, expected: list[tuple[str, ...]]) -> None:
    assert statements(page_of(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"$$W_{Q} = \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}$$", [("W_Q", "[1 2; 3 4]")]),
        (r"\[ S' = \frac{S}{\sqrt{2}} = \begin{pmatrix} 1.41 & 0 \end{pmatrix} \]", [("S'", "S/√2", "[1.41 0]")]),
        (r"$\tilde{c} = 0.5$", [("c̃", "0.5")]),
        (r"\begin{aligned} e_1 &= 0.5 \\ e_2 &= 0.25 + 0.5 \\ &= 0.75 \end{aligned}",
         [("e_1", "0.5"), ("e_2", "0.25 + 0.5", "0.75")]),
        (r"$\alpha_{h1} = e^{0.6} / (e^{0.6} + 1) = 0.26$", [("α_h1", "e^{0.6} / (e^{0.6} + 1)", "0.26")]),
        (r"$\text{Output} = K^\top \cdot 2 \times \left[ 1, 2 \right]$", [("Output", "K^T · 2 × [1 2]")]),
        (r"$A = \begin{array}{r|cc} \clearheadname{sun} & 0.4 & 0.6 \\ \cline{2-3} \end{array}$", [("A", "[0.4 0.6]")]),
    ],
)  # fmt: skip
def test_statements_of_latex(text: str, expected: list[tuple[str, ...]]) -> None:
    assert statements(page_of(text, "page.tex")) == expected


def test_drawn_matrices_have_the_names_of_their_titles_and_labels_around_them() -> None:
    text = (
        "  W_Q  (2 × 2, given)    M  (1 × 1, mask)\n"
        "  ⎡  0.4  0.4 ⎤                 roof\n"
        "  ⎣ -0.3  0.1 ⎦          rain [    1 ]\n"
        "\n"
        "  S = Q Kᵀ\n"
        "  Take the dot product of every query with every key.\n"
        "           rain  the roof\n"
        "    rain ⎡ 11.9      -2.7 ⎤\n"
        "    on   ⎣ 19.0      -7.0 ⎦\n"
        "    S[rain, rain]  11.9 = 3×4 - 0.1\n"
    )
    page = page_of(text)
    assert statements(page) == [
        ("W_Q", "[0.4 0.4; -0.3 0.1]"),
        ("M", "[1]"),
        ("S", "Q Kᵀ", "[11.9 -2.7; 19.0 -7.0]"),
        ("S[rain, rain]", "11.9", "3×4 - 0.1"),
    ]
    assert (page.blocks[1].rows, page.blocks[1].columns) == (("rain",), ("roof",))
    assert (page.blocks[2].rows, page.blocks[2].columns) == (("rain", "on"), ("rain", "the roof"))


def test_a_markdown_table_has_labels_and_a_name_in_its_corner() -> None:
    block = only_block(
        page_of("| W<sub>Q</sub> | \\_a | b |\n|---|---|---|\n| **sun** | 0.4 | |\n| on | ? | 1 |\n", "a.md")
    )
    assert (block.name, block.rows, block.columns) == ("W_Q", ("sun", "on"), ("_a", "b"))
    assert block.sides[0].grids == ((("0.4", ""), ("?", "1")),)


def test_a_table_of_lines_stays_one_block() -> None:
    block = only_block(page_of("score | exp | weight\n2.1 | 8.17 | 0.85\n0.4 | 1.49 | 0.15\n"))
    assert (block.rows, block.columns) == ((), ("score", "exp", "weight"))


def test_labelled_rows_keep_the_words_above_them() -> None:
    blocks = page_of("# Part\n\nWeights\nsun: 0.4 0.6\nmoon 0.3 0.7\n").blocks
    assert [(block.name, block.above, block.headings) for block in blocks] == [
        ("sun", "Weights", ("Part",)),
        ("moon", "Weights", ("Part",)),
    ]


@pytest.mark.parametrize(
    "title", ["## Scores", "Step 2: Scores", "2) Scores", "Scores\n------", "**Scores**", r"\section*{Scores}"]
)
def test_headings_stand_above_the_blocks_below_them(title: str) -> None:
    block = only_block(page_of(f"{title}\n\nq = 0.5\n"))
    assert "Scores" in " ".join((*block.headings, block.above))


@pytest.mark.parametrize(
    ("line", "is_listed"),
    [
        ("the weights of moon and sun are 0.16 0.42 then", True),
        ("so I got a weight that is 0.42 here", True),
        ("Date: 12.03.2026, 10:30, page 3, Question 3 (5 marks)", False),
        ("We use 2 heads and d_k = 4 and √4 = 2", False),
        ("3×4   4×3", False),
    ],
)
def test_numbers_of_a_calculation_in_prose_are_listed(line: str, is_listed: bool) -> None:
    page = page_of(f"{line}\n")
    assert bool(page.unread or page.blocks) == is_listed


def test_struck_out_text_is_ignored_with_a_remark() -> None:
    for text in ("a = ~~5~~ 6", r"$a = \cancel{5} 6$"):
        page = page_of(text)
        assert statements(page) == [("a", "6")]
        assert page.remarks == ("Struck-out text was ignored.",)


def test_decimal_commas_are_found_said_or_asked_for() -> None:
    assert statements(page_of("A = (0,25; 0,75)")) == [("A", "[0.25 0.75]")]
    assert statements(page_of("decimal: comma\na = 0,5")) == [("a", "0.5")]
    assert "decimal: comma" in page_of("a = 0,5").remarks[0]
    assert statements(page_of("A = (1,2,3)")) == [("A", "[1 2 3]")]


def test_html_tables_have_their_caption_as_name_and_typed_values_as_cells() -> None:
    page = page_of(
        '<h2>Self</h2><label>Name <input id="student" value="Ada"></label><table><caption><b>W<i class=x>_</i><sub>Q</sub>'
        "</b> 1 × 2, given</caption><tr><td></td><th>1</th><th>2</th></tr><tr><th>sun</th><td data-value=3>0.50</td>"
        '<td><input value="0.4"></td></tr></table><p>q1 = 0.5</p><ol hidden><li>7 = 7</ol>',
        "page.html",
    )
    assert statements(page) == [("W_Q", "[0.50 0.4]"), ("q1", "0.5")]
    assert (page.blocks[0].rows, page.blocks[0].headings[0], page.fields["student"]) == (("sun",), "Self", "Ada")


def test_a_csv_table_has_names_left_of_or_above_their_numbers() -> None:
    page = page_of("problem,q.yaml,\nname,Mo,\n,,\nS,1,3\n,2,2\nA,0.12,\n,,\nweights,,\nsun,0.4,0.6\n", "mo.csv")
    assert statements(page) == [("S", "[1 3; 2 2]"), ("A", "[0.12]"), ("sun", "[0.4 0.6]")]
    assert (page.fields, page.blocks[2].above) == ({"problem": "q.yaml", "student": "Mo"}, "weights")


def test_a_workbook_is_read_as_displayed_and_a_formula_without_a_value_is_one_unread_cell() -> None:
    book = openpyxl.Workbook()
    book.active.append(["A", 0.5, "=1/3"])
    book.active["B1"].number_format = "0.00"
    stream = io.BytesIO()
    book.save(stream)
    page = read_page(stream.getvalue(), "a.xlsx")
    assert statements(page) == [("A", "[0.50 ?]")]
    assert [unread.text for unread in page.unread] == ["=1/3"]
    assert "C1" in page.unread[0].reason


def test_a_notebook_is_read_in_order_without_its_code() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["q1 = 0.5"]},
        {"cell_type": "code", "source": 'x = 3 + 4\nanswers["A"] = [[0.50, ...]]',
         "outputs": [{"text": ["e1 = 1.0\n"]}, {"data": {"text/plain": "array([[1., 2.]])"}}]},
    ]  # fmt: skip
    page = page_of(json.dumps({"cells": cells}), "a.ipynb")
    assert statements(page) == [("q1", "0.5"), ("A", "[0.50 ]"), ("e1", "1.0"), ("", "[1. 2.]")]


def test_a_working_file_has_places_copies_and_texts_of_several_rows() -> None:
    page = page_of(
        "problem: bank\nwritten:\n  cross: {Q: [[0.50, 1]]}\n  A: |\n    0.1 0.9\n    0.4 0.6\n"
        "  Q into S: [1, 2]\n  operands: {S: {K: 3}}\n",
        "a.yaml",
    )
    assert statements(page) == [("Q", "[0.50 1]"), ("A", "[0.1 0.9; 0.4 0.6]"), ("Q", "[1 2]"), ("K", "[3]")]
    assert (page.blocks[0].headings, page.blocks[2].copied_into, page.blocks[3].copied_into) == (("cross",), "S", "S")
    assert page.fields == {"problem": "bank"}


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (b" \n", "a.txt", "is empty"),
        (b"x" * (2**22 + 1), "a.txt", "the limit is 4 MiB"),
        (b"\xff\x00", "a.txt", "UTF-8"),
        (b"PK\x03\x04 word/document.xml", "a.docx", "Word files are not read"),
        (b"PK\x03\x04", "a.xlsx", "is not an .xlsx file"),
        (b"{", "a.ipynb", "is not a readable notebook"),
        (b"[1]" * 6000, "a.txt", "more than 5,000"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(content: bytes, name: str, sentence: str) -> None:
    with pytest.raises(ProblemError, match=sentence):
        read_page(content, name)


def test_utf_16_is_decoded_and_a_form_without_a_suffix_is_guessed() -> None:
    assert statements(read_page("q = 0.5".encode("utf-16"), "a.txt")) == [("q", "0.5")]
    assert "as a document" in page_of("q = 0.5", "ada").remarks[0]


def test_mutated_pages_raise_nothing_but_problem_errors() -> None:
    marks = ["[", "]", "(", "{", "}", "=", ":", "|", "\t", "\n", "\\begin{bmatrix}", "\\frac", "&", "⎡", "<td>", "0.5"]
    generator = random.Random(7)
    for number in range(400):
        content = "".join(generator.choice(marks) for _ in range(60)).encode()
        suffix = (".txt", ".md", ".html", ".csv", ".yaml", ".ipynb", ".xlsx")[number % 7]
        try:
            read_page(content, f"a{suffix}")
        except ProblemError:
            continue

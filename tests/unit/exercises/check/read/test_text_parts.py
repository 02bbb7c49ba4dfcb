"""The steps from marked text to statements, one by one: marks, drawn matrices, lists, statements, words."""

import pytest

from clearhead.exercises.check.read.brackets import take_lists
from clearhead.exercises.check.read.fold import fold, without_comments
from clearhead.exercises.check.read.grid import LABEL, Grid, Grids, counts, is_label, row_cells, table_grid
from clearhead.exercises.check.read.layout import numbered, table_lines, take_drawn
from clearhead.exercises.check.read.page import HOLE
from clearhead.exercises.check.read.prose import has_row, is_setting, is_title, looks_like_calculation
from clearhead.exercises.check.read.statements import has_number, statements, without_tail


def folded(text: str) -> str:
    """Return the plain text of a page, with its matrices written out."""
    grids = Grids()
    return grids.written(fold(text, grids, []))


def drawn(text: str) -> list[tuple[int, str]]:
    """Return the lines of a page with their numbers, with its matrices written out."""
    grids = Grids()
    return [(line.number, grids.written(line.text)) for line in take_drawn(numbered(text), grids)]


def listed(text: str) -> str:
    grids = Grids()
    return grids.written(take_lists(text, grids))


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"$W_{Q}$", "W_Q"),
        ("W<sub>Q</sub>", "W_Q"),
        (r"S_{1,2} \approx \frac{1}{2}", "S_{1,2} ≈ 1/2"),
        (r"\frac{1 + 2}{\sqrt{4}}", "(1 + 2)/√4"),
        (r"\alpha \cdot \mathbf{v}", "α · v"),
        ("**0.5** &times; `2`", "0.5 × 2"),
    ],
)
def test_marks_become_plain_text(text: str, plain: str) -> None:
    assert folded(text) == plain


def test_a_matrix_environment_becomes_one_character_and_other_environments_stay_lines() -> None:
    assert folded(r"Q = \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}") == "Q = [1 2; 3 4]"
    assert folded(r"\begin{align}a = 1 \\ b = 2\end{align}").split("\f") == ["", "a = 1 ", " b = 2"]


def test_struck_text_is_left_out_and_the_page_says_so() -> None:
    remarks: list[str] = []
    assert fold("Z = ~~0.4~~ 0.5", Grids(), remarks).split() == ["Z", "=", "0.5"]
    assert fold(r"Z = \cancel{0.4} 0.5", Grids(), []).split() == ["Z", "=", "0.5"]
    assert remarks == ["Struck-out text was ignored."]


def test_a_comment_leaves_its_line_breaks() -> None:
    assert without_comments("a <!-- 1\n2 -->b") == "a \nb"
    assert without_comments("a <!-- open") == "a <!-- open"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Q = [[1, 2], [3, 4]]", "Q = [1 2; 3 4]"),
        ("Q = [1 2; 3 4]", "Q = [1 2; 3 4]"),
        ("K = np.array([[1., 2.]], dtype=float32)", "K = [1. 2.]"),
        ("q = (0.3, 0.7)", "q = [0.3 0.7]"),
        ("softmax(2, 7)", "softmax[2 7]"),
        ("A[2, 1] = (0.5)", "A[2, 1] = (0.5)"),
        ("Q = [1, 2\n\nK = 3", "Q = [1, 2\n\nK = 3"),
    ],
)
def test_lists_of_numbers_in_brackets_are_matrices_and_indices_are_not(text: str, found: str) -> None:
    assert listed(text) == found


def test_lines_keep_their_numbers_across_folded_breaks() -> None:
    lines = numbered("a\fb\nc\v d\ne")
    assert [(line.number, line.text) for line in lines] == [(1, "a"), (1, "b"), (2, "c d"), (4, "e")]


def test_drawn_matrices_are_one_line_each() -> None:
    assert drawn("Q = ⎡ 1 2 ⎤\n    ⎣ 3 4 ⎦") == [(1, "Q = [1 2; 3 4]"), (0, "")]
    assert drawn("Q = | 1 2 |\n    | 3 4 |\nwords") == [(1, "Q = [1 2; 3 4]"), (3, "words"), (0, "")]


def test_rows_below_a_name_are_its_matrix_and_words_alone_are_lines() -> None:
    grids = Grids()
    lines = table_lines([["Q", ""], ["1", "2"], ["3", "4"]], 5, grids)
    assert [(line.number, grids.written(line.text)) for line in lines] == [(5, "Q"), (6, "[1 2; 3 4]")]
    assert [line.text for line in table_lines([["Head 1", ""], ["by hand", ""]], 1, grids)] == ["Head 1", "by hand"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a = 1, b = 2 and c = 3", ["a = 1", "b = 2", "c = 3"]),
        ("A = 1/2, 2/4 = 0.5, 0.5", ["A = 1/2, 2/4 = 0.5, 0.5"]),
        ("S[1] = 2, 0.5; S[2] = 2, 2", ["S[1] = 2, 0.5", "S[2] = 2, 2"]),
        ("score(1, 2) = 3", ["score(1, 2) = 3"]),
    ],
)
def test_a_line_is_cut_only_where_a_new_name_begins(text: str, parts: list[str]) -> None:
    assert statements(text) == parts


def test_ticks_and_remarks_at_the_end_of_a_side_are_cut() -> None:
    assert without_tail("0.5 ✓") == without_tail("0.5 (rounded).") == "0.5"
    assert without_tail("0.5 (2 + 1)") == "0.5 (2 + 1)"
    assert has_number(".5")
    assert has_number("−∞")
    assert not has_number("W_1")
    assert not has_number("words")


@pytest.mark.parametrize("text", ["0.3 0.7", "the sum is 4", "weights = 0.4", "so we get 1 2 3", ".5"])
def test_numbers_of_a_calculation_must_not_be_lost(text: str) -> None:
    assert looks_like_calculation(text)


@pytest.mark.parametrize(
    "text", ["Question 3", "12 May 2024", "(5 marks)", "see page 4 and layer 1", "3) Explain", "no"]
)
def test_dates_marks_and_counted_things_are_words(text: str) -> None:
    assert not looks_like_calculation(text)


def test_settings_titles_and_rows_are_told_apart() -> None:
    assert is_setting("d_k", "4")
    assert is_setting("e", "2.718")
    assert not is_setting("e", "0.5")
    assert not is_setting("Q", "4")
    assert is_title("Student number")
    assert not is_title("scores")
    assert has_row("0.5 0.5")
    assert has_row("1, 2, 3")
    assert not has_row("1, 0 elsewhere")


def test_a_row_of_numbers_has_cells_and_a_sum_has_one() -> None:
    assert row_cells("0.3 0.7") == row_cells("0.3; 0.7,") == ("0.3", "0.7")
    assert row_cells("1 + 2") == ("1 + 2",)
    assert row_cells("0.3 words") == row_cells("words") == ()


def test_the_words_of_a_table_are_its_labels() -> None:
    grid = table_grid([["S", "sun", "moon"], ["sun", "1", "2"], ["moon", "3", "4"]])
    assert grid == Grid((("1", "2"), ("3", "4")), ("sun", "moon"), ("sun", "moon"), "S")
    assert table_grid([["1", "2"], ["3"]]) == Grid((("1", "2"), ("3", "")))
    assert counts(["1", "2"])
    assert counts(["i=0", "i=1"])
    assert not counts(["2", "3"])
    assert is_label("sun")
    assert is_label(f"{LABEL}1")
    assert not is_label("0.5")
    assert not is_label("?")


def test_grids_know_their_characters() -> None:
    grids = Grids()
    text = f"0.5 {grids.add(Grid((('1', '2'),)))}"
    side = grids.side(text)
    assert (side.text, side.grids) == (f"0.5 {HOLE}", ((("1", "2"),),))
    assert grids.side("1, 2").grids == ((("1", "2"),),)
    assert [grid.cells for grid in grids.inside(text)] == [(("1", "2"),)]

"""How blocks find their lines: their cells, copies, tables, names, operands and places, and what else a page says."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clearhead.check.working import Note, WrittenLine
from clearhead.exercises.check.read import cells, side_calculations
from clearhead.exercises.check.read.copies import Copied, copies_in, has_copies
from clearhead.exercises.check.read.fields import Fields
from clearhead.exercises.check.read.givens import exercises_of, problem_of
from clearhead.exercises.check.read.label_tables import NamedCells, is_label, labelled_rows, named_columns
from clearhead.exercises.check.read.names import Name, read_name
from clearhead.exercises.check.read.operand_lines import OperandLines, PageStatement
from clearhead.exercises.check.read.operands import RowPlace, SoftmaxRows, powers_of, softmax_of
from clearhead.exercises.check.read.places import Places
from clearhead.exercises.check.read.sheet_names import SheetNames
from clearhead.exercises.check.read.sheet_number import ProblemSources
from clearhead.exercises.check.read.text import read_text
from clearhead.exercises.sheet.build import sheet_of
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView

# Q Kᵀ = 2 0.5 / 2 2
ATTENTION: dict[str, Any] = {
    "kind": "self-attention",
    "scale": "none",
    "Q": [[1, 0], [0, 2]],
    "K": [[2, 1], [0.5, 1]],
    "V": [[1, 0], [0, 1]],
}
HEAD = {"W_Q": [[1, 0], [0, 1]], "W_K": [[2, 0], [0, 1]], "W_V": [[1, 1], [0, 1]]}
HEADS: dict[str, Any] = {
    "kind": "self-attention",
    "tokens": ["sun", "moon"],
    "X": [[1, 0], [0, 2]],
    "heads": [HEAD, HEAD],
    "W_O": [[1, 0], [0, 1], [1, 0], [0, 1]],
}


@pytest.fixture(scope="module")
def names() -> SheetNames:
    """Return the names of the exercise without heads."""
    return SheetNames(solve(ATTENTION))


@pytest.fixture
def head_names() -> SheetNames:
    """Return the names of the exercise with two heads, none of whose lines is used."""
    return SheetNames(solve(HEADS))


def block_of(text: str) -> Any:
    """Return the only block of a text."""
    (block,) = read_text(text).blocks
    return block


def copies(text: str, names: SheetNames) -> list[tuple[str, Any]]:
    """Return names and cells of the copies in a statement."""
    assert names.sheet is not None
    block = block_of(text)
    name = names.own_name(block.name)
    line = names.lines_named(name)[0]
    return [(copied.name, copied.cells) for copied in copies_in(block, line, name, names.sheet)]


def placed(*entries: PageStatement) -> tuple[list[tuple[str, Any]], list[Note]]:
    """Return names and cells of the lines of a page, and its notes."""
    sheet = SheetNames(solve(ATTENTION)).sheet
    assert sheet is not None
    notes: list[Note] = []
    return [(line.name, line.cells) for line in OperandLines(sheet, entries, notes).lines()], notes


def test_the_result_of_a_block_is_its_last_matrix_or_number() -> None:
    assert cells.result_of(block_of("S = Q K^T = [[1, 2]] [[3], [4]] = [[11]]")) == (("11",),)
    assert cells.result_of(block_of("q1·k1 = 1.2 + 0.32 = 1.52")) == (("1.52",),)
    assert cells.result_of(block_of("z = 0.3·(2, 0) + 0.7·(1, 3)")) is None


def test_the_part_before_a_colon_is_a_heading_and_a_calculation_is_a_whole_name() -> None:
    block = cells.with_part_as_heading(replace(block_of("Q = [[1, 2]]"), name="cross: Q"))
    assert (block.name, block.headings) == ("Q", ("cross",))
    whole = cells.with_whole_name(block_of("softmax(2, 7) = (0.01, 0.99)"))
    assert (whole.name, cells.result_of(whole)) == ("softmax(2, 7)", (("0.01", "0.99"),))


def test_cells_are_compared_as_numbers() -> None:
    values = cells.values_of((("1/2", "0.50"),))
    assert values is not None
    assert cells.is_same(values, [[0.5, 0.5]])
    assert not cells.is_same(values, [[0.5], [0.5]])
    assert cells.values_of((("1",), ("1", "2"))) is None
    assert cells.is_close((("0.5",), ("0.51",)), np.array([[0.5, 0.5]]))
    assert not cells.is_close((("0.5", "0.9"),), np.array([[0.5, 0.5]]))
    assert cells.shape_of((("1",), ("1", "2"))) == (2, 2)
    assert cells.is_only((("1",),))
    assert not cells.is_only((("1", "2"),))


def test_the_numbers_of_a_side_are_those_of_its_matrix_if_there_is_nothing_else() -> None:
    side, result = block_of("z = 0.3·(2, 0) = (0.6, 0)").sides
    assert cells.numbers_of(result) == ["0.6", "0"]
    assert cells.numbers_of(side) == []
    assert has_copies(side)
    assert not has_copies(result)


def test_the_matrices_of_a_product_are_copies_of_its_factors(names: SheetNames) -> None:
    found = copies("S = [[1, 0], [0, 2]] [[2, 0.5], [1, 1]] = [[2, 0.5], [2, 2]]", names)
    assert found == [("Q", (("1", "0"), ("0", "2"))), ("K", (("2", "0.5"), ("1", "1")))]


def test_a_weighted_sum_copies_a_row_of_weights_and_the_rows_of_v(names: SheetNames) -> None:
    found = copies("Z[2] = 0.5·(1, 0) + 0.5·(0, 1) = (0.5, 0.5)", names)
    assert found == [("A[2]", (("0.5", "0.5"),)), ("V[1]", (("1", "0"),)), ("V[2]", (("0", "1"),))]
    assert copies("Z[2] = 0.5·(1, 0) = (0.5, 0)", names) == []


def test_the_scores_inside_a_softmax_can_be_the_line_itself(names: SheetNames) -> None:
    assert names.sheet is not None
    line = names.sheet.by_id["self_attention:softmax"]
    found = list(copies_in(block_of("A[1] = softmax(2, 0.5) = (0.82, 0.18)"), line, Name("A", "1"), names.sheet))
    assert found == [Copied("S[1]", "self_attention", (("2", "0.5"),), is_line=True)]


def test_a_table_in_another_order_is_read_cell_by_cell(head_names: SheetNames) -> None:
    grid = (("1", "2"), ("3", "4"))
    block = replace(block_of("S = [[1, 2], [3, 4]]"), rows=("sun", "moon"), columns=("sun", "moon"))
    assert list(labelled_rows(block, Name("S"), grid, None, head_names)) == [
        NamedCells(Name("S", "sun"), (("1", "2"),)),
        NamedCells(Name("S", "moon"), (("3", "4"),)),
    ]
    turned = replace(block, columns=("moon", "sun"))
    places = [str(entry.name) for entry in labelled_rows(turned, Name("S"), grid, None, head_names)]
    assert places == ["S[sun, moon]", "S[sun, sun]", "S[moon, moon]", "S[moon, sun]"]
    counted = replace(block, rows=("1", "2"), columns=("1", "2"))
    assert list(labelled_rows(counted, Name("S"), grid, None, head_names)) == [NamedCells(Name("S"), grid)]


def test_columns_that_are_lines_are_rows_of_them(names: SheetNames) -> None:
    block = block_of("| token | score | weight |\n|---|---|---|\n| 1 | 2 | 0.8 |\n| 2 | 0.5 | 0.2 |")
    assert list(named_columns(block, names)) == [
        NamedCells(Name("score"), (("2", "0.5"),)),
        NamedCells(Name("weight"), (("0.8", "0.2"),)),
    ]
    assert is_label("Token")
    assert not is_label("score")


def test_a_softmax_is_a_row_of_weights_with_its_scores() -> None:
    entry = PageStatement(WrittenLine("softmax(2, 0.5)", (("0.82", "0.18"),)), softmax=("2", "0.5"))
    lines, notes = placed(entry)
    assert entry.has_operands
    assert lines == [("S[1]", (("2", "0.5"),)), ("A[1]", (("0.82", "0.18"),))]
    assert notes == []


def test_powers_are_the_exponentials_of_their_row_and_the_sum_follows() -> None:
    lines, notes = placed(
        PageStatement(WrittenLine("e^2", (("7.39",),)), exponents=("2",)),
        PageStatement(WrittenLine("e^0.5", (("1.65",),)), exponents=("0.5",)),
        PageStatement(WrittenLine("sum", (("9.04",),))),
    )
    assert [name for name, _ in lines] == ["exponentials[1, 1]", "exponentials[1, 2]", "sum[1]"]
    assert notes == []


def test_a_quotient_is_one_weight() -> None:
    lines, _ = placed(PageStatement(WrittenLine("e^0.5/(e^2+e^0.5)", (("0.18",),)), quotient=("0.5", ["2", "0.5"])))
    assert lines == [("A[1, 2]", (("0.18",),))]


def test_scores_of_no_row_are_noted_and_other_lines_stay() -> None:
    other = WrittenLine("S", (("2", "0.5"), ("2", "2")))
    lines, notes = placed(
        PageStatement(WrittenLine("softmax(9, 9)", (("0.5", "0.5"),), place="line 3"), softmax=("9", "9")),
        PageStatement(other),
    )
    assert lines == [(other.name, other.cells)]
    assert [(note.kind, note.line) for note in notes] == [("unplaced", 3)]
    assert "no row has these scores" in notes[0].sentence


def test_a_heading_is_a_section_or_a_part_of_the_model(head_names: SheetNames) -> None:
    assert head_names.sheet is not None
    places = Places(head_names.sheet)
    lines = places.lines_below(["My solution", "Self-attention - head 2"])
    assert {line.section for line in lines} == {"Self-attention · Head 2"}
    assert places.lines_below(["My solution"]) == []
    assert places.hint(["My solution", "self-attention", "head 2"]) == "head 2"


def test_names_are_those_of_the_sheet(names: SheetNames, head_names: SheetNames) -> None:
    assert names.own_name("S[1, 2]") == Name("S", "1", "2")
    assert names.is_known("weights")
    assert not names.is_known("sun")
    assert names.name_in("Step 2: weights (softmax)") == "weights"
    assert [line.symbol for line in names.lines_named(Name("weights"))] == ["A"]
    assert names.is_given_symbol("Q")
    assert not names.is_given_symbol("S")
    assert head_names.means_row("sun")
    assert head_names.means_row("row 2")
    assert not head_names.means_row("Z")
    assert head_names.index("token moon") == "moon"
    assert head_names.are_indices(["sun", "row 2", ""])
    assert not head_names.are_indices(["total"])


def test_the_heading_above_a_block_decides_between_lines_of_one_name(head_names: SheetNames) -> None:
    square = (("2", "0"), ("0", "4"))
    line = head_names.sheet_line(["Self-attention · Head 2"], Name("S₂"), square)
    assert line is not None
    assert line.id == "self_attention.head.1:score"
    assert head_names.sheet_line([], Name("T"), square) is None
    assert head_names.hint(["Head 2"], Name("scores"), square) == "Head 2"


def test_numbers_of_a_given_repeat_it_in_any_layout(names: SheetNames) -> None:
    assert names.repeats_given((("2", "0.5"), ("1", "1")))
    assert names.repeats_given((("0", "2"),))
    assert not names.repeats_given((("9", "9"),))
    assert names.is_given(None, Name("Q"), (("1", "0"), ("0", "2")))
    assert not names.is_given(None, Name("S"), (("2", "0.5"), ("2", "2")))


def test_without_an_exercise_only_words_are_known() -> None:
    names = SheetNames(None)
    assert names.is_known("scores")
    assert not names.is_known("T")
    assert names.lines_named(Name("scores")) == ()
    assert names.hint(["Head 1", "Day 2"], Name("S")) == "Head 1.Day 2"


@pytest.mark.parametrize(
    ("name", "text", "is_setting"),
    [("d_k", "4", True), ("√2", "1.41", True), ("e", "2.718", True), ("e", "0.5", False), ("h", "0.46", False)],
)
def test_sizes_and_constants_are_settings(name: str, text: str, is_setting: bool) -> None:
    assert side_calculations.is_setting(name, text) is is_setting


def test_a_side_calculation_is_only_checked() -> None:
    assert side_calculations.is_calculation("8.17/9.66")
    assert not side_calculations.is_calculation("S")
    assert side_calculations.holds("1/3", "0.33")
    assert not side_calculations.holds("1/3", "0.35")
    assert side_calculations.side_calculation("1/3", "0.33", 4).kind == "read"
    wrong = side_calculations.side_calculation("1/3", "0.35", 4)
    assert (wrong.kind, wrong.place, wrong.line) == ("unplaced", "line 4", 4)


def test_the_keys_of_a_working_name_its_exercise_and_its_student() -> None:
    mistakes: list[str] = []
    stated = Fields({"exercise": "bank", "student": " Ada ", "rounded": "W_Q, W_K", "decimal": "comma"}, mistakes)
    assert stated.problem(ProblemSources(), is_needed=True)["title"].startswith("'bank' in two sentences")
    assert (stated.text("student"), stated.rounded(), stated.has_decimal_comma()) == ("Ada", ("W_Q", "W_K"), True)
    assert mistakes == []


@pytest.mark.parametrize(
    ("data", "mistake"),
    [
        ({}, "problem is missing"),
        ({"sheet": "1", "problem": "bank"}, "sheet and problem are both there"),
        ({"sheet": "1"}, "cannot be looked up here"),
        ({"problem": "bank", "studnet": "Ada"}, "'studnet' is not a key beside problem and written"),
    ],
)
def test_wrong_keys_of_a_working_are_mistakes(data: dict[str, Any], mistake: str) -> None:
    mistakes: list[str] = []
    Fields(data, mistakes).problem(ProblemSources(), is_needed=True)
    assert len(mistakes) == 1
    assert mistake in mistakes[0]


def test_the_given_problem_comes_before_the_one_that_a_working_names() -> None:
    fields = Fields({"problem": "bank"}, [])
    assert fields.problem(ProblemSources(ATTENTION), is_needed=True) == ATTENTION
    assert [note.kind for note in fields.notes] == ["warning"]


def test_the_givens_of_a_page_make_up_its_exercise() -> None:
    page = read_text(
        "# Masked attention\nX = [[1, 0], [0, 2]]\nW_Q = [[1, 0], [0, 1]]\nW_K = [[2, 0], [0, 1]]\n"
        "W_V = [[1, 1], [0, 1]]\nunscaled scores: 1 2\n"
    )
    (exercise,) = exercises_of(page.blocks)
    problem = problem_of(exercise, [])
    assert exercise.title == "Masked attention"
    assert (problem["kind"], problem["scale"], problem["X"]) == (
        "masked-self-attention",
        "none",
        [["1", "0"], ["0", "2"]],
    )


def test_a_given_with_other_numbers_begins_the_next_exercise() -> None:
    text = "# One\nQ = [[1, 0]]\nX = [[1, 2]]\nZ = [[1, 2]]\n# Two\nX = [[3, 4]]\nZ = [[3, 4]]\n"
    assert [exercise.title for exercise in exercises_of(read_text(text).blocks)] == ["One", "Two"]


def test_a_page_without_givens_has_no_problem() -> None:
    (exercise,) = exercises_of(read_text("S = [[1, 2]]").blocks)
    assert problem_of(exercise, []) == {}


# ---- The names that people give to lines, rows and cells ----

LABELS = {"sun", "moon", "h1", "h2", "i", "vamos"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("A[2, 3]", Name("A", "2", "3")),
        ("α_{21}", Name("α", "2", "1")),
        ("α_{2,1}", Name("α", "2", "1")),
        ("s_12", Name("s", "1", "2")),
        ("score(1,2)", Name("score", "1", "2")),
        ("w(sun→moon)", Name("w", "sun", "moon")),
        ("PE(pos=1)", Name("P", "pos 1")),
        ("PE(3, 2)", Name("P", "pos 3", "dim 2")),
    ],
)
def test_two_indices_are_a_cell(text: str, name: Name) -> None:
    assert read_name(text, LABELS) == name


@pytest.mark.parametrize(
    "text", ["q1·k2", "q_1 . k_2", "q1 k2^T", "<q1, k2>", "dot(q1, k2)", "k2·q1", "q(1) × k(2)", "q₁·k₂ᵀ"]
)
def test_a_query_times_a_key_is_a_cell_of_the_scores(text: str) -> None:
    assert read_name(text, LABELS) == Name("QKᵀ", "1", "2")


def test_a_product_can_name_tokens_have_one_query_and_be_divided() -> None:
    assert read_name("q_sun·k_moon", LABELS) == Name("QKᵀ", "sun", "moon")
    assert read_name("sun·moon", LABELS) == Name("QKᵀ", "sun", "moon")
    assert read_name("q·k2", LABELS) == Name("scores", "2")
    assert read_name("s·h1", LABELS) == Name("e", "1")
    assert read_name("q1·k2/√4", LABELS) == Name("scaled scores", "1", "2")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("z_sun", Name("z", "sun")),
        ("A[2]", Name("A", "2")),
        ("A[2, :]", Name("A", "2")),
        ("e_{h1}", Name("e", "h1")),
        ("row 2 of A", Name("A", "2")),
        ("weights for sun", Name("weights", "sun")),
        ("mean of row 2", Name("mean", "2")),
        ("output of token 1", Name("output", "1")),
        ("hidden state 1", Name("hidden state", "1")),
    ],
)
def test_one_index_is_a_row(text: str, name: Name) -> None:
    assert read_name(text, LABELS) == name


@pytest.mark.parametrize("text", ["h1", "W_Q", "weights", "attention output", "F1", "Z_2", "weights (%)", "A for Mars"])
def test_other_names_are_left_as_they_are(text: str) -> None:
    assert read_name(text, LABELS) == Name(text)


def test_what_stands_before_a_name_is_not_part_of_it() -> None:
    assert read_name("∴ so the weights =", LABELS) == Name("weights")
    assert read_name("3) A[2]", LABELS) == Name("A", "2")


def test_an_index_that_runs_and_a_spelled_letter_say_nothing() -> None:
    assert read_name("S_{ij}", LABELS) == Name("S")
    assert read_name("α_i", LABELS) == Name("α")
    assert read_name("alpha_h1", LABELS) == Name("α", "h1")
    assert read_name("s11'", LABELS) == Name("s'", "1", "1")


# ---- Statements without an index are placed by the numbers that they use ----

# Q Kᵀ = 2 0.5 / 2 2
SMALL = {
    "kind": "self-attention",
    "scale": "none",
    "Q": [[1, 0], [0, 2]],
    "K": [[2, 1], [0.5, 1]],
    "V": [[1, 0], [0, 1]],
}


def rows(problem: dict[str, object], written: dict[str, np.ndarray] | None = None) -> SoftmaxRows:
    return SoftmaxRows(sheet_of(SheetView(solve(problem))), written or {})


@pytest.mark.parametrize("text", ["e^2.1", "exp(2.1)", "e^{2.1}", "exp 2.1", "e ^ (2.1)"])
def test_a_power_has_an_exponent(text: str) -> None:
    assert powers_of(text) == ["2.1"]


def test_a_sum_of_powers_has_several_and_other_names_have_none() -> None:
    assert powers_of("e^2.1 + e^-0.4") == ["2.1", "-0.4"]
    assert powers_of("e^S") == powers_of("weights") == powers_of("e^2.1 + weights") == []


def test_the_numbers_of_a_softmax_are_its_scores() -> None:
    assert softmax_of("softmax(2, 4, 4)") == softmax_of("softmax([2 4 4])") == ["2", "4", "4"]
    assert softmax_of("softmax(S)") == softmax_of("softmax") == []


def test_a_row_is_found_by_its_scores_and_equal_rows_one_after_the_other() -> None:
    found = rows(SMALL)
    assert found.row_of(["2", "0.5"]) == RowPlace(1, 0)
    equal = rows({**SMALL, "Q": [[1, 0], [1, 0]]})
    assert [equal.row_of(["2", "0.5"]) for _ in range(3)] == [RowPlace(1, 0), RowPlace(1, 1), RowPlace(1, 0)]
    assert found.row_of(["7", "7"]) is None


def test_exponents_that_make_up_a_row_are_its_cells() -> None:
    cells = rows(SMALL).cells_of(["2", "2", "2", "0.5"])
    assert cells == [RowPlace(1, 1, 0), RowPlace(1, 1, 1), RowPlace(1, 0, 0), RowPlace(1, 0, 1)]


def test_the_scores_that_the_student_wrote_come_before_the_right_ones() -> None:
    own = {"self_attention:score": np.array([[2.5, 0.5], [2.0, 2.0]])}
    assert rows(SMALL, own).cells_of(["2.5", "0.5"]) == [RowPlace(1, 0, 0), RowPlace(1, 0, 1)]

"""Rows, cells and gaps that only the exercise can place.

Q Kᵀ is 2 0 2 / 0 2 2 / 2 2 0, a half of it 1 0 1 / 0 1 1 / 1 1 0, and softmax(1, 0, 1) is 0.42 0.16 0.42.
"""

from clearhead.check.read.settling import settle
from clearhead.check.working import Cells, Working, WrittenLine

PROBLEM = {
    "kind": "self-attention",
    "scale": "sqrt(d_k)",
    "tokens": ["sun", "moon", "star"],
    "Q": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]],
    "K": [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 2]],
    "V": [[1, 0], [0, 1], [2, 2]],
}


def settled(*lines: WrittenLine) -> Working:
    return settle(Working(PROBLEM, lines))


def rows(working: Working) -> list[tuple[str, Cells, str]]:
    return [(line.name, line.cells, line.copied_into) for line in working.lines]


def said(working: Working, kind: str) -> list[str]:
    return [note.sentence for note in working.notes if note.kind == kind]


def test_a_working_with_nothing_to_settle_is_unchanged():
    working = Working(PROBLEM, (WrittenLine("S", (("2", "0", "2"), ("0", "2", "2"), ("2", "2", "0"))),))
    assert settle(working) is working


def test_a_softmax_is_the_row_with_its_scores():
    working = settled(WrittenLine("softmax(0, 1, 1)", (("0.2", "0.4", "0.4"),)))
    assert rows(working) == [("S′[2]", (("0", "1", "1"),), ""), ("A[2]", (("0.2", "0.4", "0.4"),), "")]
    assert said(working, "placed") == ['"softmax(0, 1, 1)" was read as row 2 of A, because of its scores.']


def test_the_scores_in_a_softmax_are_a_copy_if_they_were_written_before():
    working = settled(WrittenLine("S'[2]", (("0", "1", "1"),)), WrittenLine("softmax(0 1 1)", (("0.2", "0.4", "0.4"),)))
    assert rows(working)[1] == ("S′[2]", (("0", "1", "1"),), "A[2]")


def test_a_softmax_of_unscaled_scores_is_found_too():
    working = settled(WrittenLine("softmax(2, 0, 2)", (("0.47", "0.06", "0.47"),)))
    assert [line.name for line in working.lines] == ["S[1]", "A[1]"], "no scaling is for the marking to find"


def test_an_index_after_the_softmax_decides_and_other_scores_stay_as_they_are():
    working = settled(WrittenLine("softmax(7, 7, 7)[3]", (("0.3", "0.3", "0.3"),)))
    assert [line.name for line in working.lines] == ["S′[3]", "A[3]"]
    working = settled(WrittenLine("softmax(7, 7, 7)", (("0.3", "0.3", "0.3"),)))
    assert [line.name for line in working.lines] == ["softmax(7, 7, 7)"], "no row has such scores"


def test_cells_and_rows_get_the_name_of_their_line():
    working = settled(
        WrittenLine("q1·k2", (("0",),)), WrittenLine("score(sun, star)", (("2",),)), WrittenLine("Q", (("1",),))
    )
    assert [line.name for line in working.lines] == ["QKᵀ[1, 2]", "scores[sun, star]", "Q"]


def test_a_missing_number_costs_its_cell_and_not_its_row():
    working = settled(WrittenLine("scores", (("2", "0", "2"), ("0", "2", "2"), ("2", "0")), place="row 1"))
    assert working.lines[0].cells[2] == ("2", "", "0"), "2 2 0 without its second number"
    sentence = (
        'row 3 of "scores" has 2 of 3 numbers (2 0): a number is missing, probably in column 2. The others are marked.'
    )
    assert said(working, "unreadable") == [sentence]


def test_a_row_in_which_the_gap_is_not_clear_is_not_marked():
    working = settled(WrittenLine("scores", (("2", "0", "2"), ("0", "2", "2"), ("9", "8"))))
    assert working.lines[0].cells[2] == ("", "", "")
    assert "it is not clear where" in said(working, "unreadable")[0]


def test_empty_cells_are_listed():
    working = settled(WrittenLine("weights", (("0.42", "", "0.42"), ("0.16", "0.42", "_"), ("0.42", "0.42", "0.16"))))
    sentence = '"weights": row 1, column 2, row 2, column 3 are missing, so not marked.'
    assert said(working, "read") == [sentence]


def test_a_block_that_is_repeated_again_and_again_is_compared_a_few_times():
    line = WrittenLine("S", (("2", "0", "2"), ("0", "2", "2"), ("2", "2", "0")))
    working = settled(*[line] * 170)
    assert len(working.lines) == 8
    assert said(working, "read") == [
        '"S" is written more than 8 times, with the same numbers. The others are not marked.'
    ]
    others = settled(*(WrittenLine("S", ((str(number), "0", "0"),)) for number in range(170)))
    assert len(others.lines) == 50
    assert said(others, "unplaced") == ['"S" is written more than 50 times. The others are not marked.']


def test_an_exercise_that_cannot_be_solved_changes_nothing():
    line = WrittenLine("softmax(0, 1)", (("0.2", "0.4"),))
    assert settle(Working({"kind": "nonsense"}, (line,))).lines == (line,)

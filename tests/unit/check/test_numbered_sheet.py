"""A working of a practice sheet: printed numbers are facts, and only the cells to fill in earn marks."""

import pytest

from clearhead.check import Scheme, check
from clearhead.check.marks import LineScheme
from clearhead.check.numbered_sheet import PRINTED, with_printed_lines
from clearhead.check.verdict import Verdict
from clearhead.check.working import NumberedSheet, Working, WrittenLine

UNIT = [[1, 0], [0, 1]]
PROBLEM = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip
Q, K = WrittenLine("Q", (("1", "2"), ("3", "1"))), WrittenLine("K", (("1", "0"), ("0", "1")))
S = WrittenLine("S", (("1", "2"), ("3", "1")))


def marked(written, printed, blank_lines, scheme=None):
    sheet = NumberedSheet("a-1-2-3-v1-K", PROBLEM, "a, difficulty 1", printed, blank_lines)
    (report,) = check({"sheet": "a-1-2-3-v1-K", "written": written}, scheme=scheme, sheets=lambda number: sheet)
    return report


def verdicts(report, symbol):
    return [cell.verdict for line in report.lines if line.symbol == symbol for cell in line.marked]


def test_a_printed_line_earns_nothing_and_is_not_shown():
    report = marked({"S": S.cells}, (Q, K), ("S",))
    assert (report.earned, report.out_of) == (2, 2)
    assert set(verdicts(report, "Q")) == {Verdict.PRINTED}
    assert [line.symbol for line in report.lines if not line.is_printed] == ["S"]
    assert "K = X" not in report.to_markdown()
    assert report.exit_code == 0


def test_a_line_that_is_not_filled_in_earns_nothing_although_later_lines_are_printed():
    report = marked({"A": [["0.27", "0.73"], ["0.88", "0.12"]]}, (K, S), ("Q", "A"))
    by_symbol = {line.symbol: line.marks for line in report.lines}
    assert (by_symbol["Q"].earned, by_symbol["Q"].out_of) == (0, 2)
    assert (report.earned, report.out_of) == (2, 4)


def test_a_wrong_line_above_a_printed_one_is_a_slip_and_not_a_copying_error():
    report = marked({"Q": [["1", "2"], ["4", "2"]], "A": [["0.27", "0.73"], ["0.88", "0.12"]]}, (K, S), ("Q", "A"))
    assert Verdict.TRANSCRIPTION not in report.counts
    assert verdicts(report, "Q") == [Verdict.CORRECT, Verdict.CORRECT, Verdict.SLIP, Verdict.SLIP]
    assert set(verdicts(report, "A")) == {Verdict.CORRECT}, "it follows from the printed scores"


def test_only_the_rows_to_fill_in_are_marked_where_the_others_are_printed():
    printed = (WrittenLine("Q", (("1", "2"), ("", ""))), K)
    right, wrong, empty = (
        marked(written, printed, ("Q", "S"))
        for written in (
            {"Q": [["", ""], ["3", "1"]], "S": S.cells},
            {"Q": [["", ""], ["5", "7"]], "S": [["1", "2"], ["5", "7"]]},
            {"S": S.cells},
        )
    )
    assert (right.earned, right.out_of) == (4, 4)
    marks = {line.symbol: (line.marks.earned, line.marks.because) for line in wrong.lines if line.marks.out_of}
    assert marks["Q"][0] == 0, "the printed row is not a right row of the student"
    assert marks["S"][0] == 2, "carried forward"
    by_symbol = {line.symbol: line.marks for line in empty.lines}
    assert (by_symbol["Q"].earned, by_symbol["Q"].because) == (0, "not written")


def test_printed_numbers_that_a_student_repeats_stay_printed_and_another_number_there_is_an_error():
    repeated = marked({"Q": Q.cells, "S": S.cells}, (Q, K), ("S",))
    assert (repeated.earned, repeated.exit_code) == (2, 0)
    changed = marked({"Q": [["1", "2"], ["3", "7"]], "S": S.cells}, (Q, K), ("S",))
    assert [finding.verdict for finding in changed.findings] == [Verdict.TRANSCRIPTION]


def test_printed_lines_come_first_and_keep_their_place():
    sheet = NumberedSheet("a-1-2-3-v1-K", PROBLEM, "a", (Q,))
    working = with_printed_lines(Working(PROBLEM, (Q, S), sheet=sheet))
    assert [(line.name, line.place) for line in working.lines] == [("Q", PRINTED), ("S", "")]
    assert with_printed_lines(Working(PROBLEM, (S,))).lines == (S,)


@pytest.mark.parametrize(
    ("scheme", "out_of"),
    [
        (Scheme(), 4),  # M1 A1 for both lines
        (Scheme(lines={"scores": LineScheme(M=2, A=3)}), 7),  # and the default for the other line
        (Scheme(lines={"scores": LineScheme(M=2, A=3)}, only_these=True), 5),
        (Scheme(lines={"K": LineScheme(M=2, A=3)}, only_these=True), 4),  # of another variant: K is printed here
    ],
)
def test_a_scheme_applies_to_the_lines_that_the_sheet_leaves_blank(scheme, out_of):
    report = marked({"S": S.cells}, (Q, K), ("S", "A"), scheme)
    assert report.out_of == out_of


def test_a_number_with_fewer_decimals_than_the_sheet_asks_for_must_be_rounded_right():
    # softmax of 1 and 2 is 0.2689 and 0.7311; of 3 and 1 it is 0.8808 and 0.1192
    report = marked({"A": [["0.3", "0.7"], ["0.8", "0.2"]]}, (Q, K, S), ("A",))
    assert verdicts(report, "A") == [Verdict.CORRECT, Verdict.CORRECT, Verdict.TRUNCATED, Verdict.SLIP]


def test_the_last_of_the_decimals_that_the_sheet_asks_for_may_be_off_by_one():
    report = marked({"A": [["0.2690", "0.7311"], ["0.8808", "0.1192"]]}, (Q, K, S), ("A",))
    assert verdicts(report, "A") == [Verdict.ROUNDING, Verdict.CORRECT, Verdict.CORRECT, Verdict.CORRECT]
    assert report.exit_code == 0

"""Marks by hand: M for the method, A for accuracy split by row, follow-through, repeats, schemes."""

import orjson
import pytest

from clearhead.check.marks import LineScheme, Scheme
from clearhead.errors import ProblemError
from tests.unit.check.desk import marked, verdicts

UNIT = [[1, 0], [0, 1]]
ATTENTION = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip
FAULTLESS = {
    "Q": "1 2 / 3 1",
    "K": "1 0 / 0 1",
    "V": "1 2 / 3 4",
    "S": "1 2 / 3 1",
    "A": "0.27 0.73 / 0.88 0.12",
    "Z": "2.46 3.46 / 1.24 2.24",
}
# S₂₁ = 4 instead of 3, and everything that follows from it
SLIP = {**FAULTLESS, "S": "1 2 / 4 1", "A": "0.27 0.73 / 0.95 0.05", "Z": "2.46 3.46 / 1.10 2.10"}


def earned(report):
    return [(line.marks.method, line.marks.accuracy) for line in report.lines]


def test_a_faultless_matrix_earns_one_mark_for_method_and_one_for_accuracy():
    report = marked(ATTENTION, FAULTLESS)
    assert earned(report) == [(1, 1)] * 6
    assert (report.earned, report.out_of) == (12, 12)


def test_accuracy_is_split_by_row_and_what_follows_earns_full_marks():
    """S has one row of two right: M1 A½; A and Z follow: M1 A1 each. 11.5 of 12."""
    report = marked(ATTENTION, SLIP)
    assert earned(report) == [(1, 1), (1, 1), (1, 1), (1, 0.5), (1, 1), (1, 1)]
    assert (report.earned, report.out_of) == (11.5, 12)
    assert [line.marks.is_follow_through for line in report.lines] == [False, False, False, False, True, True]
    assert report.lines[3].marks.because == "1 of 2 rows is right"


def test_without_follow_through_the_rows_below_an_error_earn_no_accuracy():
    """A and Z lose half of their A each: 12 − ½ − ½ − ½ = 10.5."""
    report = marked(ATTENTION, SLIP, Scheme(follow_through=False))
    assert report.earned == 10.5
    assert earned(report)[4:] == [(1, 0.5), (1, 0.5)]


def test_a_misconception_earns_no_method_mark():
    """A by division, 1/3 2/3 / 3/4 1/4: M0 A0; Z follows from it: 1/3 + 2 = 2.33 …, 0.75 + 0.75 = 1.50, 2.50."""
    report = marked(ATTENTION, {**FAULTLESS, "A": "0.33 0.67 / 0.75 0.25", "Z": "2.33 3.33 / 1.50 2.50"})
    assert earned(report)[4:] == [(0, 0), (1, 1)], verdicts(report)
    assert "the method is wrong" in report.lines[4].marks.because


def test_a_line_with_no_correct_cell_earns_nothing():
    report = marked(ATTENTION, {"Q": "1 2 / 3 1", "K": "1 0 / 0 1", "S": "7 9 / 8 6"})
    assert earned(report)[2] == (0, 0)


def test_true_but_not_from_your_line_earns_accuracy_and_no_method_mark():
    """S wrong, A follows, and then Z row by row: the first row is right, the second true only of the right scores."""
    lines = {**SLIP, "S": "2 2 / 4 1", "A": "0.50 0.50 / 0.95 0.05", "Z": FAULTLESS["Z"]}
    report = marked(ATTENTION, lines)
    assert verdicts(report)[5] == "Z !! !!"
    assert earned(report)[5] == (0, 1)


def test_there_is_no_follow_through_if_the_error_makes_the_rest_trivial():
    """All scores written 1: weights ½ throughout, Z = 2, 3 in both rows. Mixing with such weights is trivial."""
    lines = {**FAULTLESS, "S": "1 1 / 1 1", "A": "0.5 0.5 / 0.5 0.5", "Z": "2 3 / 2 3"}
    report = marked(ATTENTION, lines)
    assert verdicts(report)[4:] == ["A ff ff", "Z ff ff"]
    assert earned(report)[4:] == [(1, 0), (1, 0)]
    assert "trivial" in report.lines[4].marks.because
    allowed = marked(ATTENTION, lines, Scheme(trivial_follow_through=True))
    assert earned(allowed)[4:] == [(1, 1), (1, 1)]


def test_uniform_scores_that_are_right_are_not_trivial():
    problem = {**ATTENTION, "W_Q": [[1, 1], [1, 1]]}
    report = marked(
        problem, {"Q": "1 1 / 1 1", "S": "1 1 / 1 1", "A": "0.5 0.5 / 0.5 0.5", "V": "1 2 / 3 5", "Z": "2 3.5 / 2 3.5"}
    )
    by_symbol = {line.symbol: line.marks for line in report.lines}
    assert by_symbol["Z"].accuracy == 1, "V is wrong, but it is not what is uniform"


def test_the_same_misconception_costs_marks_once():
    """Two heads, both unscaled: the second one's slip is the same."""
    heads = {
        "kind": "multi-head-attention", "X": [[1, 1, 2, 1], [0, 1, 1, 1]], "num_heads": 2,
        **{name: [[3, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 2]] for name in ("W_Q", "W_K", "W_V")},
        "W_O": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        "scale": "sqrt(d_k)", "mask": "none", "normaliser": "softmax", "layout": "rows",
    }  # fmt: skip
    # Q = K = [[3, 2 | 6, 2], [0, 2 | 3, 2]]; S₁ = [[13, 4], [4, 4]], S₂ = [[40, 22], [22, 13]]
    first, second = "13 4 / 4 4", "40 22 / 22 13"
    lines = {"head 1: S": first, "head 1: S'": first, "head 2: S": second, "head 2: S'": second}
    report = marked(heads, lines)
    assert [finding.name for finding in report.findings] == ["no scaling", "no scaling"], verdicts(report)
    assert earned(report) == [(1, 1), (0, 0), (1, 1), (1, 1)]
    assert "costs marks only once" in report.lines[3].marks.because
    assert marked(heads, lines, Scheme(charge_repeats=True)).earned == 4


# Schemes


def test_a_scheme_determines_the_marks_of_a_line():
    scheme = Scheme(lines={"S": LineScheme(M=2, A=4)}, default=LineScheme(M=0, A=1))
    report = marked(ATTENTION, SLIP, scheme)
    assert earned(report)[3] == (2, 2)
    assert report.out_of == 5 * 1 + 6


def test_only_the_lines_of_the_scheme_count_if_the_scheme_requires_it():
    report = marked(ATTENTION, SLIP, Scheme(lines={"S": LineScheme(M=1, A=1)}, only_these=True))
    assert (report.earned, report.out_of) == (1.5, 2)


def test_a_line_that_was_not_written_but_is_implied_earns_its_marks():
    scheme = Scheme(lines={"S": LineScheme(M=1, A=1)})
    implied = marked(ATTENTION, {name: text for name, text in FAULTLESS.items() if name != "S"}, scheme)
    assert implied.lines[3].marks.because == "not written, but later lines show that it was done"
    assert (implied.earned, implied.out_of) == (12, 12)


def test_a_line_that_was_not_written_and_is_not_implied_earns_nothing():
    scheme = Scheme(lines={"Z": LineScheme(M=1, A=1)})
    missing = marked(ATTENTION, {name: text for name, text in FAULTLESS.items() if name != "Z"}, scheme)
    assert missing.lines[-1].marks.because == "not written"
    assert (missing.earned, missing.out_of) == (10, 12)
    wrong_below = marked(ATTENTION, {"Q": "1 2 / 3 1", "A": "0.45 0.55 / 0.88 0.12"}, Scheme(lines={"S": LineScheme()}))
    assert wrong_below.lines[1].marks.because == "not written"
    assert wrong_below.lines[1].marks.earned == 0, "a wrong line implies nothing"


def test_the_total_is_scaled_to_the_marks_of_the_scheme():
    report = marked(ATTENTION, SLIP, Scheme(marks=24))
    assert (report.earned, report.out_of, report.unscaled) == (23, 24, (11.5, 12))
    assert orjson.loads(report.to_json())["marks"]["unscaled"] == {"earned": 11.5, "out_of": 12}
    assert "Marks: 23 / 24 (scaled from 11½ / 12)" in report.to_markdown()
    assert "Marks: <b>23 / 24</b> (scaled from 11½ / 12)" in report.to_html()
    same = marked(ATTENTION, SLIP, Scheme(marks=12))
    assert same.unscaled is None, "nothing is scaled from 12 to 12"


def test_rows_that_were_not_written_are_not_called_wrong():
    report = marked(ATTENTION, {**FAULTLESS, "Z[1]": "2.46 3.46", "Z": ""}, Scheme(lines={"Z": LineScheme()}))
    assert report.lines[-1].marks.because == "1 of 2 rows was written"


def test_with_strict_rounding_a_truncated_number_costs_its_row():
    cut = {**FAULTLESS, "A": "0.26 0.73 / 0.88 0.12"}
    assert marked(ATTENTION, cut).earned == 12
    strict = marked(ATTENTION, cut, Scheme(strict_rounding=True))
    assert strict.earned == 11.5
    assert strict.exit_code == 1


def test_a_scheme_that_names_no_line_of_the_sheet_is_reported():
    with pytest.raises(ProblemError, match="'logits' is not a line of this exercise. Its lines are Q, K, V, S, A, Z."):
        marked(ATTENTION, FAULTLESS, Scheme(lines={"logits": LineScheme()}))


def test_a_line_of_the_wrong_shape_has_the_marks_of_the_scheme():
    report = marked(ATTENTION, {**FAULTLESS, "V": "1 2 3 / 3 4 5"}, Scheme(lines={"V": LineScheme(M=3, A=2)}))
    wrong = next(line for line in report.lines if line.name == "V")
    assert (wrong.marks.earned, wrong.marks.out_of) == (0, 5)


def test_numbers_that_could_not_be_checked_earn_nothing():
    """S₁₂ cannot be read. Row 1 of A is not that of the truth, so nobody knows; with S unreadable A earns nothing."""
    row = marked(ATTENTION, {**FAULTLESS, "S": "1 x / 3 1", "A": "0.12 0.88 / 0.88 0.12"})
    marks = next(line.marks for line in row.lines if line.symbol == "A")
    assert (marks.method, marks.accuracy) == (1.0, 0.5)
    assert marks.because == "1 of 2 rows is right; 1 row could not be checked"
    all_rows = marked(ATTENTION, {"S": "x x / x x", "A": "0.12 0.88 / 0.12 0.88"})
    marks = next(line.marks for line in all_rows.lines if line.symbol == "A")
    assert (marks.earned, marks.out_of, marks.because) == (0.0, 2.0, "the numbers could not be checked")

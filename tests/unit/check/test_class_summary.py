"""What a class did: lines counted over the variants of a sheet, the commonest errors, and the distribution of marks."""

from pathlib import Path

from clearhead.check.class_summary import LineState, mark_bands, summarise
from tests.unit.check.school import NO_EXP, ONE, QUIZ, TWO, hand_in, mark


def counts(summary, heading):
    tally = next(tally for tally in summary.lines if tally.heading.startswith(heading))
    return {state.value: number for state, number in tally.counts.items() if number}


def test_the_variants_of_a_sheet_are_counted_together_line_by_line(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    hand_in(tmp_path, "Ben", TWO, A=NO_EXP[TWO])
    hand_in(tmp_path, "Cy", TWO, S=[["2", "5"], ["9", "3"]], A=[["0.05", "0.95"], ["1.00", "0.00"]])
    hand_in(tmp_path, "Di", ONE, A=None)
    hand_in(tmp_path, "Ed", ONE, A=[["0.27", "x"], ["0.88", "0.12"]])
    (summary,) = summarise(mark(tmp_path))
    assert (summary.title, summary.num_workings, summary.sheets) == (QUIZ, 5, (ONE, TWO))
    assert [tally.heading.split()[0] for tally in summary.lines] == ["Q", "S", "A"]
    assert counts(summary, "Q") == {"right": 5}
    assert counts(summary, "S") == {"right": 4, "wrong": 1}
    expected = {"right": 1, "wrong": 1, "right after an earlier error": 1, "not written": 1, "could not be judged": 1}
    assert counts(summary, "A") == expected


def test_the_same_error_in_different_variants_is_one_error_with_one_example(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE, A=NO_EXP[ONE])
    hand_in(tmp_path, "Ben", TWO, A=NO_EXP[TWO])
    hand_in(tmp_path, "Cy", ONE, S=[["1", "2"], ["5", "1"]], A=[["0.27", "0.73"], ["0.98", "0.02"]])
    (summary,) = summarise(mark(tmp_path))
    first, second = summary.slips
    assert first.what == 'misconception "no exp (divided by the sum)" in A (Self-attention)'
    assert first.students == ("Ada", "Ben")
    assert (first.example_student, first.example.name) == ("Ada", "no exp (divided by the sum)")
    assert second.what == "arithmetic slip in S (Self-attention)", "not the cell, whose word differs in each variant"


def test_workings_of_two_quizzes_are_summarised_separately(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    (tmp_path / "ben.yaml").write_text("problem: {kind: softmax, scores: [1, 2]}\nwritten: {weights: [0.27, 0.73]}\n")
    assert [(summary.title, summary.num_workings) for summary in summarise(mark(tmp_path))] == [
        (QUIZ, 1),
        ("softmax", 1),
    ]


def test_marks_fall_into_ten_bands_and_full_marks_into_the_last(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    hand_in(tmp_path, "Ben", ONE, A=None)  # 4 of 6
    bands = mark_bands(mark(tmp_path))
    assert bands is not None
    assert [(bands.label(band), count) for band, count in enumerate(bands.counts) if count] == [
        ("60-69", 1),
        ("90-100", 1),
    ]
    assert round(bands.mean, 1) == round(bands.median, 1) == 83.3


def test_a_class_without_marks_has_no_bands(tmp_path: Path) -> None:
    (tmp_path / "ada.yaml").write_text("[1, 2")
    assert mark_bands(mark(tmp_path)) is None
    assert summarise(mark(tmp_path)) == ()


def test_every_state_of_a_line_has_another_name() -> None:
    assert len({state.value for state in LineState}) == len(LineState) == 5

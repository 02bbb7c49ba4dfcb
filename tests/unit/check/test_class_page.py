"""The pages of a class: the index names and links everything, the projected page has no name at all."""

import re
from pathlib import Path

from clearhead.check.class_summary import LineState, mark_bands, summarise
from clearhead.check.render.class_page import ClassFiles, class_page, projected_page
from tests.unit.check.school import NO_EXP, ONE, QUIZ, TWO, hand_in, mark


def school(folder: Path) -> None:
    hand_in(folder, "Ada", ONE)
    hand_in(folder, "Ben", TWO, A=NO_EXP[TWO])
    hand_in(folder, "Cyril", TWO, S=[["2", "5"], ["9", "3"]], A=[["0.05", "0.95"], ["1.00", "0.00"]])
    hand_in(folder, "Dora", ONE, A=NO_EXP[ONE])
    (folder / "emil.yaml").write_text("student: Emil\nwritten: {Q: [[1, 2]]}\n")
    (folder / "fay.md").write_text("Name: Fay\n\nX = [[1, 2], [3, 4]]\n\nA = softmax(X) = [[0.3, 0.7], [0.3, 0.7]]\n")
    (folder / "gil.yaml").write_text("student: Gil\nsheet: att-2-7-09-v1-X\nwritten: {Q: [[1, 2]]}\n")


def index(folder: Path) -> str:
    marked = mark(folder)
    files = ClassFiles({result.path: f"{result.path.name}.html" for result in marked.results}, {"Grades": "a b.csv"})
    return class_page(marked, "monday", files, ["Not marked: scan.pdf."])


def test_the_index_has_marks_with_links_lines_errors_and_what_must_be_settled(tmp_path: Path) -> None:
    school(tmp_path)
    page = index(tmp_path)
    assert f'<h1 dir="auto">{QUIZ}</h1>' in page
    assert "7 workings, 4 marked." in page
    assert '<a href="ada.yaml.html">Ada</a>' in page
    assert '<a href="a%20b.csv">Grades</a>' in page
    assert f'<td class="number">{TWO}</td>' in page
    assert "<b>2 of 4</b> Misconception &quot;no exp (divided by the sum)&quot; in A (Self-attention)" in page
    assert "Ben, Dora" in page
    assert "Example</span> (" not in page
    assert "<b>emil.yaml</b> cannot be used: problem is missing. Add &#x27;sheet:&#x27;" in page
    assert "<b>fay.md</b> cannot be used: it has no number of a sheet, and the other workings have one. Ask" in page
    assert "<b>gil.yaml</b> cannot be used: there is no sheet &#x27;att-2-7-09-v1-X&#x27;." in page
    assert "Not marked: scan.pdf." in page
    row = re.search(r"<th scope=\"row\" dir=\"auto\">S \(Self-attention\)</th>.*?</tr>", page, re.DOTALL)
    assert row is not None
    assert re.findall(r'<td class="count">(.*?)</td>', row[0]) == ["3", "·", "1"], "right, carried, wrong"


def test_the_projected_page_names_nobody(tmp_path: Path) -> None:
    school(tmp_path)
    page = projected_page(mark(tmp_path))
    for word in ("Ada", "Ben", "Cyril", "Dora", "emil", "fay", "gil", ".yaml", ONE, TWO, "href"):
        assert word not in page, word
    assert "<b>2 of 4</b>" in page
    assert "As it was done" in page


def test_a_student_s_text_is_never_markup(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    hand_in(tmp_path, "Ada", ONE, S=[["1", "<b>2</b>"], ["3", "1"]])
    path = tmp_path / "ada.yaml"
    path.write_text(path.read_text().replace("student: Ada", f"student: {name}"))
    for page in (index(tmp_path), projected_page(mark(tmp_path))):
        assert "<script>alert" not in page
        assert "<b>2</b>" not in page
    assert "&lt;script&gt;" in index(tmp_path)


def test_two_files_of_one_student_and_two_quizzes_are_pointed_out(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    (tmp_path / "zoe.yaml").write_text((tmp_path / "ada.yaml").read_text().replace("Ada", "ADA "))
    (tmp_path / "ben.yaml").write_text("problem: {kind: softmax, scores: [1, 2]}\nwritten: {weights: [0.27, 0.73]}\n")
    page = index(tmp_path)
    assert "handed in 2 files: ada.yaml, zoe.yaml. Decide which one counts" in page
    assert f'<h2 class="quiz">{QUIZ} (2 workings)</h2>' in page
    assert '<h2 class="quiz">softmax (1 working)</h2>' in page
    assert "<title>monday</title>" in page


def test_a_class_without_errors_and_look_alikes_says_so(tmp_path: Path) -> None:
    hand_in(tmp_path, "Ada", ONE)
    page = index(tmp_path)
    assert "No working has an error." in page
    assert "No two workings have nearly the same wrong numbers." in page
    assert "1 working, all marked." in page


# ---- What a class did: lines counted over the variants of a sheet, the commonest errors, and the distribution of marks ----


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

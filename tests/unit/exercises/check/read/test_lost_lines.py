"""Pages as people write them: every number is marked, or listed as not marked.

The exercise has Q Kᵀ = 2 0 2 / 0 2 2 / 2 2 0, halved by √4. With e = 2.718, softmax(1, 0, 1) is 2.718/6.437 = 0.42,
1/6.437 = 0.16 and 0.42. The outputs are 0.42·(1, 0) + 0.16·(0, 1) + 0.42·(2, 2) = (1.27, 1.00), then (1.00, 1.27), and
0.42·(1, 0) + 0.42·(0, 1) + 0.16·(2, 2) = (0.73, 0.73).
"""

from pathlib import Path

import pytest

from clearhead.check import check
from clearhead.check.report import Report
from clearhead.errors import ProblemError

PROBLEM = """kind: self-attention
scale: sqrt(d_k)
tokens: [sun, moon, star]
Q: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]
K: [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 2]]
V: [[1, 0], [0, 1], [2, 2]]
"""
WEIGHTS = "sun: 0.42 0.16 0.42\nmoon: 0.16 0.42 0.42\nstar: 0.42 0.42 0.16\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.yaml").write_text(PROBLEM, encoding="utf-8")
    return tmp_path


def marked(folder: Path, text: str, name: str = "page.txt") -> Report:
    (folder / name).write_text(text, encoding="utf-8")
    is_named = "problem" in text
    (report,) = check(folder / name, None if is_named else folder / "p.yaml")
    return report


def num_right(report: Report) -> dict[str, int]:
    assert not report.findings, report.findings
    assert all(verdict.value == "correct" for verdict in report.counts), report.counts
    return {line.symbol: len(line.marked) for line in report.lines}


def listed(report: Report) -> list[str]:
    return [note.sentence for note in report.notes if note.kind in ("unplaced", "unreadable")]


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (f"Weights\n{WEIGHTS}", {"A": 9}),
        (f"## 2. Weights\n\n{WEIGHTS}", {"A": 9}),
        ("A = softmax(S')\nrow 1: 0.42 0.16 0.42\nrow 3: 0.42 0.42 0.16\n", {"A": 6}),
        ("Weights\nstar: 0.42 0.42 0.16\nsun: 0.42 0.16 0.42\n", {"A": 6}),
        ("q1·k1 = 2\nq1·k2 = 0\nq2·k3 = 0*0 + 1*0 + 0*2 + 1*2 = 2\n", {"S": 3}),
        ("- q_1 . k_2 = 0\n- q_1 k_3^T = 2\n- $q_2^\\top k_3 = 2$\n- q3·k1/√4 = 2/2 = 1\n", {"S": 3, "S′": 1}),
        ("<q2, k1> = 0, dot(q3, k1) = 2\nscore(sun, star) = 2\nsun·moon = 0\n", {"S": 4}),
        ("e_{12} = 0\nscore(2,1) = 0\nα_{2,1} = 0.16\na[2,3] = 0.42\n", {"S": 2, "A": 2}),
        ("softmax(1, 0, 1) = (0.42, 0.16, 0.42)\n", {"S′": 3, "A": 3}),
        ("α_2 = softmax(0, 1, 1) = (0.16, 0.42, 0.42)\n", {"S′": 3, "A": 3}),
        ("z_sun = (1.27, 1.00)\nz_moon = (1.00, 1.27)\n", {"Z": 4}),
        ("Output for token 1: (1.27, 1.00)\nThe weights of moon are 0.16 0.42 0.42.\n", {"Z": 2, "A": 3}),
        ("A[1] = 0.42 0.16 0.42\n", {"A": 3}),
        ("Step 2: divide by 2\n1 0 1\n0 1 1\n1 1 0\nStep 3: softmax\n0.42 0.16 0.42\n0.16 0.42 0.42\n0.42 0.42 0.16\n",
         {"S′": 9, "A": 9}),
        ("$$z_1 = 0.42 v_1 + 0.16 v_2 + 0.42 v_3 = (1.27, 1.00)$$\n", {"A": 3, "Z": 2}),
        ("z_1 = 0.42 v_1 + 0.16 v_2 + 0.42 v_3 = (1.27, 1.00)\n", {"A": 3, "Z": 2}),
    ],
)  # fmt: skip
def test_rows_and_cells_are_cells_of_their_lines(folder, text, cells):
    report = marked(folder, text)
    assert num_right(report) == cells
    assert listed(report) == []
    assert report.exit_code == 0


@pytest.mark.parametrize(
    ("table", "cells"),
    [
        ("| | 1 | 2 | 3 |\n|---|---|---|---|\n| 1 | 0.42 | 0.16 | 0.42 |\n| 2 | 0.16 | 0.42 | 0.42 |\n"
         "| 3 | 0.42 | 0.42 | 0.16 |\n", 9),
        ("| | sun | moon | star |\n|---|---|---|---|\n| sun | 0.42 | 0.16 | 0.42 |\n| star | 0.42 | 0.42 | 0.16 |\n", 6),
        ("| token | moon | star | sun |\n|---|---|---|---|\n| sun | 0.16 | 0.42 | 0.42 |\n"
         "| moon | 0.42 | 0.42 | 0.16 |\n", 6),
        ("| | k1 | k2 | k3 |\n|---|---|---|---|\n| q1 | 0.42 | 0.16 | 0.42 |\n| q2 | 0.16 | 0.42 | 0.42 |\n", 6),
    ],
)  # fmt: skip
def test_the_header_of_a_markdown_table_names_its_columns(folder, table, cells):
    report = marked(folder, f"# Weights\n\n{table}", "page.md")
    assert num_right(report) == {"A": cells}
    assert report.exit_code == 0


def test_a_table_can_have_one_pair_in_a_row(folder):
    table = "| pair | score | weight |\n|---|---|---|\n| q1·k1 | 2 | 0.42 |\n| q1·k2 | 0 | 0.16 |\n"
    assert num_right(marked(folder, table, "page.md")) == {"S": 2, "A": 2}


def test_a_missing_number_is_listed_and_the_others_are_marked(folder):
    report = marked(folder, "S = [[2, 0, 2], [0, 2, 2], [2, 0]]\n")
    assert num_right(report) == {"S": 6}
    assert listed(report) == ["not marked: row 3 of S, 2 0 (it has 2 numbers where 3 are expected)"]
    assert report.exit_code == 2
    table = "# Weights\n\n| | a | b | c |\n|---|---|---|---|\n| 1 | 0.42 | | 0.42 |\n| 2 | 0.16 | 0.42 | 0.42 |\n"
    report = marked(folder, table, "page.md")
    assert num_right(report) == {"A": 5}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("sun: 0.31 0.45 0.24", "not marked: 0.31 0.45 0.24 (no line is named here)"),
        ("1.27 1.00", "not marked: 1.27 1.00 (no line is named here)"),
        ("So its product is 0.42.", '"its product" is not a line of this exercise, so it was not marked.'),
        (
            "scores of the attention: 2, 0 2 x",
            "not marked: 2, 0 2 x (the statement has no result)",
        ),
        ("gadget = 6.44", '"gadget" is not a line of this exercise'),
        (
            "the cloud·rain = 0.07",
            '"cloud·rain" is not a line of this exercise, so it was not marked.',
        ),
        ("2/2 = 3", "this side calculation is not right, and it was not marked: 2/2 = 3"),
    ],
)
def test_what_cannot_be_placed_is_listed_and_the_exit_code_says_so(folder, line, sentence):
    report = marked(folder, f"S = [[2, 0, 2], [0, 2, 2], [2, 2, 0]]\n\nSome words.\n\n{line}\n")
    assert num_right(report) == {"S": 9}
    (note,) = listed(report)
    assert note.startswith(sentence)
    assert report.exit_code == 2
    with pytest.raises(ProblemError, match="nothing in this working could be marked"):
        marked(folder, f"Some words.\n\n{line}\n")


def test_prose_settings_and_right_side_calculations_are_no_noise(folder):
    text = (
        "Name: Cleo, Question 3, page 2\nDate: 12.03.2026\n<!-- made at 0.3 0.4 0.5 -->\n"
        "I used 1 head with d_k = 4 and divided by √4 = 2.\nThere are 3 tokens.\n(5 marks)\n\n"
        "2/2 = 1\nS' = [[1, 0, 1], [0, 1, 1], [1, 1, 0]]\ne^1 = 2.718\n2.718/6.437 = 0.42\n"
    )
    report = marked(folder, text)
    assert num_right(report) == {"S′": 9, "exp": 1}, "e^1 is an exponential of the exercise"
    assert listed(report) == []
    assert report.exit_code == 0
    assert report.student == "Cleo"


def test_a_page_without_any_line_says_why_nothing_is_marked(folder):
    with pytest.raises(ProblemError, match="No line with a name and numbers was found"):
        marked(folder, "I could not do this question, sorry.\n")


def test_a_wrong_cell_is_found_in_its_line(folder):
    report = marked(folder, "q1·k1 = 2\nq1·k2 = 1\nq1·k3 = 2\n")
    (finding,) = report.findings
    assert finding.what.startswith("S (Self-attention), row sun, column moon: you wrote 1")
    assert [line.symbol for line in report.lines] == ["S"], "all three are cells of S"
    report = marked(folder, "softmax(0, 1, 1) = (0.16, 0.48, 0.36)\n")
    assert {finding.line for finding in report.findings} == {1}, "the weights, not the scores"
    assert report.lines[1].symbol == "A"
    assert report.lines[1].cells[1][1] is not None, "row 2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cells.yaml", "problem: p.yaml\nwritten:\n  q1·k2: 0\n  score(1,3): 2\n  e_{22}: 2\n  α_{2,1}: 0.16\n"
         "  weights row 3: 0.42 0.42 0.16\n"),
        ("cells.csv", 'problem,p.yaml\nq1·k2,0\n"score(1,3)",2\n"e_{2,2}",2\nα_21,0.16\nweights[star],0.42,0.42,0.16\n'),
    ],
)  # fmt: skip
def test_working_files_and_tables_use_the_same_names(folder, name, text):
    report = marked(folder, text, name)
    assert num_right(report) == {"S": 3, "A": 4}
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "text",
    [
        "weights,1,2,3\n1,0.42,0.16,0.42\n2,0.16,0.42,0.42\n3,0.42,0.42,0.16\n",
        "weights,,,\n,sun,moon,star\nsun,0.42,0.16,0.42\nmoon,0.16,0.42,0.42\nstar,0.42,0.42,0.16\n",
        "weights,,,\nsun,0.42,0.16,0.42\nmoon,0.16,0.42,0.42\nstar,0.42,0.42,0.16\n",
        "weights\nrow 1,0.42,0.16,0.42\nrow 2,0.16,0.42,0.42\nrow 3,0.42,0.42,0.16\n",
    ],
)
def test_the_labels_of_a_table_are_not_numbers(folder, text):
    report = marked(folder, f"problem,p.yaml,,\n{text}", "table.csv")
    assert num_right(report) == {"A": 9}
    assert report.exit_code == 0


def test_a_line_that_is_written_again_with_the_same_integers_is_right(folder):
    block = "S,2,0,2\n,0,2,2\n,2,2,0\n\n"
    report = marked(folder, f"problem,p.yaml,,\n{block}{block}", "table.csv")
    assert report.exit_code == 0, "the second S is not read as the scaled scores, which are 1 where it has 2"


def test_e1_is_a_score_and_not_a_power_of_e(folder: Path) -> None:
    """s·h = 1.4, 0.6, 0.9."""
    (folder / "p.yaml").write_text(
        "kind: seq2seq-attention\nscore: dot\nh: [[1, 0.4], [0.2, 0.4], [0.5, 0.4]]\ns: [1, 1]\n", encoding="utf-8"
    )
    assert num_right(marked(folder, "e1 = 1.4, e2 = 0.6, e3 = 0.9\n")) == {"e": 3}
    assert num_right(marked(folder, "e1 = 1.4\ne2 = 0.6\ne3 = 0.9\n")) == {"e": 3}

"""Pages in the notations that people use: exponentials, sums, layers, norms, states and restated questions."""

from pathlib import Path

import pytest

from clearhead.check import check
from clearhead.check.report import Report

# F1 = X W_1 + b_1 = 1.1 3 -1.7 / 0.1 2 -1.2, then ReLU, then F2 = 1.1 + 1.5 = 2.6 and 3 + 0.3 = 3.3, 1.1 and 2.3.
# Without ReLU F2 would be 2.6 + 1.7 = 4.3 and 3.3 - 3.4 = -0.1, 1.1 + 1.2 = 2.3 and 2.3 - 2.4 = -0.1.
LAYERS = """kind: feed-forward
X: [[1, 2], [0, 1]]
W_1: [[1, -1, 0.5], [0, 2, -1]]
b_1: [0.1, 0, -0.2]
W_2: [[1, 0], [0.5, 1], [-1, 2]]
b_2: [0, 0.3]
"""
BEFORE, AFTER = "[[1.1, 3, -1.7], [0.1, 2, -1.2]]", "[[1.1, 3, 0], [0.1, 2, 0]]"
OUTPUT, WITHOUT_RELU = "[[2.6, 3.3], [1.1, 2.3]]", "[[4.3, -0.1], [2.3, -0.1]]"
# e^2.1 = 8.166, e^0.4 = 1.492, their sum is 9.658, and 8.166/9.658 = 0.846
SOFTMAX = "kind: softmax\nscores: [2.1, 0.4]\n"
# Q Kᵀ = 2 0.5 / 2 2; softmax: 7.39/9.04 = 0.82 and 0.18, 0.5 and 0.5; A V = A; A W_O = 0.82 1.82 / 0.5 1.5
ATTENTION = """kind: self-attention
scale: none
tokens: [sun, moon]
Q: [[1, 0], [0, 2]]
K: [[2, 1], [0.5, 1]]
V: [[1, 0], [0, 1]]
"""
SCALED = ATTENTION.replace("none", "sqrt(d_k)")
ONE_QUERY = (
    "kind: cross-attention\nscale: none\nQ: [[1, 2]]\nK: [[2, 1], [0.5, 1], [1, 1]]\nV: [[1, 0], [0, 1], [1, 1]]\n"
)
# R = 2 2 5, its mean 3, variance (1 + 1 + 4)/3 = 2, σ = 1.41
NORM = "kind: add-and-norm\nX: [[1, 2, 3]]\nY: [[1, 0, 2]]\n"
NORM_OF_TWO = "kind: add-and-norm\nX: [[1, 2], [3, 5]]\nY: [[1, 0], [0, 1]]\n"
# s·h1 = 1.2 + 0.32, s·h2 = 0.96 - 0.24, s·h3 = 0.6 + 0.4
STATES = "kind: seq2seq-attention\nh: [[1, 0.4], [0.8, -0.3], [0.5, 0.5]]\ns: [1.2, 0.8]\n"
# h1 = tanh(0.5, 1) = 0.46 0.76; h2 = tanh(1 + 0.046 + 0.228, 2 + 0.092 + 0.304) = 0.85 0.98
RECURRENT = "kind: recurrent\nX: [[1], [2]]\ncell: {W: [[0.5], [1]], U: [[0.1, 0.3], [0.2, 0.4]]}\nh0: [0, 0]\n"
# h1 = tanh(0.5) = 0.46, h2 = tanh(1.046) = 0.78, logits 0.78 and 1.56
CLASSIFIER = (
    "kind: recurrent\nX: [[1], [2]]\ncell: {W: [[0.5]], U: [[0.1]]}\nh0: [0]\noutput: {W: [[1], [2]], after: last}\n"
)


def read(tmp_path: Path, problem: str, text: str, name: str = "page.txt") -> Report:
    (tmp_path / "p.yaml").write_text(problem, encoding="utf-8")
    (tmp_path / name).write_text(text, encoding="utf-8")
    (report,) = check(tmp_path / name, tmp_path / "p.yaml")
    return report


def symbols(report: Report) -> list[str]:
    return [line.symbol for line in report.lines if line.cells]


def findings(report: Report) -> list[str]:
    return [
        f"{report.lines[finding.line].symbol}: {finding.verdict.value} {finding.name}" for finding in report.findings
    ]


def not_marked(report: Report) -> list[str]:
    return [note.sentence for note in report.notes if note.kind in ("unplaced", "unreadable")]


@pytest.mark.parametrize("name", ["H", "h", "hidden", "hidden layer"])
@pytest.mark.parametrize("rest", [f"relu({{}}) = {AFTER}\n\nF2 = {OUTPUT}\n", f"output = {OUTPUT}\n", ""])
def test_a_hidden_layer_before_its_activation_is_no_forgotten_activation(tmp_path, name, rest):
    report = read(tmp_path, LAYERS, f"{name} = X W_1 + b_1 = {BEFORE}\n\n" + rest.replace("{}", name))
    assert symbols(report)[0] == "F₁"
    assert (findings(report), report.exit_code) == ([], 0)


@pytest.mark.parametrize("lines", [f"H = {BEFORE}\n\noutput = {WITHOUT_RELU}\n", f"F1 = {BEFORE}\n\nH = {BEFORE}\n"])
def test_an_activation_that_is_forgotten_is_named(tmp_path, lines):
    assert findings(read(tmp_path, LAYERS, lines)) == ["F₁′: misconception ReLU forgotten"]


@pytest.mark.parametrize(
    "lines",
    [
        f"pre-activation = {BEFORE}\n\nactivation = {AFTER}\n\noutput layer = {OUTPUT}\n",
        f"Z1 = {BEFORE}\n\nA1 = {AFTER}\n\nZ2 = {OUTPUT}\n",
        f"Z_1: {BEFORE}\nH_1: {AFTER}\nOutput: {OUTPUT}\n",
        f"z = {BEFORE}\n\na = {AFTER}\n\ny = {OUTPUT}\n",
    ],
)
def test_the_layers_of_a_network_have_many_names(tmp_path, lines):
    report = read(tmp_path, LAYERS, lines)
    assert symbols(report) == ["F₁", "F₁′", "F₂"]
    assert report.exit_code == 0


def test_single_cells_of_a_hidden_layer_are_read_before_its_activation(tmp_path):
    problem = LAYERS.replace("[[1, 2], [0, 1]]", "[[1, 2]]")
    report = read(tmp_path, problem, "h1 = 1.1\nh2 = 3\nh3 = -1.7\nrelu: 1.1 3 0\ny1 = 2.6\ny2 = 3.3\n")
    assert symbols(report) == ["F₁", "F₁′", "F₂"]
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "form", ["e^{} = {}", "exp({}) = {}", "e^{{{}}} = {}", "$e^{{{}}} = {}$", "- exp({}) ≈ {}", "exp {} = {}"]
)
def test_exponentials_in_a_text_are_cells_of_their_line(tmp_path, form):
    powers = "\n".join([form.format("2.1", "8.17"), form.format("0.4", "1.49")])
    report = read(tmp_path, SOFTMAX, f"{powers}\nsum = 9.66\nweights = 0.85 0.15\n")
    assert symbols(report) == ["exp", "Σ", "A"]
    assert (findings(report), not_marked(report), report.exit_code) == ([], [], 0)


def test_a_slip_in_an_exponential_is_charged_once(tmp_path):
    """8.71 + 1.94 = 10.65, and 8.71/10.65 = 0.82."""
    lines = "e^2.1 = 8.71, e^0.4 = 1.49\nsum = 8.71 + 1.49 = 10.20\nweights: 0.85 0.15\n"
    report = read(tmp_path, SOFTMAX, lines)
    assert findings(report) == ["exp: arithmetic slip as if two digits were swapped"]
    report = read(tmp_path, SOFTMAX, "e^2.1 = 8.17\ne^0.4 = 1.94\nsum = 10.11\nweights: 0.81 0.19\n")
    assert [finding.split(":")[0] for finding in findings(report)] == ["exp"]


def test_equal_exponentials_are_placed_by_the_row_that_they_make_up(tmp_path):
    """The exponents 2, 2 are those of row 2; a slip there has no effect on row 1."""
    lines = "e^2 = 7.39\ne^2 = 7.93\nsum = 15.32\nweights[2] = 0.48 0.52\nweights[1] = 0.82 0.18\n"
    report = read(tmp_path, ATTENTION, lines)
    (finding,) = report.findings
    assert (report.lines[finding.line].symbol, finding.cells) == ("exp", ((1, 1),))


def test_a_wrong_score_is_carried_through_its_exponential_and_the_sum(tmp_path):
    """e^2.5 = 12.18 for the score 2; 12.18 + 1.65 = 13.83, and 12.18/13.83 = 0.88."""
    lines = "S = [[2.5, 0.5], [2, 2]]\ne^2.5 = 12.18\ne^0.5 = 1.65\nsum = 13.83\nA[1] = 0.88 0.12\n"
    report = read(tmp_path, ATTENTION, lines)
    assert [report.lines[finding.line].symbol for finding in report.findings] == ["S"]
    assert symbols(report) == ["S", "exp", "Σ", "A"]
    assert not_marked(report) == []


def test_masked_cells_have_no_exponential(tmp_path):
    lines = "row 1: e^2 = 7.39\nrow 2: e^2 = 7.39, e^2 = 7.39\nsum = 14.78\nA = [[1, 0], [0.5, 0.5]]\n"
    report = read(tmp_path, ATTENTION.replace("self", "masked-self"), lines)
    assert [(line.symbol, len(line.marked)) for line in report.lines] == [("exp", 3), ("Σ", 1), ("A", 4)]
    assert report.exit_code == 0


def test_shifted_exponentials_and_a_sum_of_powers_are_read(tmp_path):
    shifted = read(tmp_path, SOFTMAX, "e^0 = 1\ne^-1.7 = 0.18\nsum = 1.18\nweights: 0.85 0.15\n")
    added = read(tmp_path, SOFTMAX, "e^2.1 + e^0.4 = 8.17 + 1.49 = 9.66\nweights: 0.85 0.15\n")
    assert (symbols(shifted), symbols(added)) == (["exp", "Σ", "A"], ["Σ", "A"])
    assert (shifted.exit_code, added.exit_code) == (0, 0)


def test_a_power_that_is_not_in_the_exercise_is_a_side_calculation(tmp_path):
    right = read(tmp_path, SOFTMAX, "e^3 = 20.09\nweights: 0.85 0.15\n")
    wrong = read(tmp_path, SOFTMAX, "e^3 = 21.09\nweights: 0.85 0.15\n")
    assert not_marked(right) == []
    assert not_marked(wrong) == ["this side calculation is not right, and it was not marked: e^(3) = 21.09"]


@pytest.mark.parametrize(
    "table",
    [
        "| score | exp | weight |\n|---|---|---|\n| 2.1 | 8.17 | 0.85 |\n| 0.4 | 1.49 | 0.15 |\n| sum | 9.66 | 1 |\n",
        "| token | exp | weights |\n|---|---|---|\n| a | 8.17 | 0.85 |\n| b | 1.49 | 0.15 |\n| sum | 9.66 |  |\n",
        "score | exp | weight\n2.1 | 8.17 | 0.85\n0.4 | 1.49 | 0.15\n\nsum = 9.66\n",
    ],
)
def test_the_columns_of_a_table_are_lines(tmp_path, table):
    report = read(tmp_path, SOFTMAX, table, "page.md")
    assert sorted(symbols(report)) == ["A", "exp", "Σ"]
    assert (findings(report), not_marked(report), report.exit_code) == ([], [], 0)


def test_a_sum_of_weights_that_is_not_one_is_listed(tmp_path):
    table = "| score | weight |\n|---|---|\n| 2.1 | 0.85 |\n| 0.4 | 0.15 |\n| sum | 1.7 |\n"
    (note,) = not_marked(read(tmp_path, SOFTMAX, table, "page.md"))
    assert note.startswith('"total of the column weight" is not a line of this exercise')


def test_the_columns_of_a_spreadsheet_are_lines(tmp_path):
    table = "token,score,exp,weight\na,2.1,8.17,0.85\nb,0.4,1.49,0.15\nsum,,9.66,1\n"
    report = read(tmp_path, SOFTMAX, table, "page.csv")
    assert sorted(symbols(report)) == ["A", "exp", "Σ"]
    assert (findings(report), not_marked(report), report.exit_code) == ([], [], 0)


def test_equal_sums_are_those_of_one_row_after_the_other(tmp_path):
    """Both rows have the scores 1 and 2 in some order, so their sums are e + e² = 10.11."""
    problem = ATTENTION.replace("[0, 2]", "[0, 1]").replace("[0.5, 1]", "[1, 2]")
    report = read(tmp_path, problem, "sum = 10.11\nsum = 10.11\nA = [[0.73, 0.27], [0.27, 0.73]]\n")
    assert [(line.symbol, len(line.marked)) for line in report.lines] == [("Σ", 2), ("A", 4)]
    assert report.exit_code == 0


def test_a_row_above_a_table_says_which_row_its_columns_are(tmp_path):
    table = "| key | score | weight |\n|---|---|---|\n| sun | 2 | 0.5 |\n| moon | 2 | 0.5 |\n"
    report = read(tmp_path, ATTENTION, f"Row 2:\n\n{table}", "page.md")
    assert [[(cell.row, cell.column) for cell in line.marked] for line in report.lines] == [[(1, 0), (1, 1)]] * 2
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "lines",
    [
        "R = [2, 2, 5]\nmean = 3\nvariance = 2\nsigma = 1.41\nN = [-0.71, -0.71, 1.41]\n",
        "R = X + Y =\n2 2 5\nmean: 3\nvar = (1 + 1 + 4)/3 = 2\nstd = √2 = 1.41\nN = -0.71 -0.71 1.41\n",
        "x + y = [2, 2, 5]\nThe mean = 3\nthe variance is 2\nstandard deviation = 1.41\nnorm = -0.71 -0.71 1.41\n",
    ],
)
@pytest.mark.parametrize("name", ["page.txt", "page.md"])
def test_a_norm_is_read_with_its_mean_and_deviation(tmp_path, lines, name):
    report = read(tmp_path, NORM, lines, name)
    assert symbols(report) == ["R", "μ", "σ²", "σ", "N"]
    assert (not_marked(report), report.exit_code) == ([], 0)


def test_the_mean_of_one_row_is_read(tmp_path):
    report = read(tmp_path, NORM_OF_TWO, "mean of row 2 = 4.5\nvariance of row 2 = 2.25\nσ_2 = 1.5\nN[2] = -1 1\n")
    assert symbols(report) == ["μ", "σ²", "σ", "N"]
    assert all(cell.row == 1 for line in report.lines for cell in line.marked)


def test_a_token_can_have_one_number_below_the_name_of_a_line(tmp_path):
    problem = NORM_OF_TWO + "tokens: [sun, moon]\n"
    report = read(tmp_path, problem, "mean\nsun: 2\nmoon: 4.5\n\nR\nsun: 2 2\nmoon: 3 6\n\nVariance\n0 2.25\n")
    assert [(line.symbol, len(line.marked)) for line in report.lines] == [("μ", 2), ("R", 4), ("σ²", 2)]
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "lines",
    [
        "s·h1 = 1.2 + 0.32 = 1.52\ns·h2 = 0.96 - 0.24 = 0.72\ns·h3 = 0.6 + 0.4 = 1\n",
        "e1 = 1.52, e2 = 0.72, e3 = 1.0\n",
        "e1 = 1.52, e2 = 0.72 and e3 = 1.0\n",
        "score1 = 1.52\nscore 2 = 0.72\nscore3: 1.0\n",
    ],
)
def test_several_scores_are_cells_of_one_line(tmp_path, lines):
    report = read(tmp_path, STATES, lines)
    assert [(line.symbol, len(line.marked)) for line in report.lines] == [("e", 3)]
    assert report.exit_code == 0


@pytest.mark.parametrize(
    "lines", ["q·k1 = 2 + 2 = 4\nq·k2 = 2.5\nq·k3 = 3\n", "q . k_1 = 4\nq k_2^T = 2.5\nqᵀk3 = 3\n", "score1 = 4\nscore2 = 2.5\nscore3 = 3\n"]
)  # fmt: skip
def test_the_only_query_needs_no_number(tmp_path, lines):
    report = read(tmp_path, ONE_QUERY, lines)
    assert [(line.symbol, len(line.marked)) for line in report.lines] == [("S", 3)]
    assert report.exit_code == 0


@pytest.mark.parametrize("name", ["S/1.41", "S / √2", "S / sqrt(2)", "scores / 1.41", "QK^T/√2"])
def test_scores_divided_by_a_number_are_scaled_scores(tmp_path, name):
    report = read(tmp_path, SCALED, f"{name} = [[1.41, 0.35], [1.41, 1.41]]\n\nweight: [[0.74, 0.26], [0.5, 0.5]]\n")
    assert symbols(report) == ["S′", "A"]
    assert report.exit_code == 0


def test_a_transpose_is_compared_with_the_matrix(tmp_path):
    right = read(tmp_path, ATTENTION, "K^T: [[2, 0.5], [1, 1]]\nS = [[2, 0.5], [2, 2]]\n")
    wrong = read(tmp_path, ATTENTION, "K^T = [[2, 0.5], [1, 7]]\nS = [[2, 0.5], [2, 2]]\n")
    assert (right.exit_code, not_marked(right)) == (0, [])
    assert [finding.split(" ")[1] for finding in findings(wrong)] == ["transcription"]


@pytest.mark.parametrize("lines", ["h_1 = 0.46 0.76\nh_2 = 0.85 0.98\n", "h1 = tanh(0.5, 1) = (0.46, 0.76)\nh2 = (0.85, 0.98)\n", "hidden state 1 = 0.46 0.76\nhidden state 2: 0.85 0.98\n"])  # fmt: skip
def test_the_states_of_a_recurrent_network_are_lines_of_their_own(tmp_path, lines):
    report = read(tmp_path, RECURRENT, lines)
    assert symbols(report) == [*(["z"] if "tanh" in lines else []), "h₁", "h₂"]
    assert report.exit_code == 0


def test_a_state_of_one_number_and_z_for_logits_are_read(tmp_path):
    report = read(tmp_path, CLASSIFIER, "h_1 = 0.46\nh_2 = 0.78\nz = 0.78 1.56\n")
    assert symbols(report) == ["h₁", "h₂", "logits"]
    assert report.exit_code == 0


@pytest.mark.parametrize("start", ["softmax of 2.1, 0.4\n", "We want softmax(2.1, 0.4)\n", "x = 2.1, 0.4\n"])
def test_a_restated_question_does_not_make_a_page_unmarkable(tmp_path, start):
    report = read(tmp_path, SOFTMAX, f"{start}weights = 0.85 0.15\n")
    assert symbols(report) == ["A"]
    assert (not_marked(report), report.exit_code) == ([], 0)


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("rain 17 4", '"rain" is not a line of this exercise, so it was not marked.'),
        ("snow 17 4", '"snow" is not a line of this exercise, so it was not marked.'),
        ("then I got 17 and 4", "not marked: then I got 17 and 4 (it is in a sentence)"),
    ],
)
def test_numbers_without_the_name_of_a_line_are_listed(tmp_path, line, start):
    report = read(tmp_path, ATTENTION, f"S = [[2, 0.5], [2, 2]]\n\n{line}\n")
    (note,) = not_marked(report)
    assert note.startswith(start)
    assert report.exit_code == 2


def test_a_token_with_a_number_below_a_complete_line_is_listed(tmp_path):
    report = read(tmp_path, ATTENTION, "S = [[2, 0.5], [2, 2]]\n\nsun 17\n")
    assert [line.symbol for line in report.lines] == ["S"]
    assert (len(not_marked(report)), report.exit_code) == (1, 2)


@pytest.mark.parametrize("lines", ["Z: {0}\n  O: {0}", "Z: {0}\n  output: {0}", "O: {0}\n  Z: {0}", "context: {0}\n  answer: {0}"])  # fmt: skip
def test_an_output_that_repeats_the_line_above_is_a_forgotten_projection(tmp_path, lines):
    written = "written:\n  " + lines.replace("{0}", "[[0.82, 0.18], [0.5, 0.5]]") + "\n"
    report = read(tmp_path, ATTENTION + "W_O: [[1, 2], [0, 1]]\n", written, "page.yaml")
    assert findings(report) == ["O: misconception W_O forgotten"]


# S = 2 0.5 / 2 2
@pytest.mark.parametrize("separator", [", ", "; ", ";", "  ", "     ", " and "])
@pytest.mark.parametrize(
    ("problem", "statements", "symbol"),
    [
        (ATTENTION, ("q1·k1 = 2", "q1·k2 = 0.5", "q2·k1 = 2"), "S"),
        (ATTENTION, ("s_11 = 2", "s_{1,2} = 0.5"), "S"),
        (ATTENTION, ("weights[1] = (0.82, 0.18)", "weights[2] = (0.5, 0.5)"), "A"),
        (SOFTMAX, ("e^2.1 = 8.17", "e^0.4 ≈ 1.49"), "exp"),
        (NORM_OF_TWO, ("mean_1 = 2", "mean_2 = 4.5"), "μ"),
        (STATES, ("e1 = 1.52", "e2 = 0.72", "e3 = 1"), "e"),
    ],
)
def test_statements_on_one_line_are_separated(
    tmp_path: Path, separator: str, problem: str, statements: tuple[str, ...], symbol: str
) -> None:
    report = read(tmp_path, problem, separator.join(statements))
    (line,) = report.lines
    num_numbers = sum(cell is not None for row in line.cells for cell in row)
    assert (line.symbol, num_numbers) == (symbol, 4 if symbol == "A" else len(statements))
    assert not report.findings
    assert not not_marked(report)


@pytest.mark.parametrize(
    "text", ["S[1] = 2, 0.5, S[2] = 2, 2", "s_22 = 2  x  1 = 2", "A[2] = 1/2, 2/4 = 0.5, 0.5", "S[2] = 2  2 = 2, 2"]
)
def test_separators_inside_a_value_do_not_start_a_statement(tmp_path: Path, text: str) -> None:
    assert not findings(read(tmp_path, ATTENTION, text))


@pytest.mark.parametrize("separator", [", ", "; ", "   "])
def test_a_division_of_numbers_after_a_sum_is_a_side_calculation(tmp_path: Path, separator: str) -> None:
    report = read(tmp_path, SOFTMAX, f"e^2.1 + e^0.4 = 9.66{separator}8.17/9.66 = 0.85{separator}1.49 / 9.66 = 0.15")
    assert symbols(report) == ["Σ"]
    assert not report.findings
    assert sum("side calculation is right" in note.sentence for note in report.notes) == 2
    wrong = read(tmp_path, SOFTMAX, f"sum = 9.66{separator}8.17/9.66 = 0.95")
    assert not wrong.findings
    assert "not right" in not_marked(wrong)[0]


@pytest.mark.parametrize("name", ["z{}", "z_{}", "Z_{}", "z_{{{}}}"])
def test_the_preactivations_of_a_recurrent_network_are_read_from_a_page(tmp_path: Path, name: str) -> None:
    first, second = name.format(1), name.format(2)
    page = f"{first} = (0.5, 1)\nh1 = tanh({first}) = (0.46, 0.76)\n{second} = (1.27, 2.40)\nh2 = (0.85, 0.98)\n"
    report = read(tmp_path, RECURRENT, page)
    assert symbols(report) == ["z", "h₁", "z", "h₂"]
    assert not report.findings
    wrong = read(tmp_path, RECURRENT, page.replace("2.40", "2.60"))
    assert [(wrong.lines[finding.line].symbol, finding.line) for finding in wrong.findings] == [("z", 2)]


# S = 0 1 / 2 1, divided by √2: 0 0.71 / 1.41 0.71
@pytest.mark.parametrize("name", ["s", "e", "S", "score"])
@pytest.mark.parametrize(
    ("numbers", "symbol"), [(("0", "0.71", "1.41", "0.71"), "S′"), (("0", "1", "2", "1"), "S"), (("0", "1"), "S")]
)
def test_cells_of_scores_can_be_those_of_the_scaled_scores(
    tmp_path: Path, name: str, numbers: tuple[str, ...], symbol: str
) -> None:
    problem = "kind: self-attention\nscale: sqrt(d_k)\nQ: [[0, 1], [2, 1]]\nK: [[1, 0], [0, 1]]\nV: [[1, 0], [0, 1]]\n"
    places = ("11", "12", "21", "22")[: len(numbers)]
    page = "\n".join(f"{name}_{place} = {number}" for place, number in zip(places, numbers, strict=True))
    report = read(tmp_path, problem, page)
    assert symbols(report) == [symbol]
    assert not report.findings


def test_the_numbers_inside_an_activation_are_the_preactivation(tmp_path: Path) -> None:
    report = read(tmp_path, RECURRENT, "h1 = tanh(0.5, 1) = (0.46, 0.76)\nh2 = tanh(1.27, 2.40) = (0.85, 0.98)\n")
    assert symbols(report) == ["z", "h₁", "z", "h₂"]
    assert not report.findings
    wrong = read(tmp_path, RECURRENT, "h1 = tanh(0.5, 1) = (0.46, 0.76)\nh2 = tanh(1.72, 2.40) = (0.85, 0.98)\n")
    assert [wrong.lines[finding.line].symbol for finding in wrong.findings] == ["z"]


@pytest.mark.parametrize(
    ("problem", "text", "intermediate"),
    [
        (STATES, "score1 = s·h1 = 1.2 + 0.3 = 1.52", "1.2 + 0.3"),
        (STATES, "e2 = 1.2·0.8 - 0.8·0.4 = 0.72", "1.2·0.8 - 0.8·0.4"),
        (LAYERS, "out1 = (1.1 + 1.2, 3 + 0.3) = (2.6, 3.3)", "1.1 + 1.2 3 + 0.3"),
        (STATES, "e2 = 1.2 x 0.8 - 0.8 x 0.4 = 0.72", "1.2 x 0.8 - 0.8 x 0.4"),
    ],
)
def test_a_sum_that_does_not_give_its_result_is_not_lost(
    tmp_path: Path, problem: str, text: str, intermediate: str
) -> None:
    report = read(tmp_path, problem, text)
    (note,) = [note.sentence for note in report.notes if note.kind == "read"]
    assert note.startswith("only the result of")
    assert note.endswith(intermediate)
    right = (
        text.replace("1.2 + 0.3", "1.2 + 0.32")
        .replace("0.8·0.4", "0.8·0.3")
        .replace("0.8 x 0.4", "0.8 x 0.3")
        .replace("1.1 + 1.2", "1.1 + 1.5")
    )
    assert "only the result" not in " ".join(note.sentence for note in read(tmp_path, problem, right).notes)


# R = 2 2 / 3 6: means 2 and 4.5, deviations 0 and 1.5
@pytest.mark.parametrize("name", ["sigma_{}", "sigma_{{{}}}", "σ_{}", "σ{}"])
def test_a_deviation_of_a_token_is_not_the_variance(tmp_path: Path, name: str) -> None:
    written = f"written:\n  {name.format(1)!r}: 0\n  {name.format(2)!r}: 1.5\n"
    report = read(tmp_path, NORM_OF_TWO, f"problem: p.yaml\n{written}", "w.yaml")
    assert set(symbols(report)) == {"σ"}
    assert (report.findings, not_marked(report), report.exit_code) == ((), [], 0)


def test_sigma_2_of_one_token_is_the_variance(tmp_path: Path) -> None:
    report = read(tmp_path, NORM, "problem: p.yaml\nwritten:\n  sigma_2: 2\n", "w.yaml")
    assert symbols(report) == ["σ²"]


def test_a_table_of_tokens_can_have_a_column_of_deviations(tmp_path: Path) -> None:
    table = "| token | mean | variance | σ |\n|---|---|---|---|\n| 1 | 2 | 0 | 0 |\n| 2 | 4.5 | 2.25 | 1.5 |\n"
    report = read(tmp_path, NORM_OF_TWO, table, "page.md")
    assert symbols(report) == ["μ", "σ²", "σ"]
    assert (report.findings, report.exit_code) == ((), 0)


def test_rows_below_a_line_that_starts_with_an_equals_sign_belong_to_it(tmp_path: Path) -> None:
    report = read(tmp_path, LAYERS, "H = XW1 + b1\n  = 1.1 3 -1.7\n    0.1 2 -1.2\n")
    assert (symbols(report), not_marked(report), report.exit_code) == (["F₁"], [], 0)
    assert len(report.lines[0].marked) == 6


# Each head has the values of one column: W_V = 1 0 and 0 1, and equal scores
def test_the_lines_after_the_heads_are_not_lines_of_the_last_head(tmp_path: Path) -> None:
    head = "{{W_Q: [[0], [0]], W_K: [[0], [0]], W_V: {}}}"
    problem = (
        f"kind: multi-head-attention\nX: [[1, 2], [3, 4]]\nheads:\n  - {head.format('[[1], [0]]')}\n"
        f"  - {head.format('[[0], [1]]')}\nW_O: [[1, 0], [1, 1]]\n"
    )
    page = (
        "**Head 1**\n\nZ = [[2], [2]]\n\n**Head 2**\n\nZ = [[3], [3]]\n\nConcat = [[2, 3], [2, 3]]\n\n"
        "Output = [[5, 3], [5, 3]]\n"
    )
    report = read(tmp_path, problem, page, "page.md")
    assert symbols(report) == ["Z₁", "Z₂", "Z", "O"]
    assert (report.findings, report.exit_code) == ((), 0)


# The scores are equal, so a = 1 1; W_c [a; s] = 1 and 0, and tanh 1 = 0.76
@pytest.mark.parametrize("name", ["s'", "new state", "state"])
@pytest.mark.parametrize(("numbers", "symbol"), [("[0.76, 0]", "s̃"), ("[1, 1, 0, 0]", "s′")])
def test_the_new_state_can_be_the_one_after_w_c(tmp_path: Path, name: str, numbers: str, symbol: str) -> None:
    problem = "kind: seq2seq-attention\nh: [[2, 0], [0, 2]]\ns: [0, 0]\nW_c: [[1, 0, 0.5, 0.5], [0, 0, 1, 1]]\n"
    report = read(tmp_path, problem, f'problem: p.yaml\nwritten:\n  "{name}": {numbers}\n', "w.yaml")
    assert (symbols(report), report.findings, report.exit_code) == ([symbol], (), 0)

"""Complete exercises: where one ends and the next starts, which problem it is, and scanning errors."""

import pytest

from clearhead.check.read.document import read_document
from clearhead.check.read.exercise import Exercise
from clearhead.check.read.page_item import PageHeading
from clearhead.check.read.settling import settle
from clearhead.check.working import Working
from clearhead.worksheet.reading import parse_problem


def matrix(rows: str) -> str:
    return r"\begin{bmatrix} " + " \\\\ ".join(" & ".join(row.split()) for row in rows.split(";")) + r" \end{bmatrix}"


def one(text: str) -> Working:
    workings = read_document(text)
    assert len(workings) == 1, f"one exercise, but found {[working.title for working in workings]}"
    return workings[0]


def lines(working: Working) -> dict[str, tuple[tuple[str, ...], ...]]:
    return {line.name: line.cells for line in working.lines if not line.copied_into}


def copies(working: Working) -> list[tuple[str, str]]:
    return [(line.name, line.copied_into) for line in working.lines if line.copied_into]


def said(working: Working, kind: str) -> list[str]:
    return [note.sentence for note in working.notes if note.kind == kind]


SELF = f"""
# Self-attention

$$Q = X W^Q$$
$$Q = {matrix("1 0; 0 2")} \\times {matrix("1 2; 3 1")}$$
$$Q = {matrix("1 2; 6 2")}$$
$$K = X W^K = {matrix("1 0; 0 2")} {matrix("0 1; 1 0")} = {matrix("0 1; 2 0")}$$
$$V = {matrix("1 0; 0 2")} {matrix("2 0; 0 1")}$$
$$V = {matrix("2 0; 0 2")}$$
$$E = {matrix("1 2; 6 2")} \\times {matrix("0 2; 1 0")}$$
$$E = {matrix("2 2; 2 12")}$$
$$A = softmax(E) = {matrix("0.5 0.5; 0 1")}$$
$$\\text{{Output}} = {matrix("0.5 0.5; 0 1")} X$$
$${matrix("2 0; 0 2")}$$
$$\\text{{Output}} = {matrix("1 1; 0 2")}$$
"""


def test_givens_come_from_the_factors_of_products():
    working = one(SELF)
    assert working.problem == {
        "kind": "self-attention",
        "title": "Self-attention",
        "X": [["1", "0"], ["0", "2"]],
        "W_Q": [["1", "2"], ["3", "1"]],
        "W_K": [["0", "1"], ["1", "0"]],
        "W_V": [["2", "0"], ["0", "1"]],
    }, "nothing that the page does not say"
    assert list(lines(working)) == ["Q", "K", "V", "E", "A", "Output"], "the lines in order"
    assert lines(working)["K"] == (("0", "1"), ("2", "0")), "the last of a chain is the value"


def test_restated_factors_are_copies_and_keys_are_transposed_back():
    working = one(SELF)
    assert copies(working) == [
        ("X", "K"),
        ("X", "V"),
        ("Q", "E"),
        ("K", "E"),
        ("A", "Output"),
        ("V", "Output"),
    ], "every factor but those that gave the problem"
    turned = next(line for line in working.lines if line.name == "K" and line.copied_into == "E")
    assert turned.cells == (("0", "1"), ("2", "0")), "shaped as K, though the page has it transposed"


def test_infinities_make_the_exercise_masked():
    masked = SELF.replace("$$A =", f"$$E = {matrix('2 -∞; 2 12')}$$\n$$A =")
    assert one(masked).problem["kind"] == "masked-self-attention", "-∞ in E is a mask"
    assert lines(one(masked))["masked E"] == (("2", "-∞"), ("2", "12")), "told apart from the scores before it"
    assert one(SELF.replace("# Self", "# Causal self")).problem["kind"] == "masked-self-attention", "so the title says"
    assert one(SELF.replace("# Self", "# No mask: self")).problem["kind"] == "self-attention", "it says there is none"


def test_the_scale_is_set_only_where_it_is_stated():
    scaled = SELF.replace("softmax(E)", r"softmax(\frac{E}{\sqrt{d_k}})")
    assert one(scaled).problem["scale"] == "sqrt(d_k)", "the formula says so"
    assert "scale" not in one(SELF).problem, "nothing is said"


def test_weights_on_the_left_mean_columns():
    text = "\n".join(
        f"$${name} = W_{name} X = {matrix('1 0; 0 2')} {matrix('1 2 3; 4 5 6')} = {matrix('1 2 3; 8 10 12')}$$"
        for name in "QKV"
    )
    working = one(text)
    assert working.problem["layout"] == "columns", "Q = W X"
    assert working.problem["X"] == [["1", "2", "3"], ["4", "5", "6"]], "X is the second factor"
    assert working.problem["W_K"] == [["1", "0"], ["0", "2"]], "W the first"


def test_rows_worked_alone_are_rows_of_their_line():
    text = SELF.replace(
        f"$$A = softmax(E) = {matrix('0.5 0.5; 0 1')}$$",
        "$$A = softmax(E)$$\n$$\\left[\\frac{e^2}{e^2+e^2}, \\frac{e^2}{e^2+e^2}\\right]$$\n"
        "$$= [0.5, 0.5] \\rightarrow \\text{Input}_1$$\n$$\\Rightarrow [0.00005, 0.99995]$$\n",
    )
    rows = [(line.name, line.cells[0]) for line in one(text).lines if line.name.startswith("A[")]
    assert rows == [
        ("A[1]", (r"\frac{e^2}{e^2+e^2}", r"\frac{e^2}{e^2+e^2}")),
        ("A[1]", ("0.5", "0.5")),
        ("A[2]", ("0.00005", "0.99995")),
    ], "by the label, then by the arrow"


def test_a_chain_of_softmax_gives_scaled_scores_weights_and_output():
    text = f"""
Q1) Given W_q, W_k, W_v and x_1, x_2, find z_1, z_2.

$$W_q = {matrix("1 0; 0 1")}, \\quad W_k = {matrix("1 1; 0 1")}, \\quad W_v = {matrix("2 0; 0 2")}$$
$$x_1 = [1 \\quad 0.5], \\quad x_2 = [0 \\quad 2]$$
$$\\text{{So, }} x = {matrix("1 0.5; 0 2")}$$
$$Z = \\text{{softmax}}\\left(\\frac{{Q \\times K^T}}{{\\sqrt{{d_k}}}}\\right) V$$
$$\\text{{softmax}}\\left({matrix("1 0.5; 0 2")} {matrix("1 0; 1.5 2")}\\right)$$
$$= \\text{{softmax}} {matrix("1.24 0.71; 2.12 2.83")}$$
$$= {matrix("0.63 0.37; 0.33 0.67")}$$
$$Z = {matrix("1.26 2.11; 0.66 3.01")} \\begin{{matrix}} \\longrightarrow Z_1 \\\\ \\longrightarrow Z_2 \\end{{matrix}}$$
"""
    working = one(text)
    assert working.problem["X"] == [["1", "0.5"], ["0", "2"]], "the vectors are the rows of X"
    assert working.problem["scale"] == "sqrt(d_k)", "the formula says so"
    assert lines(working) == {
        "QKᵀ/√d_k": (("1.24", "0.71"), ("2.12", "2.83")),
        "A": (("0.63", "0.37"), ("0.33", "0.67")),
        "Z": (("1.26", "2.11"), ("0.66", "3.01")),
    }, "each in its role"
    assert copies(working) == [("Q", "QKᵀ"), ("K", "QKᵀ")], "inside the softmax"
    assert any("X[1] repeats the numbers" in sentence for sentence in said(working, "read")), (
        "a given stated twice is said"
    )


STATES = f"""
Attention in Seq2Seq

$$h_1 = [1, 0], \\quad h_2 = [0, 2]$$
$$S_t = [1, 1]$$
$$\\begin{{aligned}} e_{{h_1}} &= [1, 1] [1, 0] \\\\ &= 1 \\end{{aligned}}$$
$$\\begin{{aligned}} e_{{h_2}} &= [1, 1] [0, 2] \\\\ &= 2 \\end{{aligned}}$$
$$e^t = [1, 2]$$
$$\\alpha_{{h1}} = e^1 / e^1 + e^2 = 0.27$$
$$\\alpha^t = [0.27, 0.73]$$
$$\\alpha^t = \\sum \\alpha_i^t h_i$$
$$= 0.27 {matrix("1; 0")} + 0.73 {matrix("0; 2")}$$
$$= {matrix("0.27; 1.46")}$$

New state

$$[[0.27, 1.46]; [1, 1]]$$

→ using multiplicative attention

$$W = {matrix("1 2; 0 1")}$$
$$W h_1 = W \\times {matrix("1; 0")} = {matrix("1; 0")}$$
$$e_1 = S_t W h_1$$
$$= [1, 1] [1, 0]$$
$$= 1$$
"""


def test_states_of_an_encoder_make_seq2seq_attention():
    first = read_document(STATES)[0]
    assert first.problem == {
        "kind": "seq2seq-attention",
        "title": "Attention in Seq2Seq",
        "h": [["1", "0"], ["0", "2"]],
        "s": ["1", "1"],
    }, "states and decoder state"
    assert lines(first) == {
        "e[1]": (("1",),),
        "e[2]": (("2",),),
        "e^t": (("1", "2"),),
        "α[1]": (("0.27",),),
        "α^t": (("0.27", "0.73"),),
        "a^t": (("0.27", "1.46"),),
        "state": (("0.27", "1.46", "1", "1"),),
    }, "numbers, rows and columns alike"
    assert ("h[2]", "e[2]") in copies(first), "a restated state"
    assert any("weighted sum" in sentence for sentence in said(first, "read")), "α for a: said"


def test_a_new_given_after_the_output_starts_another_exercise_that_inherits():
    second = read_document(STATES)[1]
    assert second.problem["score"] == "multiplicative", "W is given"
    assert second.problem["h"] == [["1", "0"], ["0", "2"]], "the states are those of before"
    assert any(sentence.startswith("h is taken from an earlier exercise") for sentence in said(second, "read")), "said"
    assert lines(second) == {"W h[1]": (("1", "0"),), "e[1]": (("1",),)}, "its own lines"


CROSS = f"""
X — X — X

2.) Cross-attention

$Q = X W^Q$ (from the output sentence)

$$Q = {matrix("3 1; 0 1; 2 2")} {matrix("1 2; 3 1")}$$
$$Q = {matrix("6 7; 3 1; 8 6")}$$
$$K = {matrix("0 1; 2 0")}$$
$$V = {matrix("2 0; 0 2")}$$
$$E = {matrix("6 7; 3 1; 8 6")} {matrix("0 2; 1 0")} = {matrix("7 12; 1 6; 6 16")}$$
"""


def test_cross_attention_takes_keys_and_values_from_the_exercise_before():
    first, second = read_document(SELF + CROSS)
    assert first.problem["kind"] == "self-attention", "the first is what it was"
    assert second.problem == {
        "kind": "cross-attention",
        "title": "2.) Cross-attention",
        "Y": [["3", "1"], ["0", "1"], ["2", "2"]],
        "W_Q": [["1", "2"], ["3", "1"]],
        "X": first.problem["X"],
        "W_K": first.problem["W_K"],
        "W_V": first.problem["W_V"],
    }, "Y its own, X and the other weights inherited"
    assert (
        len([sentence for sentence in said(second, "read") if "is taken from an earlier exercise" in sentence]) == 3
    ), "each said"


def test_headings_within_an_exercise_do_not_split_it():
    text = SELF.replace("$$K =", "## Keys\n\n$$K =").replace("$$E =", "Step 2\n\n$$E =", 1)
    assert list(lines(one(text))) == ["Q", "K", "V", "E", "A", "Output"], "one exercise all the same"


def test_given_queries_keys_and_values_are_the_problem():
    working = one("Given Q = [[1, 0], [0, 1]], K = [[1, 1], [0, 1]], V = [[2, 0], [0, 2]]\n\nz_1 = (1.5, 0.5)\n")
    assert working.problem["Q"] == [["1", "0"], ["0", "1"]], "Q itself is given"
    assert lines(working) == {"Z[1]": (("1.5", "0.5"),)}, "and what was worked from it"


def test_tokens_come_from_the_row_labels_of_x():
    text = "X:\n\n| | a | b |\n|---|---|---|\n| the | 1 | 0 |\n| cat | 0 | 2 |\n\n"
    text += "W_Q = [[1, 0], [0, 1]]\nW_K = [[1, 0], [0, 1]]\nW_V = [[1, 0], [0, 1]]\nQ = [[1, 0], [0, 2]]\n"
    assert one(text).problem["tokens"] == ["the", "cat"], "named on the page"


def test_missing_matrices_are_reported():
    working = one("W_Q = [[1, 0], [0, 1]]\n\nQ = [[1, 0], [0, 2]]\n")
    assert working.problem == {}, "no X, no problem"
    assert list(lines(working)) == ["W_Q", "Q"], "the lines are kept"
    assert "the input X, W_K, W_V not found" in said(working, "warning")[0], "what is missing"


def test_with_a_problem_every_statement_is_a_line_of_it():
    problem = {
        "kind": "self-attention",
        "X": [[1, 0], [0, 2]],
        "W_Q": [[1, 2], [3, 1]],
        "W_K": [[0, 1], [1, 0]],
        "W_V": [[2, 0], [0, 1]],
    }
    text = "# One\n\nX = [[1, 0], [0, 2.0]]\n\nW_Q = [[1, 2], [3, 9]]\n\n# Two\n\nQ = [[1, 2], [6, 2]]\n"
    (working,) = read_document(text, problem)
    assert working.problem == problem, "as it was given"
    assert list(lines(working)) == ["W_Q", "Q"], "W_Q differs, so it is a line; X does not"
    assert said(working, "read") == ["X repeats the numbers that the problem gives"], "and that is said"


def test_a_lost_column_is_restored_from_another_copy():
    damaged = SELF.replace(f"$$Q = {matrix('1 2; 6 2')}$$", "$$Q = \\begin{bmatrix} 12 \\\\ 6 & 2 \\end{bmatrix}$$")
    working = one(damaged)
    assert lines(working)["Q"] == (("1", "2"), ("6", "2")), "as the factor of E has it"
    assert any(
        "row 1 of Q has 1 number, but its other rows have 2: 12; it was read as 1 2" in sentence
        for sentence in said(working, "read")
    )


def test_a_lost_column_of_the_weights_is_restored_from_the_product():
    damaged = SELF.replace(matrix("1 2; 3 1") + "$$", r"\begin{bmatrix} 12 \\ 3 & 1 \end{bmatrix}$$")
    working = one(damaged)
    assert working.problem["W_Q"] == [["1", "2"], ["3", "1"]], "only 1 2 gives the written Q"
    assert any(
        "read as 1 2, because X W_Q then gives the written result" in sentence for sentence in said(working, "read")
    )


def test_a_stray_column_of_the_weights_is_removed_if_the_product_proves_it():
    damaged = SELF.replace(matrix("2 0; 0 1"), matrix("2 0 7; 0 1 0"))
    working = one(damaged)
    assert working.problem["W_V"] == [["2", "0"], ["0", "1"]], "the third column is not V's"
    assert any(
        "W_V has 3 columns, but 2 fit: column 3 (7 0) was ignored" in sentence for sentence in said(working, "read")
    )


def test_a_row_that_cannot_be_restored_is_blank_and_reported():
    damaged = SELF.replace(f"$$E = {matrix('2 2; 2 12')}$$", "$$E = \\begin{bmatrix} 2 & 2 \\\\ 212 \\end{bmatrix}$$")
    working = settle(one(damaged))
    assert lines(working)["E"] == (("2", "2"), ("", "")), "neither 212, nothing nor nothing, 212 is near 2, 12"
    sentence = (
        'row 2 of "E" has 1 of 2 numbers (212): a number is missing, and it is not clear where. It was not marked.'
    )
    assert said(working, "unreadable") == [sentence], "but named"


def test_middle_dots_are_points_where_the_page_proves_it():
    dotted = r"\begin{bmatrix} 2 \cdot 5 & 0 \cdot 1 \\ 3 \cdot 0 & 1 \cdot 5 \end{bmatrix}"
    working = one(SELF.replace(f"= {matrix('1 1; 0 2')}$$", f"= {dotted}$$"))
    assert lines(working)["Output"] == (("2.5", "0.1"), ("3.0", "1.5")), "every cell is written so"
    assert any(sentence.startswith("2·5 in Output was read as 2.5") for sentence in said(working, "read")), "said so"


def test_a_single_middle_dot_is_not_changed_and_is_reported():
    dotted = r"\begin{bmatrix} 2 \cdot 5 & 1 \\ 0 & 2 \end{bmatrix}"
    working = one(SELF.replace(f"= {matrix('1 1; 0 2')}$$", f"= {dotted}$$"))
    assert lines(working)["Output"][0][0] == r"2 \cdot 5", "it may be a product"
    assert any("a product or a misplaced decimal point" in sentence for sentence in said(working, "unreadable")), (
        "said so"
    )


def test_a_surplus_row_with_gaps_and_an_impossible_power_are_reported():
    table = "\nA =\t0.5\t0.5\t1\n\t0.3\t\t\n\t1.2×10^{592}\t1\t\n"
    working = one(SELF.replace(f"$$A = softmax(E) = {matrix('0.5 0.5; 0 1')}$$", table))
    assert lines(working)["A"] == (("0.5", "0.5"), ("1.2×10^{592}", "1")), "two rows, as Q has"
    assert any("A has 3 rows, but 2 fit: row 2 (0.3) has gaps" in sentence for sentence in said(working, "read")), (
        "said"
    )
    assert any(
        "1.2×10^{592}: a sign or a digit of its exponent was probably lost" in sentence
        for sentence in said(working, "unreadable")
    )


def test_a_weight_above_one_is_reported():
    working = one(
        SELF.replace(
            f"softmax(E) = {matrix('0.5 0.5; 0 1')}", r"\begin{bmatrix} 0.5 & 0.5 \\ 4 \times 10^{32} & 1 \end{bmatrix}"
        )
    )
    assert lines(working)["A"][1][0] == r"4 \times 10^{32}", "left as it is"
    assert any("row 2, column 1 of A is 4" in sentence for sentence in said(working, "unreadable")), "but named"


def test_numbers_without_a_name_are_reported_with_their_line():
    working = one(SELF + "\nand then\n\n[0.1, 0.7]\n")
    notes = [(note.kind, note.sentence) for note in working.notes if "0.7" in note.sentence]
    assert notes == [("unplaced", "these numbers have no name: 0.1 0.7")], "never dropped in silence"


TOKENS = """
One\ttwo
[1.25, 0.5]\t[-0.5, 0.75]
+[0.0, 1.0]\t+[0.5, 0.25]
[1.25, 1.5]\t[0.0, 1.0]

Attention calculation in encoder (One two)

Q=1.0 0.0 0.0 1.0\tK = 0.0 1.0 1.0 0.0
V = 2.0 0.0 0.0 2.0
QO = One X Q\tKO = One X K
VO = One X V
QT = two X Q\tKT = two X K
VT = two X V
QO = [1, 2, 1, 5]\tKO = [1.5, 1.2]
VO = [2.5, 3.0]
QT = [0.0, 1.0]\tKT = [1.0, 0.0]
VT = [0.0, 2.0]
QOxKO = 3.6\tQOxKT = 1.2
QTxKO = 1.2\tQTxKT = 0.0
Softmax(3.6, 1.2) 0.9, 0.1\tSoftmax(1.2, 0.0) 0.8, 0.2
VOx0.9 + VTx0.1 [2.3, 2.9]\tVOx0.8 + VTx0.2 [2.0, 2.8]

[3.55, 4.4] [2.0, 3.8]

Decoder

Cross attention of the decoder (End, One, two)

$$Q = \\begin{pmatrix} 1.0 & 0.0 \\\\ 0.0 & 1.0 \\end{pmatrix}, \\quad K = \\begin{pmatrix} 1.0 & 0.0 \\\\ 0.0 & 1.0 \\end{pmatrix}, \\quad V = \\begin{pmatrix} 1.0 & 0.0 \\\\ 0.0 & 1.0 \\end{pmatrix}$$

QE = End X Q KO = One X K KT = two X K
VO = One X V VT = two X V

QE = [0.5, 0.5] KO = [3.55, 4.4]

QExKO = 4.0 QExKT = 2.9

Softmax(4.0, 2.9)

0.8, 0.2

End [0.5, 0.5] + [3.2, 4.3] = [3.7, 4.8]
"""


def test_a_page_worked_token_by_token_becomes_separate_attention_exercises():
    encoder, cross = read_document(TOKENS)
    assert encoder.problem["X"] == [["1.25", "1.5"], ["0.0", "1.0"]], "the sums with the positions"
    assert encoder.problem["W_K"] == [["0.0", "1.0"], ["1.0", "0.0"]], "four numbers in a row are two rows"
    assert encoder.problem["tokens"] == ["One", "two"], "named in the formulas"
    cells_by_name = lines(encoder)
    assert cells_by_name["Q[1]"] == (("1.2", "1.5"),), "1, 2, 1, 5 where two numbers belong"
    assert cells_by_name["E"] == (("3.6", "1.2"), ("1.2", "0.0")), "the scores together"
    assert cells_by_name["A[2]"] == (("0.8", "0.2"),), "the second softmax"
    assert cells_by_name["Output[1]"] == (("2.3", "2.9"),), "the weighted sum"
    assert encoder.problem["scale"] == "none", "the softmax is of the products themselves"
    assert encoder.rounded == ("W_Q", "W_K", "W_V"), "one decimal beside two"
    assert any(sentence.startswith("1, 2, 1, 5 in QO was read as 1.2, 1.5") for sentence in said(encoder, "read")), (
        "said so"
    )
    assert cross.problem["kind"] == "cross-attention", "the title says so"
    assert cross.problem["X"] == [["3.55", "4.4"], ["2.0", "3.8"]], "the encoder's last vectors"
    assert cross.problem["Y"] == [["0.5", "0.5"]], "what the decoder's token came in with"
    assert lines(cross)["A[1]"] == (("0.8", "0.2"),), "the line after the softmax"


@pytest.mark.parametrize("text", [SELF, SELF + CROSS, STATES, TOKENS], ids=["self", "cross", "states", "tokens"])
def test_every_inferred_problem_can_be_solved(text):
    workings = read_document(text)
    assert workings, "there are exercises"
    for working in workings:
        assert parse_problem(working.problem).kind == working.problem["kind"], "the worksheet takes it"


def test_decimal_commas_are_recognised():
    working = one(SELF + "\n$$Output = [0,5; 0,25]$$\n")
    assert working.has_decimal_comma, "0,5 is a half here"
    assert not one(SELF).has_decimal_comma, "and not elsewhere"


def test_a_latex_homework_worked_row_by_row_is_read():
    text = r"""
\section*{Homework: scaled dot-product attention}
Consider $x_1 = (1, 0, 1)$ and $x_2 = (0, 1, 1)$ with
\[
\mathbf{W}_Q = \begin{pmatrix} 1 & 0 \\ 0 & 1 \\ 1 & 1 \end{pmatrix}, \quad
\mathbf{W}_K = \begin{pmatrix} 0 & 1 \\ 1 & 0 \\ 1 & 1 \end{pmatrix}, \quad
\mathbf{W}_V = \begin{pmatrix} 1 & 2 \\ 2 & 1 \\ 0 & 1 \end{pmatrix}.
\]
\begin{itemize}
\item Queries: $q_1 = x_1 W_Q = (2, 1)$, $q_2 = x_2 W_Q = (1, 2)$.
\item Keys: $k_1 = (1, 2)$ and $k_2 = (2, 1)$
\item Values: $v_1 = [1, 3]$, $v_2 = [2, 2]$
\end{itemize}
\begin{align*}
 s_{11} &= q_1 \cdot k_1 = 2 \cdot 1 + 1 \cdot 2 = 4, & s_{12} &= 5 \\
 s_{21} &= 5, & s_{22} &= 4
\end{align*}
\[ \frac{S}{\sqrt{d_k}} = \begin{bmatrix} 2.83 & 3.54 \\ 3.54 & 2.83 \end{bmatrix} \]
\[ A = \operatorname{softmax}\left(\frac{S}{\sqrt{2}}\right) \approx \begin{bmatrix} 0.33 & 0.67 \\ 0.67 & 0.33 \end{bmatrix} \]
$$z_1 = 0.33 v_1 + 0.67 v_2 = 0.33 [1, 3] + 0.67 [2, 2] = [1.67, 2.33]$$
"""
    working = one(text)
    assert working.problem["X"] == [["1", "0", "1"], ["0", "1", "1"]], "rows of X"
    assert working.problem["scale"] == "sqrt(d_k)", "it is said"
    assert lines(working) == {
        **{"Q[1]": (("2", "1"),), "Q[2]": (("1", "2"),), "K[1]": (("1", "2"),), "K[2]": (("2", "1"),)},
        **{"V[1]": (("1", "3"),), "V[2]": (("2", "2"),)},
        **{"s[1, 1]": (("4",),), "s[1, 2]": (("5",),), "s[2, 1]": (("5",),), "s[2, 2]": (("4",),)},
        "scaled scores": (("2.83", "3.54"), ("3.54", "2.83")),
        "A": (("0.33", "0.67"), ("0.67", "0.33")),
        "Z[1]": (("1.67", "2.33"),),
    }, "rows, cells and whole lines"


def test_heads_that_are_named_have_their_own_weights():
    text = "X = [[1, 0], [0, 2]]\n\n"
    for head, scale in ((1, 1), (2, 3)):
        text += f"Head {head}\n" + "".join(f"W_{letter} = [[{scale}, 0], [0, 1]]\n" for letter in "QKV")
        text += f"Q_{head} = [[{scale}, 0], [0, 2]]\n"
    working = one(text)
    assert [head["W_K"] for head in working.problem["heads"]] == [[["1", "0"], ["0", "1"]], [["3", "0"], ["0", "1"]]], (
        "each its own"
    )
    assert [(line.name, line.where) for line in working.lines] == [("Q", "head 1"), ("Q", "head 2")], (
        "Q_2 is no row here"
    )
    lost = one(text.replace("W_V = [[3, 0], [0, 1]]\n", ""))
    assert lost.problem == {}, "half a head is no problem"
    assert "W_V of head 2 not found" in said(lost, "warning")[0], "and it is said"


def test_an_exercise_is_titled_by_its_first_strong_heading_with_words():
    strong, weak = PageHeading("Exercise", 1, is_strong=True), PageHeading("cross attention", 2, is_strong=False)
    assert Exercise([PageHeading("", 1, is_strong=True), strong]).title == "Exercise"
    assert Exercise([strong, weak]).title == "cross attention", "one word says less than a weak title"
    assert Exercise().title == ""

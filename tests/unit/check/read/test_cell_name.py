"""The names of single cells and rows, in the notations that people use."""

import pytest

from clearhead.check.read.cell_name import read_name, read_selection, token_lists

TOKENS = frozenset({"sun", "moon", "star"})


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("q1·k2", "QKᵀ[1, 2]"),
        ("q_1 . k_2", "QKᵀ[1, 2]"),
        ("q1 k2^T", "QKᵀ[1, 2]"),
        (r"$q_2^\top k_3$", "QKᵀ[2, 3]"),
        ("q₁·k₂", "QKᵀ[1, 2]"),
        ("k_2^T q_1", "QKᵀ[1, 2]"),
        ("<q2, k1>", "QKᵀ[2, 1]"),
        ("dot(q3, k1)", "QKᵀ[3, 1]"),
        ("score(q1, k2)", "QKᵀ[1, 2]"),
        ("q_sun·k_moon", "QKᵀ[sun, moon]"),
        ("sun . moon", "QKᵀ[sun, moon]"),
        ("q3·k1/√4", "scaled scores[3, 1]"),
        (r"\frac{q_1 \cdot k_3}{\sqrt{4}}", "scaled scores[1, 3]"),
        ("score(1,2)", "scores[1, 2]"),
        ("score(sun, star)", "scores[sun, star]"),
        ("e_{12}", "e[1, 2]"),
        ("s_12", "s[1, 2]"),
        ("S'_{12}", "S'[1, 2]"),
        ("S[1][2]", "S[1, 2]"),
        ("α_{2,1}", "α[2, 1]"),
        (r"\alpha_{21}", "α[2, 1]"),
        ("alpha_{2,1}", "α[2, 1]"),
        ("a[2,1]", "weights[2, 1]"),
        ("w(sun→star)", "weights[sun, star]"),
        ("A_{33}", "A[3, 3]"),
        ("s·h_2", "e[2]"),
        ("s^T W h_1", "e[1]"),
        ("z_sun", "Z[sun]"),
        ("weights[moon]", "weights[moon]"),
        ("A[2, :]", "A[2]"),
        ("weights for moon", "weights[moon]"),
        ("scores of sun", "scores[sun]"),
        ("weights row 2", "weights[2]"),
        ("row 2 of the weights", "weights[2]"),
        ("output for token 1", "output[1]"),
        ("masked scores[1]", "masked scores[1]"),
        ("Step 1: q1·k1", "QKᵀ[1, 1]"),
    ],
)
def test_a_cell_or_row_gets_the_name_of_its_line(raw, name):
    symbol = read_selection(raw, TOKENS)
    assert symbol is not None, f"{raw} was not read"
    assert symbol.name == name


@pytest.mark.parametrize(
    "raw",
    [
        "Q",
        "weights",
        "QK^T",
        "d_k",
        "X W_Q",
        "W_{12}",
        "d_12",
        "PE(1,2)",
        "Q of head 2",
        "scores for all tokens",
        "e^12",
    ],
)
def test_other_names_are_not_cells(raw):
    assert read_selection(raw, TOKENS) is None


def test_a_word_selects_a_row_only_if_it_is_a_token():
    assert read_selection("weights of cloud", TOKENS) is None
    assert read_selection("weights of sun") is None, "no tokens are known"
    assert read_selection("score(sun, star)") is None


def test_complete_lines_keep_their_names():
    symbol = read_name("Attention weights", TOKENS)
    assert symbol is not None
    assert (symbol.name, symbol.part, symbol.row) == ("Attention weights", "weights", 0)


def test_tokens_are_collected_from_every_part_of_a_problem():
    problem = {"tokens": ["<EOS>", "Vamos"], "parts": [{"source_tokens": ["go"]}], "X": [[1, 2]]}
    assert sorted(token_lists(problem)) == [("eos", "vamos"), ("go",)]
    assert token_lists(None) == ()

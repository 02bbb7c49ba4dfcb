"""Names before an equals sign, as people write them: each is normalised by the first rule that fits."""

import pytest

from clearhead.check.read.symbol import Symbol, read_symbol


@pytest.mark.parametrize(
    ("raw", "symbol"),
    [
        ("W^{Q}", Symbol("W_Q", "W_Q")),
        ("w_k", Symbol("W_K", "W_K")),
        (r"\frac{QK^T}{\sqrt{d_k}}", Symbol("QKᵀ/√d_k", "scaled")),
        ("E/√2", Symbol("scaled scores", "scaled")),
        ("Q K^T", Symbol("QKᵀ", "scores")),
        ("softmax(S)", Symbol("softmax(S)", "weights")),
        ("softmax(Q K^T / sqrt(d_k) + the mask)", Symbol("softmax", "weights")),
        ("Attention(Q, K, V)", Symbol("Attention", "output")),
        ("W h_2", Symbol("W h[2]", None, 2)),
        ("s_t", Symbol("s", "s")),
        ("S", Symbol("S", "scores")),
        (r"\alpha^{t}", Symbol("α^t", "weights")),
        ("c", Symbol("c", "output")),
        ("C", Symbol("C", "output")),
        ("x", Symbol("X", "X")),
        ("P", Symbol("P", "weights")),
        ("e_{12}", Symbol("e[1, 2]", "scores", 1)),
        ("q_3", Symbol("Q[3]", "Q", 3)),
        ("α_2", Symbol("α[2]", "weights", 2)),
        ("scores (E)", Symbol("E", "scores")),
        ("Step 2: the attention weights", Symbol("weights", "weights")),
        ("weights (%)", Symbol("weights (%)", "weights")),
        ("A in %", Symbol("A (%)", "weights")),
        ("LN", Symbol("LN")),
        ("AddNorm", Symbol("AddNorm")),
        ("head0", Symbol("head0")),
        ("variance", Symbol("variance")),
        ("the mean", Symbol("mean")),
    ],
)
def test_a_name_is_normalised_and_its_part_is_known(raw, symbol):
    assert read_symbol(raw) == symbol

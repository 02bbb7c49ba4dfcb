"""Names that people give their lines, and the record that each name means."""

from functools import lru_cache
from pathlib import Path

import pytest

from clearhead import solve
from clearhead.check.graph import Graph
from clearhead.check.names import Pick, find_records, matches_place, split_pick, symbol_key, word_key
from tests.unit.check.desk import marked, notes, verdicts

EXAMPLES = Path(__file__).parents[3] / "examples"


@lru_cache
def graph_of(name: str) -> Graph:
    path = EXAMPLES / f"{name}.yaml"
    return Graph(solve(str(path) if path.exists() else name))


# problem: name, the record that it means (symbol, and a part of its place), the row that it picks
SELF = """
Q                  | Q  |
q                  | Q  |
$Q$                | Q  |
\\mathbf{Q}        | Q  |
queries            | Q  |
Query              | Q  |
keys               | K  |
values             | V  |
QK^T               | S  |
QKᵀ                | S  |
QKT                | S  |
Q K^T              | S  |
Q·Kᵀ               | S  |
Q K^{T}            | S  |
scores             | S  |
Scores             | S  |
raw scores         | S  |
attention_scores   | S  |
dot products       | S  |
E                  | S  |
e                  | S  |
S                  | S  |
S'                 | S′ |
S′                 | S′ |
scaled scores      | S′ |
Scaled-Scores      | S′ |
QK^T/√d_k          | S′ |
QK^T/sqrt(d_k)     | S′ |
weights            | A  |
attention weights  | A  |
A                  | A  |
alpha              | A  |
\\alpha            | A  |
α                  | A  |
softmax            | A  |
Softmax(S)         | A  |
Output             | Z  |
output             | Z  |
O                  | Z  |
Z                  | Z  |
AV                 | Z  |
context            | Z  |
Attention(Q,K,V)   | Z  |
answer             | Z  |
q2                 | Q  | 2
Q_2                | Q  | 2
q_{2}              | Q  | 2
v₂                 | V  | 2
Z_1                | Z  | 1
z_1                | Z  | 1
A_1                | A  | 1
q_Vamos            | Q  | Vamos
"""
TABLES = {
    "self-attention": SELF,
    "masked-self-attention": """
masked scores      | S″ |
S''                | S″ |
S″                 | S″ |
masked             | S″ |
scores             | S  |
weights            | A  |
""",
    "multi-head-attention": """
head 2: Q          | Q₂ |
head 2: Z          | Z₂ |
head 1: weights    | A₁ |
head 1: S'         | S′₁ |
Q_2                | Q₂ |
A2                 | A₂ |
head_1             | Z₁ |
head 2             | Z₂ |
Q                  | Q  |
concat             | Z  |
O                  | O  |
MultiHead          | O  |
""",
    "seq2seq-dot": """
e                  | e  |
e^t                | e  |
e_t                | e  |
scores             | e  |
α^t                | α  |
alpha_t            | α  |
attention distribution | α |
a                  | a  |
a^t                | a  |
c                  | a  |
context vector     | a  |
s'                 | s′ |
[a; s]             | s′ |
new state          | s′ |
e_2                | e  | 2
α_1                | α  | 1
""",
    "seq2seq-multiplicative": """
W h                | Wh |
Wh                 | Wh |
Wh_2               | Wh | 2
""",
    "decoder-block": """
cross: K           | K cross_attention |
cross: A           | A cross_attention |
self: A            | A self_attention |
masked: S          | S self_attention |
cross: weights     | A cross_attention |
cross attention: Z | Z cross_attention |
R_1                | R₁ |
N1                 | N₁ |
""",
    "add-and-norm": """
residual           | R  |
mu                 | μ  |
sigma^2            | σ² |
variance           | σ² |
LayerNorm          | N  |
normalized         | N  |
""",
    "positions": """
PE                 | P  |
p                  | P  |
positional encoding | P |
PE_1               | P  | 1
""",
    "transformer": """
encoder: A         | A encoder.0 |
p                  | p  |
P                  | P input |
logits             | logits |
loss               | ℓ  |
""",
    "recurrent": """
h_2                | h₂ |
time 2: h          | h₂ |
""",
}  # fmt: skip
CASES = [
    (problem, *(part.strip() for part in row.split("|")))
    for problem, table in TABLES.items()
    for row in table.strip().splitlines()
]


@pytest.mark.parametrize(("problem", "name", "meant", "row"), CASES, ids=[f"{case[0]}, {case[1]}" for case in CASES])
def test_a_name_means_the_record_that_people_mean_by_it(problem, name, meant, row):
    graph = graph_of(problem)
    where, _, symbol = name.rpartition(": ")
    candidates = find_records(graph, symbol, where)
    assert candidates.nodes, f"{name} means nothing"
    record = graph.records[candidates.nodes[0]]
    wanted, _, place = meant.partition(" ")
    assert record.symbol == wanted
    assert place in record.where
    assert candidates.row == row


def test_the_table_is_long():
    assert len(CASES) > 100


@pytest.mark.parametrize("name", ["foo", "tanh", "W_Q", "s", "verdict", "quotient", ""])
def test_the_meaning_of_an_unknown_name_is_not_guessed(name):
    """`verdict` is no row of V, and s is the state that the question gave, not the scores S."""
    assert find_records(graph_of("seq2seq-dot" if name == "s" else "self-attention"), name, "").nodes == ()


def test_a_given_that_is_restated_is_a_copy_and_not_a_line():
    problem = {"kind": "seq2seq-attention", "score": "dot", "h": [[1, 0], [0, 1]], "s": [1, 2], "layout": "rows"}
    report = marked(problem, {"h": "1 0 / 0 1", "e": "1 2"})
    assert verdicts(report)[-1] == "e cc"
    assert report.lines[0].copy_of == "h"


# Picks


@pytest.mark.parametrize(
    ("name", "pick"),
    [
        ("A", Pick("A")),
        ("A[2]", Pick("A", "2")),
        ("A [ 2 ]", Pick("A", "2")),
        ("Q[Vamos]", Pick("Q", "Vamos")),
        ("A[2, 3]", Pick("A", "2", "3")),
        ("W h[2]", Pick("W h", "2")),
    ],
)
def test_a_name_can_select_a_row_or_a_cell(name, pick):
    assert split_pick(name) == pick


def test_all_spellings_of_a_symbol_are_equal():
    for spelling in ("W_Q", "W^Q", "W_{Q}", "W Q", "$W_Q$", "\\mathrm{W}_Q", "W<sub>Q</sub>"):
        assert symbol_key(spelling) == "WQ", spelling
    assert symbol_key("S'") == symbol_key("S′")
    assert symbol_key("S''") == symbol_key("S″") == symbol_key("S′′")
    assert symbol_key("a") != symbol_key("A"), "letters keep their case"
    assert word_key("a") != word_key("A"), "also where they are taken for a word"
    assert word_key("Scaled Scores") == word_key("scaled_scores") == word_key("scaled-scores")


@pytest.mark.parametrize(
    ("where", "place", "fits"),
    [
        ("", "decoder.0.cross_attention", True),
        ("cross", "decoder.0.cross_attention", True),
        ("cross", "decoder.0.self_attention", False),
        ("cross-attention", "decoder.0.cross_attention.key", True),
        ("masked", "decoder.0.self_attention", True),
        ("head 2", "self_attention.head.1.query", True),
        ("head 1", "self_attention.head.1.query", False),
        ("layer 2", "encoder.1.self_attention", True),
        ("encoder, layer 2", "encoder.1.self_attention", True),
        ("encoder, layer 2", "decoder.1.self_attention", False),
        ("encoder block 2", "encoder.1.self_attention", True),
        ("Encoder layer 2 · Self-attention · Head 3", "encoder.1.self_attention.head.2", True),
        ("Encoder layer 2 · Self-attention · Head 3", "encoder.1.self_attention.head.1", False),
        ("encoder layer 2", "encoder.0.self_attention", False),
        ("Decoder layer 1 · Residual and norm 2", "decoder.0.add_and_norm.1", True),
        ("residual 1", "decoder.0.add_and_norm.1", False),
        ("Residual", "encoder.0.add_and_norm.0", True),
        ("encoder.1", "encoder.1.self_attention", True),
        ("encoder.1", "encoder.0.self_attention", False),
        ("time 2", "time.1.from_state", True),
        ("t=2", "time.1.from_state", True),
        ("ffn", "encoder.0.feed_forward.first", True),
    ],
)
def test_a_place_can_be_given_in_words(where, place, fits):
    assert matches_place(where, place) is fits


# Notes


UNIT = [[1, 0], [0, 1]]
ATTENTION = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "scale": "sqrt(d_k)", "mask": "none", "normaliser": "softmax", "layout": "rows", "tokens": ["Vamos", "ya"],
}  # fmt: skip


def test_a_name_that_fits_several_records_is_decided_by_the_numbers_with_a_note():
    """S without scaling, 1 2 / 3 1, are the raw scores; 0.71 1.41 / 2.12 0.71 are the scaled ones."""
    raw, scaled = marked(ATTENTION, {"S": "1 2 / 3 1"}), marked(ATTENTION, {"S": "0.71 1.41 / 2.12 0.71"})
    assert (raw.lines[0].symbol, scaled.lines[0].symbol) == ("S", "S′")
    assert notes(raw, "placed") == ['"S" was read as S = Q Kᵀ (Self-attention).']
    assert notes(scaled, "placed") == ['"S" was read as S′ = S / √2 (Self-attention).']


def test_a_wrong_number_that_fits_another_record_by_chance_does_not_move_the_line():
    """QK = 24 15 / 37 17 for QKᵀ = 0 21 / 7 35: 15 is 21/√2 = 14.85 to the nearest integer, by chance."""
    problem = {**ATTENTION, "X": [[1, 2], [3, -1]], "W_Q": [[1, 2], [0, 1]], "W_K": [[2, 1], [1, -1]]}
    assert marked(problem, {"Q": "1 4 / 3 5", "K": "4 -1 / 5 4", "S": "24 15 / 37 17"}).lines[2].symbol == "S"


def test_an_unknown_name_is_reported_with_the_known_names_and_other_lines_are_marked():
    report = marked(ATTENTION, {"Q": "1 2 / 3 1", "Zed": "1 2 / 3 4"})
    assert verdicts(report) == ["Q cc cc"]
    (sentence,) = notes(report, "unplaced")
    assert sentence.startswith('"Zed" is not a line of this exercise, so it was not marked.')
    assert "This exercise has the lines Q, K, V, S, S′, A, Z." in sentence


def test_rows_are_named_by_number_by_token_and_by_cell():
    report = marked(ATTENTION, {"Q[ya]": "3 1", "K[1]": "1 0", "v2": "3 4", "S[2, 1]": "3"})
    assert verdicts(report) == ["Q .. cc", "K cc ..", "V .. cc", "S .. c."]


def test_a_row_that_does_not_exist_is_a_wrong_shape():
    report = marked(ATTENTION, {"Q": "1 2 / 3 1", "K[3]": "1 0"})
    assert report.lines[1].cells == ()
    assert "2 × 2" in report.lines[1].note


def test_fewer_rows_are_matched_to_the_rows_with_their_numbers():
    report = marked(ATTENTION, {"Q": "3 1"})
    assert verdicts(report) == ["Q .. cc"]
    assert notes(report, "placed") == ['"Q" was read as row 2 of Q.']


def test_a_vector_can_be_written_as_a_row_or_a_column():
    problem = {"kind": "seq2seq-attention", "score": "dot", "h": UNIT, "s": [1, 2], "layout": "rows"}
    assert verdicts(marked(problem, {"e": "1 / 2"})) == ["e cc"]


def test_a_line_without_numbers_is_reported():
    report = marked(ATTENTION, {"Q": "1 2 / 3 1", "K": "____ ____ / ____ ____"})
    assert notes(report, "unplaced") == ['"K" contains no numbers.']

"""Names that people give their lines, and the record that each name means."""

from functools import lru_cache
from pathlib import Path

import pytest

from clearhead import solve
from clearhead.check.graph import Graph
from clearhead.check.line_words import symbol_key, word_key
from clearhead.check.names import Pick, find_records, matches_place, split_pick
from clearhead.errors import ProblemError
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
[c; s]             | s′ |
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
    assert notes(raw, "placed") == [], "the symbol of the sheet is no guess"
    assert notes(scaled, "placed") == ['Your line "S" was taken to be the scaled scores, S′ = S / √2 (Self-attention).']


def test_a_wrong_number_that_fits_another_record_by_chance_does_not_move_the_line():
    """QK = 24 15 / 37 17 for QKᵀ = 0 21 / 7 35: 15 is 21/√2 = 14.85 to the nearest integer, by chance."""
    problem = {**ATTENTION, "X": [[1, 2], [3, -1]], "W_Q": [[1, 2], [0, 1]], "W_K": [[2, 1], [1, -1]]}
    assert marked(problem, {"Q": "1 4 / 3 5", "K": "4 -1 / 5 4", "S": "24 15 / 37 17"}).lines[2].symbol == "S"


# Names of other books. WIDE: scores are 2 × 2 and the attention output is 2 × 3; in ATTENTION all lines are 2 × 2.

WIDE = {**ATTENTION, "W_V": [[1, 2, 0], [3, 4, 1]]}
# S = 1 2 / 3 1, S′ = S/√2, A = softmax by rows, Z = A V
SCALED, WEIGHTS = "0.71 1.41 / 2.12 0.71", "0.33 0.67 / 0.80 0.20"
OUTPUT = "2.34 3.34 / 1.39 2.39"  # 0.33×1 + 0.67×3 = 2.34 …
WIDE_OUTPUT = "2.34 3.34 0.67 / 1.39 2.39 0.20"


def symbols(report):
    return [line.symbol for line in report.lines]


@pytest.mark.parametrize(
    ("problem", "output"), [(WIDE, WIDE_OUTPUT), (ATTENTION, OUTPUT)], ids=["other shape", "same shape"]
)
@pytest.mark.parametrize(
    "names",
    [
        ("E", "Z", "P", "C"),
        ("e", "z", "p", "c"),
        ("QKᵀ", "Z", "α", "context"),
        ("scores", "scaled", "alpha", "y"),
        ("S", "S'", "P", "h"),
        ("E", "scaled scores", "attention", "Y"),
    ],
    ids=" ".join,
)
def test_the_letters_of_other_books_are_read_as_the_lines_they_mean(problem, output, names):
    report = marked(problem, dict(zip(names, ("1 2 / 3 1", SCALED, WEIGHTS, output), strict=True)))
    assert symbols(report) == ["S", "S′", "A", "Z"]
    assert not report.has_error, verdicts(report)


def test_a_symbol_of_the_sheet_is_read_as_another_line_if_its_shape_cannot_be_its_own_and_the_report_says_so():
    report = marked(WIDE, {"Z": SCALED})
    assert verdicts(report) == ["S′ cc cc"]
    assert notes(report, "placed") == ['Your line "Z" was taken to be the scaled scores, S′ = S / √2 (Self-attention).']


def test_a_symbol_of_the_sheet_with_its_own_shape_keeps_its_meaning():
    """The numbers are those of S′, but Z is 2 × 2 too, and no other line claims to be Z."""
    report = marked(ATTENTION, {"S": "1 2 / 3 1", "Z": SCALED})
    assert symbols(report) == ["S", "Z"]
    assert report.has_error


def test_wrong_numbers_of_another_shape_are_marked_as_the_line_of_that_shape():
    report = marked(WIDE, {"S": "1 2 / 3 1", "Z": "0.71 1.41 / 2.12 0.17"})
    assert verdicts(report) == ["S cc cc", "S′ cc cS"]


def test_a_letter_follows_the_students_own_earlier_lines_and_not_the_true_values():
    """S₁₁ is wrong; Z = S/√2 of the student's own scores is 5.66 1.41 / 2.12 0.71."""
    report = marked(ATTENTION, {"S": "8 2 / 3 1", "z": "5.66 1.41 / 2.12 0.71", "P": "0.99 0.01 / 0.80 0.20"})
    assert symbols(report) == ["S", "S′", "A"]
    assert len(report.findings) == 1, verdicts(report)


def test_a_line_that_only_one_name_can_mean_is_not_taken_by_another_name():
    """To one figure S = 0.8 1.4 / 1.4 2.0 is 1 1 / 1 2, and so is nearly S′: but "scaled scores" can only be S′."""
    problem = {**ATTENTION, "X": [[0.8, 0.4], [1, 1]], "W_Q": UNIT}  # S′ = 0.57 0.85 / 0.85 1.41
    report = marked(problem, {"QK^T": "1 1 / 1 1", "scaled scores": "0.6 0.8 / 0.8 1.4"})
    assert symbols(report) == ["S", "S′"]


def test_weights_in_percent_are_read_as_percent():
    """33 % and 67 %; 27 for 80 % is wrong."""
    report = marked(ATTENTION, {"S": "1 2 / 3 1", "weights (%)": "33 67 / 80 20"})
    assert verdicts(report) == ["S cc cc", "A cc cc"]
    wrong = marked(ATTENTION, {"S": "1 2 / 3 1", "A in %": "33 67 / 27 20"})
    assert verdicts(wrong)[1].startswith("A cc ")
    assert wrong.has_error


ADD_NORM = {"kind": "add-and-norm", "X": [[1, 3], [2, 6]], "Y": [[1, 1], [2, 1]], "norm": "layer", "epsilon": 0}


@pytest.mark.parametrize(
    "name",
    [
        "LN",
        "LN(x + y)",
        "Norm",
        "AddNorm",
        "Add & Norm",
        "add + norm",
        "LayerNorm",
        "Layer normalization",
        "y",
        "h",
        "Y",
    ],
)
def test_the_norm_has_many_names(name):
    """R = 2 4 / 4 7, so both rows are −1, 1; Y was given, but its numbers are others."""
    report = marked(ADD_NORM, {"R": "2 4 / 4 7", name: "-1 1 / -1 1"})
    assert symbols(report) == ["R", "N"]
    assert not report.has_error, verdicts(report)


@pytest.mark.parametrize("name", ["Y", "y"])
def test_a_letter_that_repeats_a_given_is_a_copy_of_it(name):
    report = marked(ADD_NORM, {name: "1 1 / 2 1", "N": "-1 1 / -1 1"})
    assert [line.copy_of for line in report.lines] == ["Y", ""]
    assert not report.has_error


def test_norms_can_be_numbered():
    problem = {
        "kind": "encoder-block", "X": [[1, 2], [3, 1]], "norm": {"norm": "layer", "epsilon": 0}, "norm_place": "post",
        "self_attention": {"W_Q": UNIT, "W_K": UNIT, "W_V": UNIT, "scale": "none"},
        "feed_forward": {"W_1": UNIT, "W_2": UNIT},
    }  # fmt: skip
    report = marked(problem, {"LN1": "-1 1 / 1 -1", "Add & Norm 2": "-1 1 / 1 -1"})
    assert symbols(report) == ["N₁", "N₂"]
    assert not report.has_error, verdicts(report)


HEADS = {
    "kind": "multi-head-attention", "X": UNIT, "num_heads": 2, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT,
    "W_V": [[1, 2], [3, 4]], "W_O": UNIT, "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip


def test_heads_can_be_counted_from_0():
    """Q = 1 2 / 3 1 is split into columns, as is K: S₁ = 1 0 / 3 0, S₂ = 0 2 / 0 1."""
    lines = {"head 0: Q": "1 / 3", "head 1: Q": "2 / 1", "head_0: S": "1 0 / 3 0", "S of head1": "0 2 / 0 1"}
    report = marked(HEADS, lines)
    assert symbols(report) == ["Q₁", "Q₂", "S₁", "S₂"]
    assert not report.has_error
    from_one = marked(HEADS, {"head 1: Q": "1 / 3", "head 2: Q": "2 / 1"})
    assert symbols(from_one) == ["Q₁", "Q₂"]


def test_heads_counted_from_0_can_be_written_in_one_word():
    """softmax(1, 0) = 0.7311 0.2689 and softmax(3, 0) = 0.9526 0.0474, times 1, 3; softmax(0, 2), (0, 1) times 2, 4."""
    report = marked(HEADS, {"head0": "1.538 / 1.095", "head1": "3.762 / 3.462"})
    assert symbols(report) == ["Z₁", "Z₂"]
    assert not report.has_error, verdicts(report)


@pytest.mark.parametrize(
    ("name", "near"), [("weihgts", "weights"), ("Scroes", "scores"), ("outptu", "output"), ("contxt", "context")]
)
def test_a_misspelt_word_gets_a_suggestion_and_the_other_lines_are_marked(name, near):
    report = marked(ATTENTION, {"Q": "1 2 / 3 1", name: "1 2 / 3 4"})
    assert verdicts(report) == ["Q cc cc"]
    assert f"so it was not marked. Did you mean '{near}'?" in notes(report, "unplaced")[0]


def test_a_misspelt_word_alone_gets_a_suggestion_too():
    with pytest.raises(ProblemError, match="weihgts is not in this problem .* Did you mean 'weights'\\?"):
        marked(ATTENTION, {"weihgts": "1 2 / 3 4"})


@pytest.mark.parametrize(
    ("where", "place", "fits"),
    [
        ("part.0", "part.0.add_and_norm", True),
        ("part.0", "part.1.add_and_norm.0", False),
        ("part.1", "part.0.encoder.1", False),
        ("part.1.encoder.0", "part.1.encoder.0.self_attention", True),
        ("part.1.encoder.0", "part.1.decoder.0.self_attention", False),
        ("part 1", "part.0.add_and_norm", True),
        ("part 1", "part.1.add_and_norm", False),
        ("decoder.0.cross", "decoder.0.cross_attention.query", True),
    ],
)
def test_a_number_in_a_path_belongs_to_the_word_before_it(where, place, fits):
    assert matches_place(where, place) is fits


PARTS = {"parts": [{"kind": "add-and-norm", "norm": "layer", "epsilon": 0, "X": x} for x in ([[1, 3]], [[2, 6]])]}


@pytest.mark.parametrize(("first", "second"), [("part.0", "part.1"), ("part 1", "part 2")])
def test_a_part_of_a_sheet_is_addressed_by_its_path_or_in_words(first, second):
    """The means are 2 and 4; a path counts from 0 and words count from 1."""
    report = marked(PARTS, {f"{second}: mean": "4", f"{first}: mean": "2"})
    assert [line.where for line in report.lines] == ["part.1.add_and_norm", "part.0.add_and_norm"]
    assert not report.has_error


def test_a_part_that_the_sheet_does_not_have_is_reported():
    report = marked(PARTS, {"part.0: mean": "2", "part.2: mean": "4"})
    assert notes(report, "unplaced")[0].startswith('"mean" was not marked: this exercise has no part "part.2".')


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

"""Every misconception of the list is implemented, gives the right digits, and is reported under its own name."""

import ast
import inspect

import numpy as np
import pytest

from clearhead.check import (
    misconceptions,
    norm_misconceptions,
    part_misconceptions,
    position_misconceptions,
    recurrent_misconceptions,
)
from clearhead.check.graph import Graph, fetch_from
from clearhead.check.misconceptions import MISCONCEPTIONS, variants
from clearhead.check.wrong_rule import Site
from clearhead.steps.vocabulary import STEPS
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from tests.unit.check.desk import marked, verdicts

# The list of the design, and what each is called here.
LISTED = {
    "no scaling": "no scaling",
    "divided by d_k": "divided by d_k",
    "divided by √d_model in multi-head": "divided by √d_model in multi-head attention",
    "softmax down the columns": "softmax down the columns",
    "softmax over the whole matrix": "softmax over the whole matrix",
    "no exp (divided by the sum)": "no exp (divided by the sum)",
    "base 2": "base 2",
    "base 3": "base 3",
    "base 10": "base 10",
    "mask after softmax": "mask after softmax, weights not renormalised",
    "mask with 0 instead of −∞": "mask with 0 instead of −∞",
    "mask transposed": "mask transposed",
    "QK instead of QKᵀ": "QK instead of QKᵀ",
    "KQᵀ": "KQᵀ instead of QKᵀ",
    "WX instead of XW": "WX instead of XW",
    "AᵀV": "AᵀV instead of AV",
    "V made with W_K": "V computed with W_K",
    "weights not renormalised": "weights not renormalised",
    "heads joined in the wrong order": "heads joined in the wrong order",
    "W_O forgotten": "W_O forgotten",
    "residual forgotten": "residual forgotten",
    "normalised over tokens": "normalised over tokens",
    "n−1 in the variance": "n−1 in the variance",
    "ε outside the root": "ε outside the root",
    "norm before/after add": "norm before the addition",
    "position's 2i taken as the dimension": "2i in the exponent taken as the dimension",
    "position and dimension swapped": "position and dimension swapped",
    "positions from 1": "positions from 1",
    "degrees": "degrees instead of radians",
    "sine and cosine in blocks": "sine and cosine in blocks",
    "ReLU forgotten": "ReLU forgotten",
    "bias forgotten": "bias forgotten",
    "tanh forgotten": "tanh forgotten",
    "h_t used for h_{t−1}": "h_t used for h_{t−1}",
    "the bilinear W on the wrong side": "W on the wrong side in the multiplicative score",
    "additive score without tanh": "additive score without tanh",
}
UNIT = [[1, 0], [0, 1]]
GATE = {"W": UNIT, "U": [[0.1, 0.2], [0, 0.3]], "b": [0.1, 0]}
FIXED = {"mask": "none", "normaliser": "softmax", "layout": "rows"}
ATTENTION = {
    "kind": "self-attention", "X": [[1, 2], [3, -1]], "W_Q": [[1, 2], [0, 1]], "W_K": [[2, 1], [1, -1]],
    "W_V": [[1, 0], [2, 3]], "scale": "sqrt(d_k)", **FIXED,
}  # fmt: skip
HEADS = {
    "kind": "multi-head-attention", "X": [[1, 2, 0, 1], [0, 1, 1, 2]], "num_heads": 2, "layout": "rows", "mask": "none",
    **{name: np.arange(16).reshape(4, 4).tolist() for name in ("W_Q", "W_K", "W_V")},
    "W_O": (np.arange(16).reshape(4, 4) % 5).tolist(), "scale": "sqrt(d_k)", "normaliser": "softmax",
}  # fmt: skip
PROBLEMS = [
    ATTENTION,
    {**ATTENTION, "mask": "causal"},
    {**ATTENTION, "normaliser": "division", "X": UNIT, "W_K": UNIT},
    {**ATTENTION, "b_Q": [1, 2]},
    HEADS,
    {"kind": "add-and-norm", "X": [[1, 2, 3], [2, 0, 1]], "Y": [[0.5, -1, 0.5], [1, 1, 0]], "epsilon": 0.01, "norm": "layer"},
    {"kind": "positions", "d_model": 4, "positions": 3, "formula": "sinusoidal"},
    {"kind": "feed-forward", "X": [[1, 2]], "W_1": [[1, -1], [-2, 1]], "W_2": [[1], [2]]},
    {"kind": "recurrent", "X": [[1, 0], [0, 1], [1, 1]], "cell": {"W": UNIT, "U": [[0.1, 0.2], [0, 0.3]], "b": [0.1, 0]}, "h0": [0.5, -0.5]},
    *({"kind": "recurrent", "X": [[1, 0], [0, 1]], "h0": [0.5, -0.5], "reset": reset, "update": update, "gru": {
        "reset": GATE, "update": GATE | {"U": [[0.4, 0], [-0.2, 0.1]]}, "candidate": GATE | {"c": [0.1, 0.3]},
    }} for reset, update in (("before", "replace"), ("after", "keep"))),
    {"kind": "seq2seq-attention", "score": "multiplicative", "h": UNIT, "s": [1, 2], "W": [[1, 2], [3, 4]]},
    {"kind": "seq2seq-attention", "score": "additive", "h": UNIT, "s": [1, 2], "W_h": UNIT, "W_s": [[1, 2], [0, 1]], "v": [1, 1]},
]  # fmt: skip


def graph_of(problem):
    return Graph(solve(parse_problem(problem), Rounding()))


def produced(problem):
    """The names of all misconceptions at all records of a problem."""
    graph = graph_of(problem)
    values = [record.value for record in graph.records]
    for index, record in enumerate(graph.records):
        for variant in variants(Site(graph, index, fetch_from(values, graph.givens)), record.value.shape):
            yield record, variant


def test_every_misconception_of_the_list_is_produced_by_some_problem():
    names = {variant.name for problem in PROBLEMS for _, variant in produced(problem)}
    missing = [listed for listed, name in LISTED.items() if name not in names]
    assert not missing, f"no problem here produces {missing}"
    assert len(LISTED) == 36


def test_every_misconception_belongs_to_an_existing_step():
    assert set(MISCONCEPTIONS) <= set(STEPS)


def test_every_function_that_yields_misconceptions_is_in_the_table():
    """A function that yields variants and is never called is dead code."""
    modules = (
        misconceptions,
        norm_misconceptions,
        part_misconceptions,
        position_misconceptions,
        recurrent_misconceptions,
    )
    trees = [ast.parse(inspect.getsource(module)) for module in modules]
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    nodes = [node for tree in trees for node in tree.body]
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef) and node.name != "variants"]
    assert [name for name in functions if name not in used] == []


def test_a_misconception_always_keeps_the_shape_and_gives_numbers():
    num_variants = 0
    for problem in PROBLEMS:
        for record, variant in produced(problem):
            assert variant.value.shape == record.value.shape, variant.name
            assert not np.isnan(variant.value).any(), variant.name
            num_variants += 1
    assert num_variants > 100


def test_no_misconception_equals_the_right_rule_everywhere():
    """Each name differs from the right value on at least one problem here."""
    differs = {}
    for problem in PROBLEMS:
        for record, variant in produced(problem):
            is_other = not np.allclose(variant.value, record.value, equal_nan=True)
            differs[variant.name] = differs.get(variant.name, False) or is_other
    same = [name for name, is_other in differs.items() if not is_other]
    assert same == []


@pytest.mark.parametrize(
    ("symbol", "text", "name"),
    [
        # Q = [[1, 4], [3, 5]], K = [[4, -1], [5, 4]], V = [[5, 6], [1, -3]]; QKᵀ = [[0, 21], [7, 35]]
        ("Q", "1 1 / 3 7", None),  # not in the list
        ("Q", "7 0 / 3 -1", "WX instead of XW"),  # W_Q X = [[1+6, 2-2], [3, -1]]
        ("V", "4 -1 / 5 4", "V computed with W_K"),
        ("S", "24 15 / 37 17", "QK instead of QKᵀ"),
        ("S", "0 7 / 21 35", "KQᵀ instead of QKᵀ"),
    ],
)  # fmt: skip
def test_a_wrong_product_is_named(symbol, text, name):
    """QK = [[1·4 + 4·5, 1·(−1) + 4·4], [3·4 + 5·5, 3·(−1) + 5·4]] = [[24, 15], [37, 17]]."""
    lines = {"Q": "1 4 / 3 5", "K": "4 -1 / 5 4", "V": "5 6 / 1 -3"}
    report = marked(ATTENTION, {**lines, symbol: text})
    named = [finding.name for finding in report.findings if finding.verdict.value == "misconception"]
    assert named == ([] if name is None else [name]), verdicts(report)


SCORES = {**ATTENTION, "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 5]], "scale": "none"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        # S = [[1, 2], [3, 1]]
        ("0.12 0.73 / 0.88 0.27", "softmax down the columns"),  # e¹/(e¹+e³) = 0.1192, e²/(e²+e¹) = 0.7311
        ("0.08 0.21 / 0.58 0.08", None),  # 0.0826 0.2245 …: one cell is a slip, so the row is not explained
        ("0.08 0.22 / 0.61 0.08", "softmax over the whole matrix"),  # e, e², e³, e over 32.9 = 0.0826 0.2245 0.6103
        ("0.33 0.67 / 0.75 0.25", "no exp (divided by the sum)"),
        ("0.33 0.67 / 0.80 0.20", "base 2"),  # 2/(2+4), 8/(8+2)
        ("0.25 0.75 / 0.90 0.10", "base 3"),  # 3/(3+9), 27/30
        ("0.09 0.91 / 0.99 0.01", "base 10"),  # 10/110, 1000/1010
    ],
)  # fmt: skip
def test_a_wrong_softmax_is_named(text, name):
    report = marked(SCORES, {"S": "1 2 / 3 1", "A": text})
    named = [finding.name for finding in report.findings if finding.verdict.value == "misconception"]
    if name is None:
        assert "softmax over the whole matrix" not in named or len(report.findings) > 1
    else:
        assert named == [name], verdicts(report)


def test_weights_on_the_wrong_side_of_the_values_are_named():
    """A = [[0.2, 0.8], [0.6, 0.4]] given; AᵀV with V = [[1, 2], [3, 5]] is [[2.0, 3.4], [2.0, 3.6]]."""
    problem = {"kind": "context", "X": [[1, 2], [3, 5]], "weights": [[0.2, 0.8], [0.6, 0.4]], "layout": "rows"}
    report = marked(problem, {"Z": "2.0 3.4 / 2.0 3.6"})
    assert [finding.name for finding in report.findings] == ["AᵀV instead of AV"]
    assert verdicts(report) == ["Z MM MM"]


def test_one_number_alone_is_not_a_misconception():
    """0.33 instead of 0.27 is the result without exp; the other three cells are right, so it is a slip."""
    report = marked(SCORES, {"S": "1 2 / 3 1", "A": "0.33 0.73 / 0.88 0.12"})
    assert [finding.verdict.value for finding in report.findings] != ["misconception"]
    assert len(report.findings) == 1

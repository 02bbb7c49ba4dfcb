"""Dense layers and output layers against plain Python, with every activation, in both layouts."""

import math
from typing import Any

import pytest

from clearhead import solve
from clearhead.errors import ProblemError
from clearhead.worksheet.dense import DenseLayer
from clearhead.worksheet.kinds.dense import DenseLayerProblem
from clearhead.worksheet.shapes import Shapes
from tests.golden.by_hand import softmax, times, transpose
from tests.tolerances import assert_close

X = [[1, 2], [0.5, -1]]
W = [[0.5, -1, 0.2], [0.3, 0.4, -0.6]]
B = [0.1, 0, -0.2]
# 1*0.5 + 2*0.3 + 0.1 = 1.2, 1*(-1) + 2*0.4 = -0.2, 1*0.2 + 2*(-0.6) - 0.2 = -1.2
Z = [[1.2, -0.2, -1.2], [0.05, -0.9, 0.5]]
DENSE: dict[str, Any] = {"kind": "dense-layer", "X": X, "W": W, "b": B}
FUNCTIONS = {
    "none": lambda row: row,
    "relu": lambda row: [max(v, 0) for v in row],
    "gelu": lambda row: [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in row],
    "silu": lambda row: [v / (1 + math.exp(-v)) for v in row],
    "tanh": lambda row: [math.tanh(v) for v in row],
    "sigmoid": lambda row: [1 / (1 + math.exp(-v)) for v in row],
    "softmax": softmax,
}


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_a_dense_layer_has_any_activation(activation: str) -> None:
    expected = [FUNCTIONS[activation](row) for row in Z]
    assert_close(solve(DENSE | {"activation": activation}).answer, expected)
    turned = DENSE | {"layout": "columns", "X": transpose(X), "W": transpose(W), "activation": activation}
    assert_close(solve(turned).answer, transpose(expected))


def test_the_lines_of_a_dense_layer_are_called_as_in_books() -> None:
    assert [record.symbol for record in solve(DENSE).steps] == ["Y"]
    assert [record.symbol for record in solve(DENSE | {"activation": "tanh"}).steps] == ["Z", "Y"]
    classes = DENSE | {"activation": "softmax", "classes": ["good", "bad", "neutral"]}
    text = solve(classes).to_markdown()
    assert [record.symbol for record in solve(classes).steps] == ["logits", "p"]
    assert "neutral" in text


def test_the_layer_of_a_problem_reports_its_own_mistakes() -> None:
    assert issubclass(DenseLayerProblem, DenseLayer)
    shapes = Shapes("rows")
    DenseLayer.model_validate({"W": W, "b": [1, 2]}).layer_mistakes(shapes, "X", None, 5)
    assert [mistake.paths for mistake in shapes.mistakes] == [("X", "W"), ("b", "W")]


def test_a_feed_forward_network_can_have_a_second_activation() -> None:
    data = {"kind": "feed-forward", "X": X, "W_1": W, "b_1": B, "W_2": transpose(W), "output_activation": "tanh"}
    hidden = [[max(v, 0) for v in row] for row in Z]
    sheet = solve(data)
    assert_close(sheet.answer, [[math.tanh(v) for v in row] for row in times(hidden, transpose(W))])
    assert [record.symbol for record in sheet.steps] == ["F₁", "F₁′", "F₂", "F₂′"]
    assert_close(
        solve(data | {"output_activation": "softmax"}).answer,
        [softmax(row) for row in times(hidden, transpose(W))],
    )


CELL = {"W": [[0.5, -0.3], [0.8, 0.2]], "U": [[0.1, 0.2], [0, 0.3]], "b": [0.1, 0]}
W_OUT = [[1, -2], [0.5, 1.5], [-1, 0]]
RECURRENT: dict[str, Any] = {"kind": "recurrent", "X": [[1, 0], [0, 1]], "cell": CELL, "h0": [0, 0]}
# h1 = tanh(0.5 + 0.1), tanh(0.8); h2 = tanh(-0.3 + 0.1 + 0.1 h1[1] + 0.2 h1[2]), tanh(0.2 + 0.3 h1[2])
H1 = [math.tanh(0.6), math.tanh(0.8)]
H2 = [math.tanh(-0.2 + 0.1 * H1[0] + 0.2 * H1[1]), math.tanh(0.2 + 0.3 * H1[1])]


def probabilities(state: list[float]) -> list[float]:
    return softmax([sum(w * h for w, h in zip(row, state, strict=True)) for row in W_OUT])


def test_the_last_state_of_a_recurrent_network_is_classified() -> None:
    sheet = solve(RECURRENT | {"output": {"W": W_OUT, "classes": ["a", "b", "c"]}})
    assert_close(sheet.answer, [probabilities(H2)])
    assert [record.where for record in sheet.steps[-2:]] == ["output", "output"]
    turned = RECURRENT | {"layout": "columns", "output": {"W": W_OUT, "classes": ["a", "b", "c"]}}
    assert_close(solve(turned).answer, transpose([probabilities(H2)]))
    assert solve(turned).to_markdown().count("| a |") >= 2  # the classes are row names in columns, of W_out and of p


def test_every_state_of_a_recurrent_network_can_have_an_output() -> None:
    sheet = solve(RECURRENT | {"output": {"W": W_OUT, "after": "every"}})
    assert_close(sheet.value("p₁"), [probabilities(H1)])
    assert_close(sheet.value("p₂"), [probabilities(H2)])
    assert [given for given in sheet.trace.givens if given.endswith("W_out")] == ["time.0.output.W_out"]


def test_the_new_state_of_seq2seq_attention_can_have_an_output() -> None:
    data = {"kind": "seq2seq-attention", "h": [[0.0, 1.0], [0.0, 1.0]], "s": [0.5, -0.5]}
    # equal scores: the context is [0, 1], and the new state [0, 1, 0.5, -0.5]
    weights = [[1, 2, 0, 2], [3, 0, 0, 1]]
    sheet = solve(data | {"output": {"W": weights, "b": [0.25, 0], "activation": "none"}})
    assert_close(sheet.answer, [[2 - 1 + 0.25, -0.5]])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (DENSE | {"W": [[1, 2, 3]]}, "X is 2 × 2 and W is 1 × 3, so X W cannot be multiplied. Give W 2 rows, or X 1"),
        (DENSE | {"b": [1]}, "b has 1 number, but W is 2 × 3. Give b 3 numbers."),
        (DENSE | {"classes": ["a"]}, "classes has 1 name, but W is 2 × 3 and gives 3 numbers. Give 3 names, or omit"),
        (DENSE | {"activation": "softmx"}, "activation = 'softmx' is not a choice. Did you mean 'softmax'? Choices:"),
        (DENSE | {"bias": [1]}, "'bias' is not a key of dense-layer."),
        ({"kind": "dense-layer", "W": W}, "dense-layer needs X, or an embedding with tokens."),
        (RECURRENT | {"output": {"W": [[1, 2, 3]]}}, "output: W is 1 × 3, but the state has 2 numbers. Give W 2 col"),
        (RECURRENT | {"output": {"W": W_OUT, "b": [1]}}, "output: b has 1 number, but W is 3 × 2. Give output: b 3"),
        (RECURRENT | {"output": {"W": W_OUT, "classes": ["a"]}}, "output: classes has 1 name, but W is 3 × 2 and"),
        (RECURRENT | {"output": {"b": [1]}}, "recurrent needs output, W: weights of the state"),
        (RECURRENT | {"output": {"W": W_OUT, "after": "each"}}, "output, after = 'each' is not a choice. Choices: la"),
    ],
)
def test_mistakes_in_a_layer_are_one_sentence(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    assert len(wrong.value.mistakes) == 1
    assert wrong.value.mistakes[0].startswith(sentence)

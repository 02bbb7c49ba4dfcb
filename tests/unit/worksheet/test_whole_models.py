"""Feed-forward, blocks, whole models, word vectors and the other readers of sequences, against plain Python."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import Rounding, solve
from clearhead.errors import ProblemError
from tests.golden.by_hand import attention, normalised, plus, softmax, times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.test_attention_options import numbers, turned

Matrix = list[list[float]]
TOKENS, WIDTH, INNER = 5, 3, 7


def network(x: Matrix, layer: dict[str, Any]) -> Matrix:
    inner = plus(times(x, layer["W_1"]), [layer["b_1"]] * len(x))
    bent = [[max(0.0, v) for v in row] for row in inner]
    return plus(times(bent, layer["W_2"]), [layer["b_2"]] * len(x))


def random_network(width: int, seed: int) -> dict[str, Any]:
    return {
        "W_1": numbers(width, INNER, seed=seed),
        "b_1": numbers(INNER, seed=seed + 1),
        "W_2": numbers(INNER, width, seed=seed + 2),
        "b_2": numbers(width, seed=seed + 3),
    }


def random_attention(width: int, seed: int, source: int | None = None) -> dict[str, Any]:
    other = source or width
    shapes = {"W_Q": (width, 2), "W_K": (other, 2), "W_V": (other, width)}
    return {name: numbers(*shape, seed=seed + n) for n, (name, shape) in enumerate(shapes.items())}


def attend(x: Matrix, y: Matrix, layer: dict[str, Any], is_causal: bool = False) -> Matrix:
    q, k, v = times(x, layer["W_Q"]), times(y, layer["W_K"]), times(y, layer["W_V"])
    return attention(q, k, v, math.sqrt(2), is_causal)


def norm(x: Matrix) -> Matrix:
    return [normalised(row, 1e-5) for row in x]


def test_feed_forward_and_the_same_as_convolutions() -> None:
    layer = random_network(WIDTH, 1)
    x = numbers(TOKENS, WIDTH)
    for is_convolution in (False, True):
        data = {"kind": "feed-forward", "X": x, **layer, "as_convolution": is_convolution}
        assert_close(solve(data).answer, network(x, layer))
        assert_close(solve(turned(data)).answer, transpose(network(x, layer)))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("gelu", lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2)))),
        ("silu", lambda v: v / (1 + math.exp(-v))),
        ("sigmoid", lambda v: 1 / (1 + math.exp(-v))),
        ("tanh", math.tanh),
    ],
)
def test_every_activation_is_what_its_name_says(name: str, function: Any) -> None:
    x = [[-3.0, -0.5, 0.0, 2.0]]
    data = {"kind": "feed-forward", "X": x, "W_1": np.eye(4), "W_2": np.eye(4), "activation": name}
    assert_close(solve(data).answer, [[function(v) for v in x[0]]])


@pytest.mark.parametrize("place", ["post", "pre"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_blocks_with_norms_before_or_after(place: str, layout: str) -> None:
    x, memory = numbers(TOKENS, WIDTH), numbers(2, 11)
    one, two, three = random_attention(WIDTH, 10), random_attention(WIDTH, 20, 11), random_network(WIDTH, 30)

    def residual(x: Matrix, sublayer: Any) -> Matrix:
        return plus(x, sublayer(norm(x))) if place == "pre" else norm(plus(x, sublayer(x)))

    after = residual(x, lambda h: attend(h, h, one))
    encoder = residual(after, lambda h: network(h, three))
    data: dict[str, Any] = {"kind": "encoder-block", "X": x, "self_attention": one, "feed_forward": three}
    data["norm_place"] = place
    decoded = residual(x, lambda h: attend(h, h, one, is_causal=True))
    decoded = residual(decoded, lambda h: attend(h, memory, two))
    decoded = residual(decoded, lambda h: network(h, three))
    other = data | {"kind": "decoder-block", "cross_attention": two, "memory": memory}
    if layout == "columns":
        assert_close(solve(turned(data)).answer, transpose(encoder))
        assert_close(solve(turned(other)).answer, transpose(decoded))
    else:
        assert_close(solve(data).answer, encoder)
        assert_close(solve(other).answer, decoded)


def small_model(seed: int = 0, **changes: Any) -> dict[str, Any]:
    words = ["<s>", "uno", "dos", "</s>"]
    return {
        "kind": "transformer",
        "source": {"X": numbers(2, 5, seed=seed)},
        "encoder": [{"self_attention": random_attention(5, 40), "feed_forward": random_network(5, 50)}] * 2,
        "target_embedding": dict(zip(words, numbers(4, WIDTH, seed=seed + 60), strict=True)),
        "target_position": "sinusoidal",
        "decoder": [
            {
                "self_attention": random_attention(WIDTH, 70),
                "cross_attention": random_attention(WIDTH, 80, 5),
                "feed_forward": random_network(WIDTH, 90),
            }
        ],
        "W_out": numbers(WIDTH, 4, seed=100),
        "b_out": numbers(4, seed=101),
        "start": "<s>",
        "end": "</s>",
        **changes,
    }


def run_by_hand(model: dict[str, Any], prefix: list[str]) -> Matrix:
    """Return the probabilities after every word of the prefix."""
    x = model["source"]["X"]
    for block in model["encoder"]:
        x = norm(plus(x, attend(x, x, block["self_attention"])))
        x = norm(plus(x, network(x, block["feed_forward"])))
    y = [model["target_embedding"][word] for word in prefix]
    table = [
        [
            math.sin(p / 10000 ** (d / WIDTH)) if d % 2 == 0 else math.cos(p / 10000 ** ((d - 1) / WIDTH))
            for d in range(WIDTH)
        ]
        for p in range(len(y))
    ]
    y = plus(y, table)
    for block in model["decoder"]:
        y = norm(plus(y, attend(y, y, block["self_attention"], is_causal=True)))
        y = norm(plus(y, attend(y, x, block["cross_attention"])))
        y = norm(plus(y, network(y, block["feed_forward"])))
    return [softmax(row) for row in plus(times(y, model["W_out"]), [model["b_out"]] * len(y))]


def test_a_whole_model_generates_what_plain_python_generates() -> None:
    model = small_model(max_length=4)
    sheet = solve(model)
    words, prefix = list(model["target_embedding"]), ["<s>"]
    while len(prefix) < 5 and prefix[-1] != "</s>":
        rows = run_by_hand(model, prefix)
        assert_close(sheet.value("p", where=f"generate.{len(prefix) - 1}.output"), rows[-1:])
        prefix.append(words[rows[-1].index(max(rows[-1]))])
    assert sheet.warnings[0] == f"generated: {' '.join(prefix[1:])}"


def test_teacher_forcing_in_parallel_is_the_loss_one_word_at_a_time() -> None:
    model = small_model(target=["uno", "dos"], one_by_one=True)
    sheet = solve(model)
    rows = run_by_hand(model, ["<s>", "uno", "dos"])
    aims = [1, 2, 3]
    assert_close(sheet.value("p", where="teacher*"), rows)
    losses = [-math.log(row[aim]) for row, aim in zip(rows, aims, strict=True)]
    assert_close(sheet.value("ℓ", where="teacher*"), [[loss] for loss in losses])
    assert_close(sheet.value("L", where="teacher*"), [[math.fsum(losses)]])
    assert_close(sheet.answer, [[math.fsum(losses)]])
    y = np.eye(4)[aims]
    assert_close(sheet.value("∂L", where="teacher*"), np.array(rows) - y)


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    logits, aim, step = [0.3, -1.2, 0.8, 0.1], 2, 1e-6
    gradient = [p - (place == aim) for place, p in enumerate(softmax(logits))]
    for place in range(4):
        up, down = list(logits), list(logits)
        up[place] += step
        down[place] -= step
        slope = (-math.log(softmax(up)[aim]) + math.log(softmax(down)[aim])) / (2 * step)
        assert slope == pytest.approx(gradient[place], abs=1e-8)


def test_sampling_follows_its_seed_and_its_probabilities() -> None:
    model = small_model(choose="sample", max_length=1)
    first = [solve(model | {"seed": seed}).answer[0, 0] for seed in range(200)]
    again = [solve(model | {"seed": seed}).answer[0, 0] for seed in range(20)]
    assert first[:20] == again
    expected = run_by_hand(model, ["<s>"])[0]
    for place, probability in enumerate(expected):
        share = first.count(place) / 200
        assert abs(share - probability) < 4 * math.sqrt(0.25 / 200)


def test_a_model_that_does_not_end_stops_and_says_so() -> None:
    model = small_model(max_length=2, b_out=[50.0, 0.0, 0.0, 0.0])
    assert solve(model).warnings == ("generated: <s> <s>", "stopped after 2 words without '</s>'.")


def test_weights_of_a_model_are_given_once_however_often_it_runs() -> None:
    sheet = solve("lets-go")
    symbols = [given.symbol for given in sheet.trace.givens.values()]
    assert symbols.count("W_out") == 1
    assert symbols.count("W_Q") == 3
    assert symbols.count("E_target") == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"start": "<x>"}, "start: '<x>' has no vector in target_embedding. Did you mean '<s>'?"),
        ({"target": ["tres"]}, "target: 'tres' has no vector in target_embedding."),
        ({"W_out": numbers(2, 4)}, "so the decoder's output W_out does not fit. Give W_out 3 rows"),
        ({"W_out": numbers(3, 3)}, "W_out makes 3 scores, but target_embedding has 4 words."),
        ({"encoder": [{"self_attention": random_attention(3, 1)}]}, "encoder block 1: self_attention: X is 2 × 5 and W_Q is 3 × 2"),
        ({"decoder": [{"self_attention": random_attention(3, 1), "cross_attention": random_attention(3, 1)}]}, "decoder block 1: cross_attention: memory is 2 × 5 and W_K is 3 × 2"),
        ({"target_position": "learned"}, "target_position: formula learned needs table"),
        ({"target_position": [[1, 2]]}, "target_position: each vector of table has 2 numbers, but tokens are 3 wide."),
        ({"target_position": {"formula": "learned", "table": numbers(2, 3), "start": 2}}, "target_position: table has 2 positions, but the last token is at position 2."),
        ({"encoder_norm": {"gain": [1, 2, 3]}}, "encoder_norm: gain has 3 numbers, but tokens are 5 wide."),
        ({"decoder_norm": {"shift": [1]}}, "decoder_norm: shift has 1 number, but tokens are 3 wide."),
        ({"decoder_norm": {"norm": "batch", "padding": 2}}, "decoder_norm: padding = 2, but there are 1 tokens"),
        ({"one_by_one": True}, "one_by_one goes with target, which is not given."),
        ({"max_length": 1000}, "max_length = 1000: input should be less than or equal to 200."),
        ({"decoder": [{"self_attention": random_attention(3, 1) | {"mask": [[1]]}, "cross_attention": random_attention(3, 1, 5)}]}, "decoder block 1: self_attention: mask has a size of its own"),
        ({"decoder": [{"self_attention": random_attention(3, 1) | {"cached_K": [[1, 2]], "cached_V": [[1, 2, 3]]}, "cross_attention": random_attention(3, 1, 5)}]}, "decoder block 1: self_attention: cached_K has a size of its own"),
        ({"source": {"tokens": ["a"]}}, "source needs X, or an embedding with tokens."),
    ],
)  # fmt: skip
def test_a_model_that_does_not_fit_is_told_where(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(small_model(**changes))
    assert sentence in str(wrong.value)


def test_a_target_of_probability_zero_is_refused() -> None:
    with pytest.raises(ProblemError, match="a target word has probability 0, so its -ln is infinite"):
        solve(small_model(target=["uno"], b_out=[100.0, -100.0, 0.0, 0.0]), Rounding(lines="rounded", decimals=2))


def test_tf_idf_counts_and_weighs() -> None:
    sheet = solve({"kind": "word-vectors", "task": "tf-idf", "documents": ["a b a", ["b", "c"]]})
    tf = [[2 / 3, 1 / 3, 0], [0, 1 / 2, 1 / 2]]
    idf = [math.log(2), 0.0, math.log(2)]
    assert_close(sheet.answer, [[t * i for t, i in zip(row, idf, strict=True)] for row in tf])
    smooth = solve({"kind": "word-vectors", "task": "tf-idf", "documents": ["a b a", "b c"], "idf": "smooth"})
    assert_close(smooth.value("idf"), [[math.log(3 / 2) + 1, 1.0, math.log(3 / 2) + 1]])


def lstm_by_hand(x: Matrix, gates: dict[str, Any], h: list[float], c: list[float]) -> list[float]:
    for row in x:
        z = {}
        for name, gate in gates.items():
            from_input, from_state = (times(m, transpose([v])) for m, v in ((gate["W"], row), (gate["U"], h)))
            z[name] = [a[0] + b[0] + bias for a, b, bias in zip(from_input, from_state, gate["b"], strict=True)]
        f, i, o = ([1 / (1 + math.exp(-v)) for v in z[name]] for name in ("forget", "input", "output"))
        g = [math.tanh(v) for v in z["candidate"]]
        c = [ff * cc + ii * gg for ff, cc, ii, gg in zip(f, c, i, g, strict=True)]
        h = [oo * math.tanh(cc) for oo, cc in zip(o, c, strict=True)]
    return h


def test_recurrent_networks_read_in_order() -> None:
    x, h = numbers(TOKENS, WIDTH), numbers(2, seed=3)
    gates = {
        name: {"W": numbers(2, WIDTH, seed=n), "U": numbers(2, 2, seed=n + 9), "b": numbers(2, seed=n + 18)}
        for n, name in enumerate(("forget", "input", "candidate", "output"))
    }
    data = {"kind": "recurrent", "X": x, "lstm": gates, "h0": h, "c0": [0.5, -0.25]}
    expected = lstm_by_hand(x, gates, h, [0.5, -0.25])
    assert_close(solve(data).answer, [expected])
    assert_close(solve(data | {"layout": "columns", "X": transpose(x)}).answer, transpose([expected]))
    state = h
    cell = gates["input"]
    for row in x:
        state = [
            math.tanh(
                sum(a * b for a, b in zip(w, row, strict=True))
                + sum(a * b for a, b in zip(u, state, strict=True))
                + bias
            )
            for w, u, bias in zip(cell["W"], cell["U"], cell["b"], strict=True)
        ]
    assert_close(solve({"kind": "recurrent", "X": x, "cell": cell, "h0": h}).answer, [state])


@pytest.mark.parametrize(("padding", "first", "count"), [("same", -1, 5), ("causal", -2, 5), ("valid", 0, 3)])
def test_a_convolution_slides_its_filter(padding: str, first: int, count: int) -> None:
    x, taps, b = numbers(TOKENS, WIDTH), [numbers(WIDTH, 2, seed=n) for n in range(3)], numbers(2, seed=9)
    expected = [
        [
            b[f]
            + math.fsum(
                x[t + first + k][d] * taps[k][d][f]
                for k in range(3)
                if 0 <= t + first + k < TOKENS
                for d in range(WIDTH)
            )
            for f in range(2)
        ]
        for t in range(count)
    ]
    data = {"kind": "convolution", "X": x, "taps": taps, "b": b, "padding": padding}
    assert_close(solve(data).answer, expected)
    over = data | {"layout": "columns", "X": transpose(x), "taps": [transpose(tap) for tap in taps]}
    assert_close(solve(over).answer, transpose(expected))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"kind": "recurrent", "X": [[1]], "h0": [0]}, "recurrent needs a cell or an lstm, and not both."),
        ({"kind": "recurrent", "X": [[1]], "h0": [0], "cell": {"W": [[1, 2]], "U": [[1]]}}, "W is 1 × 2, but the state has 1 numbers and an input 1. Make it 1 × 1."),
        ({"kind": "convolution", "X": [[1]], "taps": []}, "taps is empty."),
        ({"kind": "recurrent", "X": [[1]], "h0": [0], "c0": [0], "cell": {"W": [[1]], "U": [[1]]}}, "c0 goes with an lstm."),
        ({"kind": "word-vectors", "task": "similarity", "embedding": {"a": [0, 0], "b": [1, 2]}}, "the vector of 'a' has length 0, so it has no direction and no cosine."),
        ({"kind": "word-vectors", "task": "one-hot", "tokens": ["a"], "embedding": {"a": [1]}}, "task one-hot does not use an embedding."),
        ({"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}, "norm": "layer", "norms": ["layer"]}, "both norm and norms are given."),
        ({"kind": "convolution", "X": [[1]], "taps": [[[1]], [[1]]], "padding": "valid"}, "a filter of 2 taps does not fit into 1 tokens"),
        ({"kind": "word-vectors", "task": "tf-idf"}, "task tf-idf needs documents"),
        ({"kind": "word-vectors", "task": "tf-idf", "documents": ["a", ""]}, "documents: document 2 has no words."),
        ({"kind": "word-vectors", "task": "look-up"}, "task look-up needs an embedding"),
        ({"kind": "word-vectors", "task": "one-hot"}, "task one-hot needs tokens"),
        ({"kind": "feed-forward", "X": [[1, 2]], "W_1": [[1]], "W_2": [[1]]}, "X is 2 wide and W_1 is 1 × 1"),
        ({"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}, "feed_forward": {"W_1": [[1]], "W_2": [[1, 2]]}}, "feed_forward: the network makes vectors 2 wide"),
        ({"kind": "encoder-block", "X": [[1]], "self_attention": {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]]}, "norms": ["layer", "layer"]}, "norms has 2 entries, but the block has 1 residuals."),
    ],
)  # fmt: skip
def test_what_is_missing_is_told(data: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(data)
    assert sentence in str(wrong.value)


def test_two_models_fit_on_one_sheet() -> None:
    part = small_model(max_length=1)
    sheet = solve({"parts": [part | {"title": "a"}, part | {"title": "b", "choose": "sample"}]})
    assert len(sheet.answers) == 2
    assert sheet.warnings[0].startswith("part.0: generated: ")


def test_a_block_with_a_cache_is_drawn_without_names_for_the_cached() -> None:
    layer = {"W_Q": [[1]], "W_K": [[1]], "W_V": [[1]], "cached_K": [[1]], "cached_V": [[1]]}
    sheet = solve({"kind": "encoder-block", "X": [[1]], "tokens": ["x"], "self_attention": layer, "norm": "none"})
    assert "2 × 1" in sheet.to_html()

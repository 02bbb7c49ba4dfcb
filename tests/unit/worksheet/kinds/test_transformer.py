"""A complete small Transformer against plain Python: generation, teacher forcing, and errors."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead import Rounding, solve
from clearhead.errors import ProblemError
from clearhead.worksheet.kinds.transformer import TransformerProblem
from tests.golden.by_hand import plus, softmax, times
from tests.tolerances import assert_close
from tests.unit.worksheet.random_models import WIDTH, Matrix, attend, network, norm, random_attention, small_model
from tests.unit.worksheet.random_problems import numbers


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


def test_a_complete_model_generates_what_plain_python_generates() -> None:
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


def test_a_model_that_does_not_end_stops_with_a_note() -> None:
    model = small_model(max_length=2, b_out=[50.0, 0.0, 0.0, 0.0])
    assert solve(model).warnings == ("generated: <s> <s>", "stopped after 2 words without '</s>'.")


def test_weights_of_a_model_are_given_once_however_often_it_runs() -> None:
    sheet = solve("lets-go")
    symbols = [entry.symbol for entry in sheet.trace.givens.values()]
    assert symbols.count("W_out") == 1
    assert symbols.count("W_Q") == 3
    assert symbols.count("E_target") == 1


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"start": "<x>"}, "start: '<x>' has no vector in target_embedding. Did you mean '<s>'?"),
        ({"target": ["tres"]}, "target: 'tres' has no vector in target_embedding."),
        ({"W_out": numbers(2, 4)}, "so the decoder's output W_out cannot be multiplied. Give W_out 3 rows"),
        ({"W_out": numbers(3, 3)}, "W_out gives 3 scores, but target_embedding has 4 words."),
        ({"encoder": [{"self_attention": random_attention(3, 1)}]}, "encoder layer 1: self_attention: X is 2 × 5 and W_Q is 3 × 2"),
        ({"decoder": [{"self_attention": random_attention(3, 1), "cross_attention": random_attention(3, 1)}]}, "decoder layer 1: cross_attention: memory is 2 × 5 and W_K is 3 × 2"),
        ({"target_position": "learned"}, "target_position: formula learned needs table"),
        ({"target_position": [[1, 2]]}, "target_position: each vector of table has 2 numbers, but tokens are 3 wide."),
        ({"target_position": {"formula": "learned", "table": numbers(2, 3), "start": 2}}, "target_position: table has 2 positions, but the last token is at position 2."),
        ({"encoder_norm": {"gain": [1, 2, 3]}}, "encoder_norm: gain has 3 numbers, but tokens are 5 wide."),
        ({"decoder_norm": {"shift": [1]}}, "decoder_norm: shift has 1 number, but tokens are 3 wide."),
        ({"decoder_norm": {"norm": "batch", "padding": 2}}, "decoder_norm: padding = 2, but there are 1 tokens"),
        ({"one_by_one": True}, "one_by_one needs target, which is not given."),
        ({"max_length": 1000}, "max_length = 1000: input should be less than or equal to 200."),
        ({"decoder": [{"self_attention": random_attention(3, 1) | {"mask": [[1]]}, "cross_attention": random_attention(3, 1, 5)}]}, "decoder layer 1: self_attention: mask has a fixed size"),
        ({"decoder": [{"self_attention": random_attention(3, 1) | {"cached_K": [[1, 2]], "cached_V": [[1, 2, 3]]}, "cross_attention": random_attention(3, 1, 5)}]}, "decoder layer 1: self_attention: cached_K has a fixed size"),
        ({"source": {"tokens": ["a"]}}, "source needs X, or an embedding with tokens."),
    ],
)  # fmt: skip
def test_an_error_in_a_model_names_its_place(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as wrong:
        solve(small_model(**changes))
    assert sentence in str(wrong.value)


def test_a_target_of_probability_zero_is_refused() -> None:
    with pytest.raises(ProblemError, match="a target word has probability 0, so its -ln is infinite"):
        solve(small_model(target=["uno"], b_out=[100.0, -100.0, 0.0, 0.0]), Rounding(lines="rounded", decimals=2))


def test_the_words_of_the_output_are_those_of_the_target_embedding_in_order() -> None:
    problem = TransformerProblem.model_validate(small_model(max_length=1))
    assert problem.words == ("<s>", "uno", "dos", "</s>")
    certain = problem.model_copy(update={"W_out": np.zeros((WIDTH, 4)), "b_out": np.array([0.0, 0.0, 9.0, 0.0])})
    assert solve(certain).warnings[0] == "generated: dos"  # whatever the decoder says, its bias chooses

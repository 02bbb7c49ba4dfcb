"""Parts that feed one another: references to lines of earlier parts, their values, names and errors."""

from typing import Any

import numpy as np
import pytest

from clearhead import load_problem, solve
from clearhead.errors import ProblemError
from clearhead.steps import Trace
from clearhead.worksheet.part_line import LinkedArray, PartLine, is_reference, references_in, typed_symbol, with_values
from clearhead.worksheet.part_order import PartLinker
from tests.golden.by_hand import times, transpose
from tests.tolerances import assert_close
from tests.unit.worksheet.random_problems import with_tokens_as_columns

EYE = [[1, 0], [0, 1]]
FIRST: dict[str, Any] = {
    "kind": "self-attention",
    "tokens": ["a", "b", "c"],
    "X": [[1, 0], [0, 1], [1, 1]],
    "W_Q": EYE,
    "W_K": EYE,
    "W_V": [[1, 0, 2], [0, 1, 2]],
}
W = [[1, -1], [2, 0], [3, 5]]


def dense(x: Any, **changes: Any) -> dict[str, Any]:
    return {"kind": "dense-layer", "X": x, "W": W} | changes


def problems(*parts: Any) -> list[str]:
    with pytest.raises(ProblemError) as wrong:
        solve({"parts": list(parts)})
    return list(wrong.value.mistakes)


def test_the_answer_of_a_part_is_the_input_of_a_later_one() -> None:
    sheet = solve({"parts": [FIRST, dense("part.0.answer"), {"kind": "add-and-norm", "X": "part.1.answer"}]})
    first = solve(FIRST).answer.tolist()
    assert_close(sheet.answers[1], times(first, W))
    assert_close(sheet.answer, solve({"kind": "add-and-norm", "X": times(first, W)}).answer)
    turned = with_tokens_as_columns({"parts": [FIRST, dense("part.0.answer")]})
    assert_close(solve(turned).answer, transpose(times(first, W)))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("part.0.V", [[1, 0, 2], [0, 1, 2], [1, 1, 4]]),
        ("part.0.value.V", [[1, 0, 2], [0, 1, 2], [1, 1, 4]]),
        ("part.0.V[3]", [[1, 1, 4]]),
        ("part.0.W_V", [[1, 0, 2], [0, 1, 2]]),
        (" part.0.W_V [ 2 ] ", [[0, 1, 2]]),
    ],
)
def test_any_line_of_an_earlier_part_can_be_used(reference: str, expected: list[list[float]]) -> None:
    assert_close(solve({"parts": [FIRST, dense(reference)]}).answer, times(expected, W))


def test_a_reference_can_be_nested_and_a_state() -> None:
    attention = {"W_Q": EYE, "W_K": EYE, "W_V": EYE}
    block = {"kind": "decoder-block", "X": EYE, "memory": "part.0.X", "self_attention": attention, "norm": "none"}
    block |= {"cross_attention": attention | {"W_Q": "part.0.W_Q"}}
    plain = block | {"memory": FIRST["X"], "cross_attention": attention}
    assert_close(solve({"parts": [FIRST, block]}).answer, solve(plain).answer)
    cell = {"W": [[1, 0, 0]] * 3, "U": [[0, 0, 1]] * 3}
    recurrent = {"kind": "recurrent", "X": "part.0.V", "cell": cell, "h0": "part.0.V[2]"}
    plain = recurrent | {"X": [[1, 0, 2], [0, 1, 2], [1, 1, 4]], "h0": [0, 1, 2]}
    assert_close(solve({"parts": [FIRST, recurrent]}).answer, solve(plain).answer)
    turned = with_tokens_as_columns(
        {"parts": [FIRST, recurrent | {"cell": {k: transpose(v) for k, v in cell.items()}}]}
    )
    assert_close(solve(turned).answer, transpose(solve(plain).answer.tolist()))
    states = {"kind": "seq2seq-attention", "h": "part.0.V", "s": "part.0.V[1]"}
    assert_close(solve({"parts": [FIRST, states]}).value("e"), [[5, 4, 9]])


def test_positions_of_one_part_are_added_in_the_next() -> None:
    positions = {"kind": "positions", "d_model": 2, "positions": 3}
    linked = solve({"parts": [positions, FIRST | {"position": "part.0.answer"}]})
    assert_close(linked.answer, solve(FIRST | {"position": "sinusoidal"}).answer)


def test_the_sheet_says_which_line_is_used_and_keeps_the_names_of_the_tokens() -> None:
    sheet = solve({"parts": [FIRST, dense("part.0.Z[2]"), dense("part.0.Z", tokens=["x", "y", "z"])]})
    second, third = sheet.to_markdown().split("**X = row 2 of Z of part 1**")[1].split("**X = Z of part 1**")
    assert "| b | 0.5989 |" in second
    assert "| x | 0.8022 |" in third
    copies = [record for record in sheet.steps if record.step.name == "copy"]
    assert [record.where for record in copies] == ["part.1.input", "part.2.input"]


def test_a_linked_sheet_is_rounded_line_by_line_through_its_parts() -> None:
    data = {"rounding": {"lines": "rounded", "decimals": 1}, "parts": [FIRST, dense("part.0.answer")]}
    first = np.round(solve(FIRST | {"rounding": data["rounding"]}).answer, 1).tolist()
    assert_close(solve(data).answer, np.round(times(first, W), 1))


def test_a_sheet_without_references_is_not_solved_when_it_is_read() -> None:
    without_variance = {"kind": "add-and-norm", "X": [[1, 1]], "epsilon": 0}
    load_problem({"parts": [without_variance, FIRST]})
    with pytest.raises(ProblemError, match="the variance of token 1 is 0"):
        load_problem({"parts": [without_variance, dense("part.0.answer")]})


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("part.1.answer", "X: part.1.answer is a line of this part itself. Refer to an earlier part."),
        ("part.2.answer", "X: part.2 comes after this part, part.1. Move it before this one."),
        ("part.7.answer", "X: there is no part.7; the parts are part.0 to part.2 (part.0 is the first)."),
        ("part.0.answr", "X: part.0 has no line answr. Did you mean 'answer'? Its lines: answer, Q, K, V, S, S′,"),
        ("part.0.Z[4]", "X: part.0.Z[4] does not exist: part.0.Z has 3 tokens, counted from 1."),
        ("part.0", "X: 'part.0' does not name a line of another part. Write part.0.answer for the answer of the"),
        ("Part 1 answer", "X: 'Part 1 answer' does not name a line of another part. Write part.0.answer for"),
        ("part.0.Z[b]", "X: 'part.0.Z[b]' does not name a line of another part."),
        (
            "part.0.X",
            "X is 3 × 2 and W is 3 × 2, so X W cannot be multiplied. Give W 2 rows, or X 3 columns. X is part",
        ),
    ],
)
def test_a_reference_that_cannot_be_used_is_one_sentence(reference: str, sentence: str) -> None:
    mistakes = problems(FIRST, dense(reference), FIRST)
    assert len(mistakes) == 1
    assert mistakes[0].startswith(f"part 2: {sentence}")


def test_parts_that_use_each_other_are_reported() -> None:
    cycle = problems(dense("part.1.answer"), dense("part.0.answer"))
    assert cycle == [
        "part 1: X: part.0 and part.1 use each other, so neither can be solved first. Remove one of the references."
    ]
    three = problems(dense("part.1.answer"), dense("part.2.answer"), dense("part.0.answer"))
    assert all("use each other" in sentence for sentence in three)


def test_a_line_that_occurs_twice_needs_its_place() -> None:
    attention = {"W_Q": EYE, "W_K": EYE, "W_V": EYE}
    block = {"kind": "decoder-block", "X": EYE, "memory": EYE}
    block |= {"self_attention": attention, "cross_attention": attention}
    wide = {"W": EYE}
    assert problems(block, dense("part.0.Z", **wide)) == [
        "part 2: X: part.0 has 2 lines Z. Add the place: part.0.decoder.0.self_attention.Z, "
        "part.0.decoder.0.cross_attention.Z."
    ]
    sheet = solve({"parts": [block, dense("part.0.cross_attention.Z", **wide)]})
    assert_close(sheet.answer, sheet.value("Z", "*cross_attention"))
    heads = {"kind": "multi-head-attention", "num_heads": 2, "X": EYE} | attention
    assert_close(
        solve({"parts": [heads, dense("part.0.head.1.Z", W=[[2]])]}).answer,
        solve({"parts": [heads, dense("part.0.Z_2", W=[[2]])]}).answer,
    )


def test_a_part_below_one_with_mistakes_is_not_accused() -> None:
    assert problems(FIRST | {"W_Q": [[1]]}, dense("part.0.answer"), dense("part.1.answer")) == [
        "part 1: X is 3 × 2 and W_Q is 1 × 1, so X W_Q cannot be multiplied. Give W_Q 2 rows, or X 1 column."
    ]


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (dense("part.0.answer", b="part.0.V[1]"), "b: part.0.V[1] can be used for a matrix or a state, but not here."),
        (dense("part.0.answer", activation="part.0.V"), "activation = part.0.V is not a choice."),
        (FIRST | {"mask": "part.0.A"}, "mask, explicit: part.0.A can be used for a matrix of numbers, but not for a"),
        (FIRST | {"scale": "part.0.A"}, "scale: part.0.A is not a scale."),
        (
            {"kind": "seq2seq-attention", "h": "part.0.V", "s": "part.0.V"},
            "s: part.0.V has 3 tokens, but a state is one vector. Select one, as in part.0.V[1].",
        ),
        ({"kind": "convolution", "X": EYE, "taps": ["part.0.V"]}, "taps, item 1: 'part.0.V' refers to another part."),
    ],
)
def test_a_key_that_cannot_be_a_line_says_so(part: dict[str, Any], sentence: str) -> None:
    mistakes = problems(FIRST, part)
    assert len(mistakes) == 1
    assert mistakes[0].startswith(f"part 2: {sentence}")


def test_a_single_exercise_has_no_other_parts() -> None:
    with pytest.raises(ProblemError, match="X: 'part.0.answer' refers to another part. Only a key of an exercise with"):
        solve(dense("part.0.answer"))


def test_references_are_found_and_replaced_wherever_they_are() -> None:
    data = {"title": "part.0.x", "X": "part.0.answer", "layer": {"K": "part.1.K"}, "heads": [{"V": "part.2.V"}, 3]}
    assert dict(references_in(data)) == {"X": "part.0.answer", "layer.K": "part.1.K", "heads.0.V": "part.2.V"}
    linked = with_values(data, {"heads.0.V": LinkedArray((1, 1))})
    assert isinstance(linked["heads"][0]["V"], LinkedArray)
    assert (linked["X"], linked["heads"][1]) == ("part.0.answer", 3)
    assert is_reference("Part 2")
    assert not is_reference("parting")
    assert typed_symbol("S'_1") == typed_symbol("S′₁")


def test_a_reference_is_written_as_it_is_read() -> None:
    assert str(PartLine.read("part.3.head.0.Z[2]")) == "part.3.head.0.Z[2]"
    with pytest.raises(ValueError, match=r"part\.0 has no lines"):
        PartLine.read("part.0.answer").value(Trace())


def test_a_linker_knows_which_parts_wait_for_others() -> None:
    sheet = load_problem({"parts": [FIRST]})
    linker = PartLinker([FIRST, dense("part.0.answer")], sheet)
    assert not linker.is_blocked(1)
    linker.leave_out(0)
    assert linker.is_blocked(1)

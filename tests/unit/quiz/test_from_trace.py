"""A sheet from one head of a trace: shrunk, with the same weights as far as one decimal allows, and a key file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clearhead.check.marker import mark
from clearhead.check.marks import Scheme
from clearhead.errors import ProblemError, QuizError
from clearhead.quiz import quiz_scheme
from clearhead.quiz.forms import write_form
from clearhead.quiz.forms.key import load_key
from clearhead.quiz.from_trace import sheet_from_trace
from clearhead.quiz.number import is_trace_number
from clearhead.quiz.tidy import MAX_GAP, largest_gap
from clearhead.worksheet.solver import solve
from tests.quiz_keys import key_working

TOKENS = ["the", "cat", "sat", "on", "mats"]


def traced(path: Path, size: float = 0.5, kind: str = "masked-self-attention", **more: Any) -> Path:
    """Write the worksheet of two heads of width 7 over five tokens, as a trace is written."""
    numbers = np.random.default_rng(17)
    heads = [{name: (size * numbers.normal(size=(11, 7))).tolist() for name in ("W_Q", "W_K", "W_V")} for _ in range(2)]
    x = numbers.normal(size=(5, 11)).tolist()
    path.write_bytes(solve({"kind": kind, "tokens": TOKENS, "X": x, "heads": heads, **more}).to_json())
    return path


def test_a_head_is_shrunk_and_the_sheet_says_what_was_done(tmp_path: Path) -> None:
    sheet = sheet_from_trace(traced(tmp_path / "trace.json", 0.25), "self_attention.head.1")
    assert is_trace_number(sheet.number)
    assert sheet.problem["kind"] == "self-attention"
    assert sheet.problem["tokens"] == TOKENS[:3]
    for name in ("Q", "K", "V"):
        assert np.shape(sheet.problem[name]) == (3, 2)
        assert np.allclose(np.array(sheet.problem[name]) * 10, np.round(np.array(sheet.problem[name]) * 10))
    assert sheet.problem["mask"] == {"explicit": [[1, 0, 0], [1, 1, 0], [1, 1, 1]]}
    text = " ".join(sheet.instructions)
    assert "These are numbers of a trained model: self_attention.head.1" in text
    assert "width 7 were projected on 2 dimensions" in text
    assert "rounded to one decimal" in text


def test_the_weights_of_the_model_are_nearly_kept(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace.json", 0.2)
    sheet = sheet_from_trace(path, "self_attention.head.0", decimals=4)
    assert not any("multiplied" in sentence for sentence in sheet.instructions)
    weights = np.asarray(next(record.value for record in sheet.worksheet.trace if record.step.name == "softmax"))
    numbers = np.random.default_rng(17)
    first = {name: 0.2 * numbers.normal(size=(11, 7)) for name in ("W_Q", "W_K", "W_V")}
    for _ in range(3):
        numbers.normal(size=(11, 7))
    x = numbers.normal(size=(5, 11))[:3]
    scores = np.where(np.tri(3, dtype=bool), x @ first["W_Q"] @ (x @ first["W_K"]).T / np.sqrt(7), -np.inf)
    exact = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert np.max(np.abs(weights - exact)) < 0.2  # two of three dimensions, and one decimal


def test_a_saturated_head_is_scaled_down_and_the_sheet_says_so(tmp_path: Path) -> None:
    sheet = sheet_from_trace(traced(tmp_path / "trace.json", 3.0), "self_attention.head.0")
    softmax = next(record for record in sheet.worksheet.trace if record.step.name == "softmax")
    assert largest_gap(softmax) <= MAX_GAP + 0.02  # the scores are rounded to two decimals
    assert any(sentence.startswith("Queries were multiplied by 0.") for sentence in sheet.instructions)


def test_the_key_file_gives_the_same_sheet_and_full_marks(tmp_path: Path) -> None:
    sheet = sheet_from_trace(traced(tmp_path / "trace.json"), "self_attention.head.0")
    path = tmp_path / f"{sheet.number}.key.json"
    path.write_bytes(write_form(sheet, "json", is_key=True))
    again = load_key(path)
    report = mark(key_working(again), Scheme.model_validate(quiz_scheme(again)))
    assert (report.earned, report.has_error) == (report.out_of, False)
    assert again.problem == sheet.problem
    assert b"load_key" in write_form(sheet, "notebook")


def test_only_some_cells_can_be_left_blank(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace.json")
    complete, hard = (sheet_from_trace(path, "self_attention.head.0", blanks=blanks) for blanks in ("all", "hard"))
    assert hard.blanks == ("self_attention:A", "self_attention:Z")
    assert len(complete.blanks) == len(complete.worksheet.trace)
    assert hard.number != complete.number
    with pytest.raises(QuizError, match="decimals = 0 is out of range"):
        sheet_from_trace(path, "self_attention.head.0", decimals=0)


def test_a_place_that_is_not_one_head_gets_one_sentence(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace.json")
    with pytest.raises(QuizError, match=r"'self_attention' contains 2 heads. Heads: self_attention.head.0, self_att"):
        sheet_from_trace(path, "self_attention")
    with pytest.raises(QuizError, match=r"'encoder.0' is not a head of this trace. Heads: self_attention.head.0"):
        sheet_from_trace(path, "encoder.0")
    (tmp_path / "none.json").write_text("{}")
    with pytest.raises(ProblemError, match="is not a trace file"):
        sheet_from_trace(tmp_path / "none.json", "encoder.0")


def test_a_head_without_a_softmax_gets_one_sentence(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace.json", normaliser="division")
    with pytest.raises(QuizError, match="has 0 steps 'softmax'; one is needed. Choose another head"):
        sheet_from_trace(path, "self_attention.head.0")

"""Sheets of every kind: they never change, keep their promises, and a set has no two alike."""

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import clearhead.quiz as quiz
from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, draw_sheet, draw_sheets, quiz_kinds, quiz_scheme, sheet_of_number
from clearhead.quiz.main_rules import MAIN_RULES
from clearhead.quiz.sheet import QuizSheet
from clearhead.worksheet.kinds import KINDS

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "quiz_sheets_v1.json"
PINNED: dict[str, str] = json.loads(GOLDEN.read_text(encoding="utf-8"))


def fingerprint(sheet: QuizSheet) -> str:
    """Return a hash of everything on a sheet that a returned sheet depends on."""
    content = json.dumps([sheet.problem, sheet.blanks], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8")).hexdigest()[:16]


@pytest.fixture(scope="module")
def sheets_module() -> Iterator[Any]:
    """Return benchmarks/quiz_sheets.py."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import quiz_sheets

        yield quiz_sheets
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_sheets_can_be_drawn_of_every_kind_that_solve_knows_and_of_two_layers() -> None:
    assert quiz_kinds() == (*KINDS, "multi-hop")
    assert set(quiz.__all__) >= {"draw_sheet", "sheet_of_number", "quiz_kinds", "quiz_scheme"}


@pytest.mark.parametrize("kind", quiz_kinds())
def test_the_sheets_of_version_1_never_change(kind: str) -> None:
    pinned = {
        number: digest
        for number, digest in PINNED.items()
        if number.startswith((f"{kind}-1", f"{kind}-2", f"{kind}-3"))
    }
    assert len(pinned) == 9
    for number, digest in pinned.items():
        sheet = sheet_of_number(number)
        assert sheet.number == number
        assert fingerprint(sheet) == digest, number


@pytest.mark.parametrize(("kind", "difficulty"), list(product(quiz_kinds(), (1, 2, 3))))
def test_a_sheet_keeps_its_promises(sheets_module: Any, kind: str, difficulty: int) -> None:
    outcome = sheets_module.Outcome(kind, difficulty)
    blanks = ("all", "row", "hard")[difficulty % 3]
    request = QuizRequest(kind, difficulty, seed=31, blanks=blanks)
    sheets_module.examine(draw_sheet(request), outcome, max_rules=3)
    assert outcome.failures == []
    assert outcome.sheets == 1
    assert outcome.num_claims > 0
    assert outcome.cells > 0


def test_a_wrong_rule_that_gives_the_right_digits_is_noticed(sheets_module: Any) -> None:
    sheet = draw_sheet(QuizRequest("softmax", 1, seed=7))
    working = sheets_module.wrong_working(sheet, sheet.told_apart[0])
    right = tuple(line.cells for line in sheets_module.key_lines(sheet))
    assert tuple(line.cells for line in working.lines) != right


def test_a_set_has_no_two_sheets_alike_and_every_number_finds_its_sheet() -> None:
    sheets = draw_sheets(QuizRequest("softmax", 1, seed=7), 31)
    assert [sheet.request.variant for sheet in sheets] == list(range(1, 32))
    assert len({json.dumps(sheet.problem["scores"]) for sheet in sheets}) == 31
    for sheet in sheets:
        again = sheet_of_number(sheet.number)
        assert (again.problem, again.blanks, again.told_apart) == (sheet.problem, sheet.blanks, sheet.told_apart)


def test_the_main_wrong_rules_are_told_apart_and_named_with_their_line() -> None:
    sheet = draw_sheet(QuizRequest("masked-self-attention", 2, seed=3))
    rules = {rule.misconception: rule for rule in sheet.told_apart}
    expected = {"no scaling", "divided by d_k", "softmax down the columns", "base 2", "AᵀV instead of AV"}
    assert set(rules) >= expected
    assert expected <= MAIN_RULES
    assert (rules["no scaling"].symbol, rules["no scaling"].where) == ("S′", "self_attention")
    assert rules["no scaling"].num_cells >= 2


def test_difficulty_1_asks_for_one_line_and_the_others_for_all() -> None:
    assert len(draw_sheet(QuizRequest("self-attention", 1)).asked_steps) == 1
    assert [step.matrix.symbol for step in draw_sheet(QuizRequest("self-attention", 2)).asked_steps] == [
        *("Q", "K", "V", "S", "S′", "A", "Z"),
    ]


def test_a_scheme_has_the_lines_with_blanks() -> None:
    sheet = draw_sheet(QuizRequest("self-attention", 2, blanks="hard"))
    scheme = quiz_scheme(sheet)
    assert list(scheme["lines"]) == ["self_attention:A", "self_attention:Z"]
    assert scheme["only_these"] is True
    assert scheme["problem"] == sheet.problem


def test_more_sheets_than_there_are_different_ones_get_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.quiz.draw.MAX_DRAWS", 40)
    with pytest.raises(QuizError, match=r"400 different sheets of softmax, difficulty 1, are not possible .* too few"):
        draw_sheets(QuizRequest("softmax", 1), 400)


@pytest.mark.parametrize("count", [0, -3, 1000])
def test_an_impossible_count_gets_one_sentence(count: int) -> None:
    with pytest.raises(QuizError, match=rf"count = {count} is not possible. Give an integer from 1 to 999"):
        draw_sheets(QuizRequest("softmax", 2), count)


def test_a_rounding_that_cannot_tell_rules_apart_gets_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.quiz.draw.MAX_DRAWS", 3)
    monkeypatch.setattr("clearhead.quiz.draw.untidy_reason", lambda sheet: "A is saturated")
    with pytest.raises(QuizError, match=r"no sheet of softmax, difficulty 1, meets the conditions .*A is saturated\)"):
        draw_sheet(QuizRequest("softmax", 1))


def test_the_decimals_of_a_request_are_those_of_the_sheet() -> None:
    sheet = draw_sheet(QuizRequest("softmax", 2, decimals=4))
    assert sheet.worksheet.rounding.shown_decimals == 4
    assert "2a4" in sheet.number
    assert sheet_of_number(sheet.number).problem == sheet.problem


def test_a_sheet_speaks_of_one_step_only_if_one_line_has_blanks() -> None:
    sheets = [draw_sheet(QuizRequest("self-attention", 1, seed=7, variant=number)) for number in range(1, 24)]
    tasks = {len(sheet.asked_steps) == 1: sheet.instructions[0] for sheet in sheets}
    assert tasks == {
        True: "Fill in the blank cells of one step; use the other lines as they are printed.",
        False: "Fill in the blank cells; use the other lines as they are printed.",
    }

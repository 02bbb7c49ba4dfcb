"""Practice sheets over HTTP: drawn, marked by the real marker, and without answers that nobody has requested."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from clearhead.quiz.draw import draw_sheet, quiz_kinds
from clearhead.quiz.page import to_page
from clearhead.quiz.request import QuizRequest
from clearhead.serve.exercise_api import QuizDrawRequest, QuizMarkRequest
from clearhead.serve.quiz_worker import draw
from tests.unit.serve.small_app import served

HARD = QuizRequest("self-attention", 2, 7, 1, "hard")


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with served() as client:
        yield client


@pytest.fixture(scope="module")
def sheet(client: TestClient) -> dict[str, Any]:
    request = {"kind": "self-attention", "difficulty": 2, "seed": 7, "blanks": "hard", "with_solution": True}
    return dict(client.post("/v1/quiz", json=request).json())


def post(client: TestClient, lines: dict[str, Any], number: str, **others: Any) -> Any:
    return client.post("/v1/quiz/mark", json={"number": number, "lines": lines, **others})


def test_every_kind_of_sheet_is_listed(client: TestClient) -> None:
    answer = client.get("/v1/quiz").json()
    assert [kind["name"] for kind in answer["kinds"]] == list(quiz_kinds())
    assert answer["difficulties"] == [1, 2, 3]
    assert all(kind["title"].endswith(".") for kind in answer["kinds"])


def test_a_sheet_is_that_of_the_library_and_the_same_again_by_its_number(
    client: TestClient, sheet: dict[str, Any]
) -> None:
    expected = draw_sheet(HARD)
    assert sheet["number"] == expected.number
    assert sheet["instructions"] == list(expected.instructions)
    assert [given["symbol"] for given in sheet["givens"]] == ["X", "W_Q", "W_K", "W_V"]
    blanks = {line["symbol"]: sum(cell is None for row in line["cells"] for cell in row) for line in sheet["lines"]}
    assert {symbol for symbol, number in blanks.items() if number} == {"A", "Z"}
    again = client.post("/v1/quiz", json={"number": expected.number.upper(), "with_solution": True}).json()
    assert again == sheet


def test_no_answer_is_sent_before_it_is_requested(client: TestClient, sheet: dict[str, Any]) -> None:
    plain = client.post("/v1/quiz", json={"number": sheet["number"]})
    answers = {cell for name in sheet["solution"] for row in sheet["solution"][name] for cell in row}
    printed = {cell for line in [*sheet["lines"], *sheet["givens"]] for row in line["cells"] for cell in row}
    secret = answers - printed
    assert len(secret) > 10
    assert "solution" not in plain.json()
    assert [cell for cell in secret if cell in plain.text] == []
    wrong = {name: [["7.77" for _ in row] for row in rows] for name, rows in sheet["solution"].items()}
    marks = post(client, wrong, sheet["number"])
    assert marks.json()["has_error"] is True
    assert [cell for cell in secret if f'"{cell}"' in marks.text or f" {cell}" in marks.text] == []
    assert {"solution", "report"}.isdisjoint(marks.json())


def test_the_page_that_marks_itself_is_that_of_the_library(client: TestClient, sheet: dict[str, Any]) -> None:
    answer = client.post("/v1/quiz", json={"number": sheet["number"], "with_page": True}).json()
    assert answer["page"] == to_page(draw_sheet(HARD))
    assert "page" not in sheet


def test_the_solution_is_right_and_the_report_comes_with_it(client: TestClient, sheet: dict[str, Any]) -> None:
    answer = post(client, sheet["solution"], sheet["number"], with_solution=True).json()
    assert (answer["is_right"], answer["errors"]) == (True, [])
    assert answer["marks"] == {"earned": 4.0, "out_of": 4.0}
    assert answer["solution"] == sheet["solution"]
    assert answer["report"].startswith("<!DOCTYPE html>")


def test_an_error_is_carried_forward_and_named_with_a_hint(client: TestClient, sheet: dict[str, Any]) -> None:
    weights, output = sheet["solution"]
    scores = next(line["cells"] for line in sheet["lines"] if line["symbol"] == "S′")
    values = next(line["cells"] for line in sheet["lines"] if line["symbol"] == "V")
    two = [[2.0 ** float(cell) for cell in row] for row in scores]  # base 2 instead of e
    shares = [[f"{cell / sum(row):.3f}" for cell in row] for row in two]
    mixed = [
        [f"{sum(float(a) * float(row[j]) for a, row in zip(line, values, strict=True)):.3f}" for j in range(2)]
        for line in shares
    ]
    answer = post(client, {weights: shares, output: mixed}, sheet["number"]).json()
    (error,) = answer["errors"]
    assert (error["line"], error["verdict"], error["name"]) == (weights, "misconception", "base 2")
    assert error["hint"]
    verdicts = {line["name"]: {cell["verdict"] for cell in line["cells"]} for line in answer["lines"]}
    assert verdicts[output] == {"carried forward"}
    assert (answer["is_right"], answer["has_error"]) == (False, True)


def test_half_a_sheet_is_right_so_far(client: TestClient, sheet: dict[str, Any]) -> None:
    weights, output = sheet["solution"]
    first = [[cell if i == 0 else "" for cell in row] for i, row in enumerate(sheet["solution"][weights])]
    answer = post(client, {weights: first, output: [["", ""]] * 3}, sheet["number"]).json()
    assert (answer["has_error"], answer["is_right"]) == (False, False)
    assert [line["name"] for line in answer["lines"]] == [weights]


def test_a_sheet_that_tells_a_rule_apart_is_chosen(client: TestClient) -> None:
    request = {"kind": "self-attention", "difficulty": 1, "seed": 5, "tells_apart": "no scaling"}
    assert "no scaling" in client.post("/v1/quiz", json=request).json()["tells_apart"]
    request["tells_apart"] = "no such rule"
    first = client.post("/v1/quiz", json={**request, "tells_apart": None}).json()
    assert client.post("/v1/quiz", json=request).json() == first, "else the first sheet"


@pytest.mark.parametrize(
    ("request_body", "sentence"),
    [
        ({"kind": "self-atention"}, "'self-atention' is not a kind of exercise. Did you mean 'self-attention'?"),
        ({}, "kind is missing, and so is number. Kinds: "),
        ({"kind": "softmax", "number": "softmax-1-0-01-v1-A"}, "number and kind are both given"),
        ({"number": "softmax"}, "'softmax' is not the number of a sheet."),
        ({"number": "trace-1-2-3"}, "is the number of a sheet from a trace"),
        ({"kind": "softmax", "difficulty": 4}, "difficulty = 4 is not a whole number from 1 to 3"),
        ({"kind": "softmax", "seed": -1}, "seed = -1 is not"),
        ({"kind": "softmax", "students": 3}, "students is not a field. Fields: number, kind"),
    ],
)
def test_a_sheet_that_cannot_be_drawn_is_one_sentence(
    client: TestClient, request_body: dict[str, Any], sentence: str
) -> None:
    answer = client.post("/v1/quiz", json=request_body)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ({}, "lines contains no number, so there is nothing to mark. Fill in a cell."),
        ({"Q": [["1"]]}, "lines: 'Q' is not a line to fill in on this sheet."),
        ({"self_attention:A": [["1", "2"]]}, "lines: 'self_attention:A' is 3 × 3 on this sheet. Send every row"),
        ({"self_attention:A": [["1" * 101] * 3] * 3}, "lines: 'self_attention:A' has a cell with more than 100 char"),
        ([["1"]], "is not an object (lines: the cells of every line as text"),
    ],
)
def test_lines_that_cannot_be_marked_are_one_sentence(
    client: TestClient, sheet: dict[str, Any], lines: Any, sentence: str
) -> None:
    answer = post(client, lines, sheet["number"])
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]


def test_a_cell_that_cannot_be_read_is_neither_right_nor_an_error(client: TestClient, sheet: dict[str, Any]) -> None:
    _, output = sheet["solution"]
    answer = post(client, {output: [["a", ""], ["", ""], ["", ""]]}, sheet["number"]).json()
    assert [cell["verdict"] for line in answer["lines"] for cell in line["cells"]] == ["cannot read"]
    assert (answer["is_right"], answer["has_error"]) == (False, False)


def test_a_working_with_a_number_can_be_sent_to_check(client: TestClient, sheet: dict[str, Any]) -> None:
    working = {"sheet": sheet["number"], "written": sheet["solution"]}
    answer = client.post("/v1/check", json={"working": json.dumps(working), "format": "json"})
    assert answer.json()["is_right"] is True
    assert answer.json()["result"]["sheet"] == sheet["number"]


def test_requests_are_settings_with_descriptions() -> None:
    for settings in (QuizDrawRequest, QuizMarkRequest):
        assert all(field.description for field in settings.model_fields.values())
    assert json.loads(draw({**QuizDrawRequest().model_dump(), "kind": "softmax"}))["kind"] == "softmax"

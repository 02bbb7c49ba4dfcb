"""Exercises over HTTP: the results of the command line, no files of the server, and limits."""

import base64
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from openpyxl import Workbook

from clearhead.serve import exercise_kinds
from clearhead.serve.exercise_api import make_router
from clearhead.serve.exercise_worker import make_handler
from clearhead.serve.server import Server
from clearhead.serve.settings import ServeSettings
from clearhead.serve.worker_process import WorkerLimits
from clearhead.worksheet.kinds import KINDS
from tests.command import run
from tests.unit.serve.small_app import child_pids, served, served_routes

EXAMPLES = Path(__file__).parents[3] / "examples"
SOFTMAX = "kind: softmax\nscores: [1, 2]\n"
RIGHT = "problem: {kind: softmax, scores: [1, 2]}\nwritten: {weights: [0.27, 0.73]}\n"
WRONG = "problem: {kind: softmax, scores: [1, 2]}\nwritten: {weights: [0.37, 0.63]}\n"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with served() as client:
        yield client


def test_every_kind_has_fields_and_an_example_that_is_solved(client: TestClient) -> None:
    data = client.get("/v1/exercises").json()
    assert [kind["name"] for kind in data["kinds"]] == list(KINDS)
    for kind in data["kinds"]:
        answer = client.post("/v1/solve", json={"problem": kind["example"]})
        assert answer.status_code == 200, answer.text
        assert answer.json()["result"]["kind"] == kind["name"]
        assert {field["name"] for field in kind["fields"]} >= {"title", "layout", "rounding"}
    self_attention = {field["name"]: field for field in data["kinds"][1]["fields"]}
    assert self_attention["X"]["type"] == "matrix"
    assert self_attention["b_Q"]["type"] == "vector"
    assert self_attention["tokens"]["type"] == "words"
    assert self_attention["scale"]["choices"] == ["none", "sqrt(d_k)", "sqrt(d_model)"]
    assert [field["name"] for field in self_attention["mask"]["fields"]] == ["causal", "padding", "explicit"]
    assert {entry["id"] for entry in data["gallery"]} >= {"bank", "lets-go"}
    assert all(entry["text"] for entry in (*data["gallery"], *data["workings"]))


def test_the_examples_of_the_kinds_are_those_of_the_examples_folder() -> None:
    texts = {path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.yaml")}
    assert all(kind["example"] in texts for kind in exercise_kinds.exercise_data()["kinds"])


def test_a_solved_exercise_is_the_json_of_the_command_line_to_the_last_digit(client: TestClient) -> None:
    answer = client.post("/v1/solve", json={"problem": "exam-self-attention"})
    expected = run("solve", "exam-self-attention", "--json").stdout.strip()
    assert answer.text == f'{{"format":"json","result":{expected}}}'


@pytest.mark.parametrize(("form", "option"), [("html", "html"), ("markdown", "markdown"), ("latex", "latex")])
def test_a_sheet_is_that_of_the_command_line(client: TestClient, form: str, option: str) -> None:
    request = {"problem": (EXAMPLES / "softmax.yaml").read_text(), "format": form, "detail": "products", "decimals": 2}
    path = str(EXAMPLES / "softmax.yaml")
    expected = run("solve", path, "--format", option, "--detail", "products", "--decimals", "2").stdout
    assert client.post("/v1/solve", json=request).json() == {"format": form, "result": expected}


def test_a_problem_can_be_data_or_json_text(client: TestClient) -> None:
    as_text, as_data, as_json = (
        client.post("/v1/solve", json={"problem": problem}).json()
        for problem in (SOFTMAX, {"kind": "softmax", "scores": [1, 2]}, '{"kind": "softmax", "scores": [1, 2]}')
    )
    assert as_text == as_data == as_json
    answer = client.post("/v1/solve", json={"problem": SOFTMAX, "with_problem": True}).json()
    assert answer == {**as_text, "problem": {"kind": "softmax", "scores": [1, 2]}}


def test_a_marked_working_is_the_report_of_the_command_line(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "working.yaml").write_text(WRONG)
    answer = client.post("/v1/check", json={"working": WRONG})
    expected = run("check", "working.yaml", "--json", cwd=tmp_path)
    assert expected.returncode == 1
    assert answer.json() == {"format": "json", "result": json.loads(expected.stdout), "is_right": False}
    page = client.post("/v1/check", json={"working": WRONG, "result_format": "html"}).json()
    assert page["result"] == run("check", "working.yaml", "--format", "html", cwd=tmp_path).stdout
    assert client.post("/v1/check", json={"working": RIGHT}).json()["is_right"] is True


def test_a_working_can_be_a_table_a_page_or_a_spreadsheet(client: TestClient) -> None:
    problem = {"kind": "softmax", "scores": [1, 2]}
    book = Workbook()
    assert book.active is not None
    for row in (["weights", 0.27, 0.73],):
        book.active.append(row)
    content = io.BytesIO()
    book.save(content)
    workings = {
        "csv": "weights,0.27,0.73\n",
        "md": "A = [[0.27, 0.73]]\n",
        "tex": "$A = \\begin{bmatrix} 0.27 & 0.73 \\end{bmatrix}$\n",
        "xlsx": base64.b64encode(content.getvalue()).decode(),
    }
    for form, working in workings.items():
        request = {"working": working, "format": form, "problem": problem}
        answer = client.post("/v1/check", json=request)
        assert answer.status_code == 200, (form, answer.text)
        assert answer.json()["is_right"] is True, form


@pytest.mark.parametrize("name", ["/etc/passwd", "../../etc/passwd", "examples/softmax.yaml", "softmax.yaml", "."])
def test_neither_a_problem_nor_a_working_can_name_a_file_of_the_server(client: TestClient, name: str) -> None:
    solved = client.post("/v1/solve", json={"problem": name})
    assert solved.status_code == 400
    assert solved.json()["error"].endswith("Files of the server cannot be named.")
    for request in (
        {"working": f"problem: {name}\nwritten: {{A: [[1]]}}\n"},
        {"working": f"problem,{name}\nA,1\n", "format": "csv"},
        {"working": "written: {A: [[1]]}\n", "problem": name},
    ):
        marked = client.post("/v1/check", json=request)
        assert marked.status_code == 400
        assert "exercise of the gallery" in marked.json()["error"]
        assert "root:" not in marked.text


def test_a_working_that_names_a_file_beside_the_server_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(SOFTMAX)
    handle = make_handler({"seconds": 10, "memory": 2**42})
    request = {"call": "check", "working": f"problem: {tmp_path / 'secret.yaml'}\nwritten: {{A: [1]}}\n"}
    with pytest.raises(Exception, match="a working that is not a file cannot name one"):
        handle({**request, "format": "yaml", "problem": None, "result_format": "json", "strict_rounding": False})


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ("kind: softmax\nscores: !!python/object/apply:os.system [id]\n", "problem: line 2: this cannot be read"),
        ("kind: softmax\nscores: !!python/name:os.system\n", "problem: line 2: this cannot be read"),
        ("kind: softmax\nscores: [[[[1]]]]\n", "scores"),
        ("a: &a [1, 1, 1, 1]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(3)), "kind is missing."),
        ("kind: [", "is not YAML"),
        ("", "is empty."),
        ("x" * 1000, "not an exercise"),
        ("[" * 3000, "nested"),
    ],
)
def test_a_wrong_problem_is_answered_by_a_sentence(client: TestClient, problem: str, sentence: str) -> None:
    answer = client.post("/v1/solve", json={"problem": problem})
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]


def test_aliases_that_expand_to_billions_of_values_are_refused(client: TestClient) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    answer = client.post("/v1/solve", json={"problem": "\n".join([*lines, "kind: softmax", "scores: *a11"])})
    assert answer.status_code == 400
    assert "aliases expand to more than" in answer.json()["error"]


def test_a_body_that_is_wrong_is_answered_by_a_sentence(client: TestClient) -> None:
    unknown = client.post("/v1/solve", json={"problem": SOFTMAX, "detial": "products"})
    assert unknown.json() == {"error": "detial is not a field. Did you mean 'detail'?"}
    wrong = client.post("/v1/check", json={"working": RIGHT, "format": "docx"})
    assert wrong.json()["error"].startswith("format = 'docx' is not a choice.")
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    nested = client.post("/v1/solve", json={"problem": {"kind": "softmax", "scores": deep}})
    assert nested.json() == {"error": "the request is nested too deeply. Send a simpler one."}
    sheet = client.post("/v1/check", json={"working": "no base64!", "format": "xlsx"})
    assert sheet.json() == {"error": "working is not base64, in which a spreadsheet is sent."}
    blank = client.post("/v1/solve", json={"problem": SOFTMAX, "blank": ["A"]})
    assert "cells cannot be left blank in JSON" in blank.json()["error"]
    assert {answer.status_code for answer in (unknown, wrong, nested, sheet, blank)} == {400}


def test_script_in_titles_and_names_is_shown_as_text(client: TestClient) -> None:
    script = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    problem = {"kind": "softmax", "title": script, "tokens": [script, "b"], "scores": [1, 2]}
    sheet = client.post("/v1/solve", json={"problem": problem, "format": "html"}).json()["result"]
    assert "&lt;script&gt;alert(1)" in sheet
    assert "<script>alert" not in sheet
    assert "<img" not in sheet
    working = json.dumps({"student": script, "title": script, "problem": problem, "written": {"A": [[0.27, script]]}})
    report = client.post("/v1/check", json={"working": working, "format": "json", "result_format": "html"}).json()
    assert "<script>alert" not in report["result"]
    assert "<img" not in report["result"]


def test_an_exercise_that_takes_too_long_is_ended_and_the_next_one_is_solved() -> None:
    server = Server(ServeSettings(has_pages=False))
    router = make_router(server, WorkerLimits(time_limit=0.3, max_waiting=5))
    width = 250
    rows = ", ".join(f"&r{n} [{', '.join(['0.123456789'] * width)}]" if n == 0 else "*r0" for n in range(width))
    large = f"kind: self-attention\nX: &x [{rows}]\nW_Q: *x\nW_K: *x\nW_V: *x\n"
    with served_routes(server, router) as client:
        late = client.post("/v1/solve", json={"problem": large, "format": "html", "detail": "products"})
        assert late.status_code == 504
        assert late.json() == {"error": "the exercise took longer than the limit of 0.3 s. Send less."}
        assert client.post("/v1/solve", json={"problem": SOFTMAX}).status_code == 200


def test_a_result_that_is_too_large_is_refused(client: TestClient) -> None:
    row = ", ".join(["0.1"] * 1000)
    rows = f"[&r [{row}], " + ", ".join(["*r"] * 1000) + "]"
    parts = "\n".join(["  - {kind: softmax, scores: *x}"] * 3)
    answer = client.post("/v1/solve", json={"problem": f"parts:\n  - {{kind: softmax, scores: &x {rows}}}\n{parts}\n"})
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("the result has 38 MiB, and the limit is 16.")


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="reads the limits of a process from /proc")
def test_a_process_that_solves_has_a_limit_of_memory(client: TestClient) -> None:
    client.post("/v1/solve", json={"problem": SOFTMAX})
    workers = child_pids("exercise")
    assert workers
    for worker in workers:
        limits = Path(f"/proc/{worker}/limits").read_text()
        assert re.search(rf"Max address space +{3 * 2**30} ", limits)

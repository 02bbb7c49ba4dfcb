"""The limits of a working: what exceeds them is refused in a sentence before the work is done, and the page states them."""

import contextlib
import csv
import io
import json
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from clearhead.check import check, classroom, limits
from clearhead.check.classroom import grades_csv, mark_class
from clearhead.check.marks import Scheme
from clearhead.check.report_writer import ReportWriter
from clearhead.check.scheme_file import load_scheme
from clearhead.check.time_limit import DEFAULT_SECONDS, TimeUpError, time_limit
from clearhead.errors import ProblemError
from clearhead.worksheet import cells, load_problem, pen, reading
from clearhead.worksheet.kinds import parts
from clearhead.worksheet.solver import solve
from tests.command import run
from tests.unit.check.test_render import terminal

GUIDE = Path(__file__).parents[3] / "docs" / "guide"
UNIT = [[1, 0], [0, 1]]
SELF = (
    "kind: self-attention\nX: [[1, 0], [0, 1]]\nW_Q: [[1, 2], [3, 1]]\nW_K: [[1, 0], [0, 1]]\nW_V: [[1, 2], [3, 4]]\n"
)
Q = "written: {Q: [[1, 2], [3, 1]]}\n"
SECONDS = 20.0  # far more than a refusal takes on a slow machine, far less than the work that is refused


def matrix(height, width):
    row = ", ".join(["0.5"] * width)
    return "[" + ", ".join([f"[{row}]"] * height) + "]"


TOO_MUCH = {
    "a matrix of 400 × 400": ("w.yaml", f"{SELF}written:\n  scores: {matrix(400, 400)}\n", "more than 100,000 values"),
    "a matrix of 101 × 100": ("w.yaml", f"{SELF}written:\n  scores: {matrix(101, 100)}\n", "more than 10,000 cells"),
    "keys": ("w.yaml", SELF + "".join(f"k{i}: 1\n" for i in range(50_000)) + Q, "more than 1,000 keys"),
    "keys in JSON": ("w.json", "{" + ", ".join(f'"k{i}": 1' for i in range(9_000)) + "}", "more than 1,000 keys"),
    "keys in braces": ("w.yaml", "{" + ", ".join(f"k{i}: 1" for i in range(150_000)) + "}", "more than 100,000 values"),
    "lines": ("w.yaml", SELF + "written:\n" + "".join(f"  q{i}: 1\n" for i in range(3_000)), "more than 1,000 lines"),
    "a name of a token": ("w.yaml", f"{SELF}tokens: [a, {'t' * 10**6}]\n{Q}", "tokens: name 2: .* has 1,000,000 characters"),
    "a title of the exercise": ("w.yaml", f"problem: {{title: {'t' * 10**6}, kind: x}}\n{Q}", "kind = 'x' is not a kind"),
    "a kind": ("w.yaml", f"problem: {{kind: {'t' * 10**6}}}\n{Q}", "is not a kind of exercise"),
    "a scale": ("w.yaml", f"{SELF}scale: {'t' * 10**6}\n{Q}", r"scale: 't{46}… is not a scale"),
    "a key": ("w.yaml", f"{SELF}? {'k' * 10**6}\n: 1\n{Q}", "is not a key of self-attention"),
    "rounded names": ("w.yaml", f"{SELF}rounded: [{'a, ' * 200_000}b]\n{Q}", "more than 100,000 values"),
    "bytes": ("w.yaml", SELF + "#" * 5 * 2**20, "has 5 MiB; the limit is 4 MiB"),
    "bytes of a table": ("w.csv", "Q,1\n" + " " * 5 * 2**20, "has 5 MiB; the limit is 4 MiB"),
    "cells of a table": ("w.csv", "problem,bank\n" + "Q,1,2,3\n" * 80_000, "more than 50,000 cells"),
    "characters": ("w.md", "a\n" * 600_000, "has 1,200,000 characters; the limit is 1,048,576"),
    "a long line": ("w.md", "Q = " + "1 2 " * 30_000, "line 1 has 120,004 characters; the limit is 100,000"),
    "an exercise of 300 tokens": (
        "w.yaml", f"kind: self-attention\nX: {matrix(300, 1)}\nW_Q: [[1]]\nW_K: [[1]]\nW_V: [[1]]\nwritten: {{Q: 1}}\n",
        "at most 2,000 steps with 200,000 numbers",
    ),
    "parts of a matrix": (
        "w.yaml", f"kind: self-attention\nX: {matrix(200, 1)}\nW_Q: [[1]]\nW_K: [[1]]\nW_V: [[1]]\nwritten:\n"
        + "".join(f"  'S[{i + 1}, 1]': 0.25\n" for i in range(50)),
        "parts of matrices with more than 1,048,576 numbers",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "sentence"), TOO_MUCH.values(), ids=TOO_MUCH)
def test_too_much_is_refused_in_a_sentence(tmp_path, name, content, sentence):
    (tmp_path / name).write_text(content)
    with time_limit(SECONDS), pytest.raises(ProblemError, match=sentence) as error:
        check(tmp_path / name)
    assert len(str(error.value)) < 20_000, "the message does not repeat the input"


PROBLEMS = {
    "keys": (SELF + "".join(f"k{i}: 1\n" for i in range(50_000)), "more than 1,000 keys"),
    "parts": ("parts: [" + "{kind: positions}, " * 2_000 + "]", "parts has 2,000 exercises; the limit is 1,000"),
    "a title": (f"{SELF}title: {'t' * 10**6}\n", "title: .* has 1,000,000 characters; the limit is 1,000"),
    "missing words": (
        "kind: self-attention\nembedding:\n" + "".join(f"  w{i}: [1, 2]\n" for i in range(9_000))
        + "tokens: [" + "vv, " * 3_000 + "v]\nW_Q: [[1, 2], [3, 1]]\nW_K: [[1, 0], [0, 1]]\nW_V: [[1, 2], [3, 4]]\n",
        "'vv' has no vector in embedding",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "sentence"), PROBLEMS.values(), ids=PROBLEMS)
def test_too_large_a_problem_is_refused_in_a_sentence(tmp_path, content, sentence):
    (tmp_path / "p.yaml").write_text(content)
    with time_limit(SECONDS), pytest.raises(ProblemError, match=sentence) as error:
        load_problem(tmp_path / "p.yaml")
    assert len(str(error.value)) < 20_000


def test_parts_that_share_a_large_matrix_are_limited_in_all(monkeypatch):
    monkeypatch.setattr(pen, "MAX_SHEET", 500)
    part = {"kind": "self-attention", "X": UNIT, "W_Q": UNIT, "W_K": UNIT, "W_V": UNIT}
    assert solve({"parts": [part] * 10}).trace
    with pytest.raises(ProblemError, match="more than 500 numbers in all, the limit of a worksheet"):
        solve({"parts": [part] * 40})


def test_a_scheme_has_limits(tmp_path):
    path = tmp_path / "scheme.yaml"
    path.write_text("lines:\n" + "".join(f"  l{i}: {{M: 1}}\n" for i in range(1_001)))
    with pytest.raises(ProblemError, match="lines has 1,001 names; the limit is 1,000"):
        load_scheme(path)
    path.write_bytes(b"#" * (limits.MAX_SCHEME_BYTES + 1))
    with pytest.raises(
        ProblemError, match="has 256 KiB; the limit is 256 KiB. A scheme names the lines of one exercise"
    ):
        load_scheme(path)


def test_the_cells_of_a_line_are_described_once_and_not_for_every_error(monkeypatch):
    described = []
    describe = ReportWriter._cells
    monkeypatch.setattr(ReportWriter, "_cells", lambda self, judged: described.append(judged) or describe(self, judged))
    tokens = [[i, -i] for i in range(6)]
    problem = {
        "kind": "self-attention",
        "X": tokens,
        "W_Q": UNIT,
        "W_K": UNIT,
        "W_V": UNIT,
        "scale": "none",
        "layout": "rows",
    }
    wrong = [[f"{value}.0" if number % 3 else f"-{value + 10}.0" for number, value in enumerate(row)] for row in tokens]
    (report,) = check({"problem": problem, "written": {"Q": wrong, "K": [[row[0] + 3, row[1]] for row in tokens]}})
    assert len(report.findings) > 2
    assert len(described) == len(report.lines) == 2


def test_a_long_report_in_a_terminal_shows_the_lines_with_errors(monkeypatch):
    monkeypatch.setattr("clearhead.check.render.terminal._MAX_LINES", 2)
    problem = {
        "kind": "self-attention",
        "X": UNIT,
        "W_Q": [[1, 2], [3, 1]],
        "W_K": UNIT,
        "W_V": [[1, 2], [3, 4]],
        "scale": "none",
    }
    right = {"Q": [[1, 2], [3, 1]], "K": UNIT, "V": [[1, 2], [3, 4]]}
    (report,) = check({"problem": problem, "written": right})
    assert "\n3 lines without errors are not shown; the JSON report contains all of them.\n" in terminal(report)
    (report,) = check({"problem": problem, "written": {**right, "K": [[1, 0], [0, 7]]}})
    text = terminal(report)
    assert "\n2 lines without errors are not shown" in text
    assert "  K = X W_K " in text
    assert "  Q = X W_Q " not in text


def test_the_pages_state_the_limits():
    rows = dict(
        re.findall(r"^\| ([^|]+?) \| ([0-9][^|]*?) \|$", (GUIDE / "check.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert (
        rows
        | {
            "a worksheet or a trace in JSON": f"{reading.MAX_BYTES // 2**20} MiB",
            "any other file": f"{limits.MAX_WORKING_BYTES // 2**20} MiB",
            "values in a YAML or JSON file": f"{limits.MAX_VALUES:,}",
            "lines": f"{limits.MAX_WRITTEN_LINES:,}",
            "numbers in all lines": f"{limits.MAX_WRITTEN_CELLS:,}",
            "cells of a table": f"{limits.MAX_TABLE_CELLS:,}",
            "a spreadsheet, unpacked": f"{limits.MAX_UNPACKED_BYTES // 2**20} MiB",
            "characters of a document": f"{limits.MAX_DOCUMENT:,}",
            "characters of a line of a document": f"{limits.MAX_DOCUMENT_LINE:,}",
            "lines and statements of a document": f"{limits.MAX_DOCUMENT_ITEMS:,}",
            "steps of the exercise": f"{limits.MAX_SHEET_STEPS:,}",
            "numbers of the exercise, given and calculated": f"{limits.MAX_SHEET_CELLS:,}",
            "a scheme": f"{limits.MAX_SCHEME_BYTES // 2**10} KiB",
            "lines of a scheme": f"{limits.MAX_SCHEME_LINES:,}",
        }
        == rows
    )
    rows = dict(
        re.findall(r"^\| ([^|]+?) \| ([0-9][^|]*?) \|$", (GUIDE / "solve.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert (
        rows
        | {
            "a problem file": f"{reading.MAX_BYTES // 2**20} MiB",
            "values in a YAML file": f"{reading.MAX_YAML_VALUES:,}",
            "keys at the first level": f"{reading.MAX_KEYS:,}",
            "parts": f"{parts.MAX_PARTS:,}",
            "numbers of a given matrix": f"{cells.MAX_CELLS:,}",
            "characters of a title or a name": f"{cells.MAX_TEXT:,}",
            "numbers of a step": f"{pen.MAX_LINE:,}",
            "numbers of all steps": f"{pen.MAX_SHEET:,}",
        }
        == rows
    )


# ---- The time limit of a file: it interrupts work, restores the timer, and one slow file does not hold up a class ----

WORKING = "problem: exam-self-attention\nwritten: {Q: [[0.5, 1.7, 1.49], [1, 3.05, 2.65], [1.4, 3.01, 1.4]]}\n"


def work_for(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))


def test_work_is_interrupted_and_the_handler_is_restored():
    old = signal.getsignal(signal.SIGALRM)
    start = time.monotonic()
    with pytest.raises(TimeUpError), time_limit(0.05):
        work_for(5)
    assert time.monotonic() - start < 2
    assert signal.getsignal(signal.SIGALRM) is old
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def work_twice():
    with contextlib.suppress(TimeUpError):
        work_for(5)
    work_for(5)


def test_an_exception_that_is_discarded_is_raised_again(monkeypatch):
    monkeypatch.setattr("clearhead.check.time_limit._REPEAT", 0.05)
    with pytest.raises(TimeUpError), time_limit(0.05):
        work_twice()


def test_a_timer_that_was_running_goes_on():
    signal.setitimer(signal.ITIMER_REAL, 50)
    try:
        with time_limit(1):
            pass
        assert 40 < signal.getitimer(signal.ITIMER_REAL)[0] <= 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_there_is_no_limit_without_one_and_in_another_thread():
    done = []

    def work():
        with time_limit(0.01):
            work_for(0.05)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with time_limit(None):
        done.append(True)
    assert done == [True, True]


@pytest.fixture
def slow_class(tmp_path, monkeypatch):
    """Three workings, of which the second takes five seconds."""
    for name in ("a.yaml", "b.yaml", "c.yaml"):
        (tmp_path / name).write_text(WORKING)
    load = classroom.load_workings

    def slowly(path, problem, *others, **options):
        if path.name == "b.yaml":
            work_for(5)
        return load(path, problem, *others, **options)

    monkeypatch.setattr(classroom, "load_workings", slowly)
    return tmp_path


def test_one_slow_file_of_a_class_does_not_hold_up_the_others(slow_class):
    start = time.monotonic()
    marked = mark_class(slow_class, Scheme(), max_seconds=0.2)
    assert time.monotonic() - start < 4
    assert [bool(result.reports) for result in marked.results] == [True, False, True]
    assert marked.results[1].remark == "not checked: took longer than 0.2 s"
    assert marked.exit_code == 2, "the same code as for a file that cannot be read"
    rows = list(csv.DictReader(io.StringIO(grades_csv(marked))))
    assert [row["marks"] for row in rows] == ["2", "", "2"]
    assert [row["cannot be used"] for row in rows] == ["", "not checked: took longer than 0.2 s", ""]


def test_the_command_reports_a_slow_file(slow_class, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    done = run("check", str(slow_class), "--csv", str(out / "grades.csv"), "--time-limit", "0.2", "--json")
    assert done.returncode == 2
    late = "not checked: took longer than 0.2 s"
    assert re.search(f"^b +— +— +{late}$", done.stdout.replace(" \n", "\n"), re.MULTILINE)
    assert late in (out / "grades.csv").read_text()
    reports = {path.name: json.loads(path.read_bytes()) for path in (out / "reports").iterdir()}
    assert sorted(reports) == ["a.yaml.json", "b.yaml.json", "c.yaml.json"]
    assert reports["b.yaml.json"] == {"clearhead_report": 1, "student": "b", "cannot_be_used": late}


def test_a_single_working_has_the_same_limit(tmp_path, monkeypatch):
    (tmp_path / "a.yaml").write_text(WORKING)
    monkeypatch.setattr("clearhead.check.mark_all", lambda *_: work_for(5))
    with pytest.raises(
        ProblemError, match=r"a\.yaml: not checked: took longer than 0\.05 s\. Give fewer lines, or more"
    ) as error:
        check(tmp_path / "a.yaml", max_seconds=0.05)
    assert error.value.options == ("time_limit",)


def test_the_help_states_the_default():
    assert f"[default: {DEFAULT_SECONDS:g}]" in run("check", "--help").stdout

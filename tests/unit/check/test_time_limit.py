"""The time limit of a file: it interrupts work, restores the timer, and one slow file does not hold up a class."""

import contextlib
import csv
import io
import json
import re
import signal
import threading
import time

import pytest

from clearhead.check import check, classroom
from clearhead.check.classroom import grades_csv, mark_class
from clearhead.check.marks import Scheme
from clearhead.check.time_limit import DEFAULT_SECONDS, TimeUpError, time_limit
from clearhead.errors import ProblemError
from tests.command import run

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

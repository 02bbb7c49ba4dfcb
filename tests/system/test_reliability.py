"""Nothing is lost and nothing damaged is used: the short form of benchmarks/reliability.py, and tests of the attacks themselves."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from tests.attacks import flips, kills
from tests.attacks.child import in_child
from tests.attacks.faults import FileOperations
from tests.attacks.flips import Target
from tests.attacks.jobs import JOBS, Job, file_view
from tests.attacks.mutations import KINDS

ROOT = Path(__file__).parents[2]
# Python 3.12 warns of a fork in a process with threads; these children only write files.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the attacks read /proc to find out which file is written")
def test_no_attack_loses_something_or_has_an_effect_without_a_word(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="its conversions are attacked too: pip install '.[translate]'")
    script, found = ROOT / "benchmarks/reliability.py", tmp_path / "cases.json"
    counts = ("--kills", "3", "--flips", "1", "--files", "2", "--mutations", "5", "--seed", "17")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(script), *counts, "--json", str(found)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
    cases = Counter(case["attack"].partition(":")[0] for case in json.loads(found.read_text()))
    names = [*(job.name for job in JOBS), *(target.name for target in flips.TARGETS)]
    names += [f"mutated {kind.name}" for kind in KINDS]
    assert {name for name in names if not cases[name]} == set(), "attacks that did not take place"


# The attacks find what they look for


def write_in_place(folder: Path) -> None:
    with (folder / "out.txt").open("w") as file:
        file.write("new " * 5000)


def write_unflushed(folder: Path) -> None:
    (folder / "new.txt").write_text("new")
    (folder / "new.txt").replace(folder / "out.txt")


def write_old(folder: Path) -> None:
    (folder / "out.txt").write_text("old")


def writer(run: object) -> Job:
    return Job("careless", write_old, run, file_view("out.txt"), is_atomic=True)  # type: ignore[arg-type]


def test_a_file_that_is_overwritten_in_place_is_found() -> None:
    cases = list(kills.attack(writer(write_in_place), 100, 1))
    wrong = [case for case in cases if case.verdict == "wrong"]
    assert any("neither the old nor the new" in case.detail for case in wrong)


def test_a_file_that_is_renamed_before_it_is_flushed_is_found() -> None:
    first = next(kills.attack(writer(write_unflushed), 1, 1))
    assert (first.verdict, first.detail) == ("wrong", "named before it was flushed to disk: out.txt")


@pytest.mark.parametrize(("kind", "code"), [("kill", -9), ("torn", -9), ("full", 3), ("error", 3)])
def test_a_fault_happens_at_its_operation(tmp_path: Path, kind: str, code: int) -> None:
    def run() -> None:
        FileOperations(tmp_path, 2, kind).install()  # type: ignore[arg-type]
        (tmp_path / "a").write_bytes(b"12345678")  # created, written
        (tmp_path / "b").write_bytes(b"12345678")

    assert in_child(run).code == code
    assert (tmp_path / "a").read_bytes() == (b"1234" if kind == "torn" else b"")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("has_check", "verdict"), [(False, "wrong"), (True, "refused")], ids=["read blindly", "compared with its copy"]
)
def test_a_flipped_bit_that_changes_the_result_is_found(has_check: bool, verdict: str) -> None:
    def prepare(folder: Path) -> None:
        (folder / "in.txt").write_text("text")

    def use(folder: Path) -> None:
        text = (folder / "in.txt").read_bytes()
        if has_check and text != b"text":
            raise CheckpointError("in.txt is damaged.")
        (folder / "out.txt").write_bytes(text)

    target = Target("careless", prepare, ("in.txt",), use, file_view("out.txt"))
    assert [case.verdict for case in flips.attack(target, 3, 1)] == [verdict] * 3

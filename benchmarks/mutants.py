"""Do the tests notice a fault? Mutants are small faults in the code, made one at a time; a good test kills its mutant.

Record which test file executes which lines (about 40 minutes on two cores), then run the mutants. In later code, record
again, run the same mutants again and compare:

    python benchmarks/mutants.py record
    python benchmarks/mutants.py run before.json
    python benchmarks/mutants.py again before.json after.json

All work on the last commit, in copies in build/mutants; a run that was stopped is continued. Half of the 60 mutants are
in the parts that must not break (CORE), the others are spread over the rest of the package by its lines. Each runs test
files that execute its line, the nearest first, until one fails or the limits are reached. In later code a mutant is the
same function, line and kind of change, in whichever file. The phrasebook translator of the tests is trained without a
mutant, and lines that only other processes execute count as not covered. Needs the extra dev, on Linux.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from time import perf_counter

import executed_lines
from code_changes import KINDS, Change, changes_in, write_source
from executed_lines import TestMap
from mutant_tables import Mutant, Record, comparison, describe_machine, table

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "mutants"
LINES = BUILD / "lines"
PHRASEBOOK = BUILD / "runs" / "phrasebook"
PACKAGE = Path("src", "clearhead")
PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--phrasebook={PHRASEBOOK}", "-m", "not gpu")
TRAIN_PHRASEBOOK = (
    "import pathlib, types, tests.phrasebook_run as p\n"
    "p.trained_run(types.SimpleNamespace(getbasetemp=pathlib.Path.cwd))"
)
SEED = 60
AT_ONCE = 2
SECONDS = 60.0  # of the CPU, for the test files of one mutant, as recorded
NUM_FILES = 25
CPU_SECONDS, TIMES_LONGER = (
    90,
    3,
)  # a process is ended after so many seconds of the CPU, plus so often the recorded ones
STUCK = 900  # and after so many seconds on the clock
FAILED = re.compile(r"(?m)^(?:FAILED|ERROR) ([^\s\[]+(?:\[.*?\])?)(?= - |$)")  # in pytest's summary, before the message
MEMORY = 8 * 2**20  # KiB
PER_PART = 5
# Tests that take minutes, tests whose lines run in other processes, and tests of what will be deleted.
LEFT_OUT = (
    *("tests/integration/test_docs.py", "tests/integration/test_equal_quality.py", "tests/integration/test_package.py"),
    *("tests/integration/test_tour.py", "tests/system/test_bytes.py", "tests/system/test_devices.py"),
    *("tests/system/test_learns.py", "tests/system/test_reliability.py", "tests/system/test_tasks.py"),
    *("tests/unit/training/distributed/test_training.py", "tests/unit/cluster", "tests/integration/test_cluster.py"),
    *("tests/unit/data/phrasebook", "tests/unit/explain/film", "tests/integration/test_film_page.py"),
    *("tests/unit/quiz/practice", "tests/integration/test_practice_page.py", "tests/integration/test_cli_practise.py"),
    *("tests/integration/test_cli_what_if.py", "tests/unit/cli/test_film.py"),
)
# The parts that must not break, each with as many mutants, and the files of each.
CORE = {
    "steps": r"steps/",
    "judge": r"check/(?!read/)",
    "search": r"decoding/search/",
    "step": r"training/((step|objective|fused_loss|optimiser|average|schedule)|distributed/(gradients|shares))\.py",
    "resume": r"training/(state|run|run_writer|outcome)\.py",
    "files": r"files/",
}
# What will be deleted, and what only a GPU executes.
SKIPPED = re.compile(
    r"cluster/|data/phrasebook/|documents/(po|docx_code)|decoding/(search/(coverage|static_\w+)|engines/onnx_engine)|"
    r"evaluation/(comet|significance)|explain/(film/|gate_training|hard_concrete|what_if_(text|corpus))|quiz/practice/|"
    r"quiz/course/qti|serve/opennmt|cli/(what_if|practise|film|cluster_options)|(.*/)?__\w+__\.py|"
    r"training/(film|loss_kernel|distributed/(failure|supervisor|sharding|shards))"
)


def copy_of_commit(name: str) -> Path:
    """Write the files of the last commit to a folder of BUILD, and return it."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
    return folder


def environment(tree: Path) -> dict[str, str]:
    """Return the environment of tests of a copy."""
    path = os.pathsep.join([str(tree), str(tree / "src"), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    return {**os.environ, **variables, executed_lines.FOLDER: str(LINES)}


def record() -> None:
    """Run the tests once, and record which lines each test file executes."""
    tree = copy_of_commit("tree-0")
    for folder in (LINES, PHRASEBOOK):
        shutil.rmtree(folder, ignore_errors=True)
    LINES.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", TRAIN_PHRASEBOOK], cwd=BUILD, env=environment(tree), check=True)
    ignored = [f"--ignore={path}" for path in LEFT_OUT]
    command = [*PYTEST, "-p", "executed_lines", "-n", str(AT_ONCE), *ignored]
    subprocess.run(command, cwd=tree, env=environment(tree), check=False)  # what failed is left out later
    (LINES / "code").write_text(revision("HEAD:src", "HEAD:tests"), encoding="utf-8")


def revision(*names: str) -> str:
    """Return what git calls the last commit, or files in it."""
    command = ["git", "rev-parse", *names]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def select(package: Path) -> list[Mutant]:
    """Choose the mutants: as many in each part of the core, and as many again in the rest of the package."""
    files = [path for path in sorted(package.rglob("*.py")) if not SKIPPED.match(path.relative_to(package).as_posix())]
    changes = {path.relative_to(package).as_posix(): changes_in(path, package) for path in files}
    mutants = []
    for part, pattern in CORE.items():
        own = {name: changes.pop(name) for name in list(changes) if re.match(pattern, name)}
        mutants += [Mutant(part, change) for change in spread(own, package, PER_PART, f"{SEED} {part}")]
    others = spread(changes, package, len(mutants), f"{SEED} others")
    return mutants + [Mutant(PurePosixPath(change.file).parts[0].removesuffix(".py"), change) for change in others]


def spread(changes: dict[str, list[Change]], package: Path, number: int, seed: str) -> list[Change]:
    """Choose changes at equal distances in the lines of all files, of each kind in turn, one in a function at most."""
    chance = random.Random(seed)
    names = [name for name in changes if changes[name]]
    ends = list(accumulate(len((package / name).read_bytes().splitlines()) for name in names))
    chosen: list[Change] = []
    start = chance.random()
    for index in range(number):
        place = bisect_left(ends, (index + start) * ends[-1] / number)
        used = {(change.file, change.function) for change in chosen}
        free = [change for change in changes[names[place]] if (change.file, change.function) not in used]
        of_kind = [change for change in free if change.kind == KINDS[index % len(KINDS)]]
        chosen.append(chance.choice(of_kind or free or changes[names[place]]))
    return chosen


def find_again(mutants: Sequence[Mutant], package: Path) -> list[Mutant]:
    """Find recorded mutants in this version of the code, in the file of then or in another; the others are gone."""
    places: dict[tuple[str, str, str, int], list[Change]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        for change in changes_in(path, package):
            places[change.key].append(change)
    renewed = []
    for mutant in mutants:
        changes = sorted(places[mutant.change.key], key=lambda change: change.file != mutant.change.file)
        renewed.append(Mutant(mutant.part, changes[0]) if changes else Mutant(mutant.part, mutant.change, "gone"))
    return renewed


def run_all(mutants: Sequence[Mutant], output: Path) -> Record:
    """Run the mutants that have no verdict yet, and write the record after each."""
    code = revision("HEAD:src", "HEAD:tests")
    if not (LINES / "code").exists() or (LINES / "code").read_text(encoding="utf-8") != code:
        sys.exit("build/mutants/lines is not of the last commit. Run: python benchmarks/mutants.py record")
    record = Record(revision("HEAD"), code, SEED, describe_machine(), tuple(mutants))
    if output.exists() and (record := Record.read(output)).code != code:
        sys.exit(
            f"{output} is of commit {record.commit[:8]}, with other code. Give the file of the results another name."
        )
    trees: SimpleQueue[Path] = SimpleQueue()
    for number in range(AT_ONCE):
        trees.put(copy_of_commit(f"tree-{number}"))
    tests = TestMap.read(LINES)

    def verdict_of(mutant: Mutant) -> Mutant:
        tree = trees.get()
        try:
            return run_mutant(mutant, tree, tests)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting = {pool.submit(verdict_of, mutant): n for n, mutant in enumerate(record.mutants) if not mutant.verdict}
        for future in as_completed(waiting):
            number, mutant = waiting[future], future.result()
            record = replace(record, mutants=(*record.mutants[:number], mutant, *record.mutants[number + 1 :]))
            record.write(output)
            print(f"{number + 1}: {mutant.verdict} {mutant.test} ({mutant.seconds} s)", file=sys.stderr, flush=True)
    record = replace(record, mutants=tuple(without_doubt(record.mutants, trees.get(), tests)))
    record.write(output)
    return record


def run_mutant(mutant: Mutant, tree: Path, tests: TestMap) -> Mutant:
    """Run tests of a copy with the mutant, and return it with its verdict."""
    change = mutant.change
    names = tests.tests_of(change.file, range(change.first_row, change.last_row + 1))
    if not names:
        return replace(mutant, verdict="not covered")
    chosen, recorded = tests.chosen(names[:NUM_FILES], SECONDS)
    path = tree / PACKAGE / change.file
    source = path.read_text(encoding="utf-8")
    start = perf_counter()
    write_source(path, change.text_from(source))
    try:
        code, failed = run_tests(tree, ["-x", *chosen], tests.failed, round(CPU_SECONDS + TIMES_LONGER * recorded))
    finally:
        write_source(path, source)
    verdict = "timeout" if code in (-signal.SIGXCPU, -signal.SIGKILL) else "killed" if code else "survived"
    test = failed[0] if failed else f"exit code {code}" if verdict == "killed" else ""
    return replace(
        mutant, verdict=verdict, test=test, seconds=round(perf_counter() - start, 1), tests_run=tuple(chosen)
    )


def without_doubt(mutants: Sequence[Mutant], tree: Path, tests: TestMap) -> list[Mutant]:
    """Run the tests that killed mutants once more without a mutant: where one fails again, the verdict is doubtful."""
    names = sorted({mutant.test for mutant in mutants if mutant.verdict == "killed" and "::" in mutant.test})
    if not names:
        return list(mutants)
    code, failed = run_tests(tree, names, tests.failed, STUCK)
    if code not in (0, 1):
        raise RuntimeError(f"The tests that killed mutants cannot be run without one: exit code {code}.")
    return [replace(mutant, verdict="doubtful") if mutant.test in failed else mutant for mutant in mutants]


def run_tests(tree: Path, arguments: Sequence[str], skipped: Sequence[str], limit: int) -> tuple[int, list[str]]:
    """Run tests of a copy; return the exit code, which is below 0 for a signal, and the tests and files that failed.

    `limit`: seconds of the CPU, since the seconds on the clock depend on what else the machine does.
    """
    limits = ["sh", "-c", f'ulimit -t {limit} -d {MEMORY}; exec "$@"', "sh"]
    options = ["-n", "0", "--tb=no", f"--basetemp={tree}-tmp", *(f"--deselect={test}" for test in skipped)]
    with subprocess.Popen(
        [*limits, *PYTEST, *options, *arguments], cwd=tree, env=environment(tree), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output = process.communicate(timeout=STUCK)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            output = ""
        finally:
            with suppress(ProcessLookupError):  # what a test has left behind
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, FAILED.findall(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record")
    commands.add_parser("run").add_argument("output", type=Path)
    again = commands.add_parser("again")
    again.add_argument("before", type=Path)
    again.add_argument("output", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        record()
        return
    package = copy_of_commit("tree-0") / PACKAGE
    if arguments.command == "run":
        print(table(run_all(select(package), arguments.output)))
        return
    before = Record.read(arguments.before)
    after = run_all(find_again(before.mutants, package), arguments.output)
    print(table(after), comparison(before, after), sep="\n\n")


if __name__ == "__main__":
    main()

"""Kill a job at its n-th file operation, or let its disk fail there; then run it again, and compare the results."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from clearhead.errors import ClearheadError
from tests.attacks.child import Ended, in_child
from tests.attacks.faults import FaultKind, FileOperations
from tests.attacks.jobs import Job, View
from tests.attacks.tally import Case, Verdict

KINDS: tuple[FaultKind, ...] = ("kill", "torn", "full", "error")


@dataclass(frozen=True)
class Reading:
    """What a reader of the files finds: their content, or the sentence with which they are refused."""

    view: View
    is_refused: bool = False


@dataclass(frozen=True)
class Undisturbed:
    """A job that nothing happened to: its start, its operations, and what a reader finds before and after it."""

    job: Job
    start: Path
    operations: Sequence[str]
    unflushed: Sequence[str]  # files that had their final name before they were on disk
    before: Reading
    result: View


def undisturbed(job: Job, folder: Path) -> Undisturbed:
    """Run a job to its end, count its operations and read its result."""
    start, place = folder / "start", folder / "place"
    start.mkdir(parents=True)
    _check(in_child(lambda: job.prepare(start)))
    before = _check(in_child(lambda: read(job, start) if job.is_atomic else Reading(None)))
    shutil.copytree(start, place)

    def counted() -> tuple[list[str], list[str], View]:
        operations = FileOperations(place)
        operations.install()
        to_its_end(job.run, place)
        return operations.names, operations.unflushed, job.view(place)

    names, unflushed, result = _check(in_child(counted)).value
    shutil.rmtree(place)
    return Undisturbed(job, start, names, unflushed, before.value, result)


def _check(ended: Ended) -> Ended:
    if ended.code:
        raise RuntimeError(f"a job without a fault ended with {ended.code}: {ended.output}")
    return ended


def faults(number: int, count: int, seed: int) -> list[tuple[int, FaultKind]]:
    """Return every fault at every operation, or `count` of them, spread evenly over the operations."""
    every = [(at, kind) for at in range(1, number + 1) for kind in KINDS]
    if count >= len(every):
        return every
    random = Random(seed)
    places = [1 + int((index + random.random()) * number / count) for index in range(count)]
    return [(min(at, number), KINDS[(index + seed) % len(KINDS)]) for index, at in enumerate(places)]


def attack(job: Job, count: int, seed: int) -> Iterator[Case]:
    """Yield the outcome of every fault; a first case says whether files are flushed before they get their names."""
    with tempfile.TemporaryDirectory() as folder:
        reference = undisturbed(job, Path(folder))
        if reference.unflushed:
            named = ", ".join(reference.unflushed)
            yield Case(job.name, "no fault", "wrong", f"named before it was flushed to disk: {named}")
        for at, kind in faults(len(reference.operations), count, seed):
            place = Path(folder) / "place"
            shutil.copytree(reference.start, place)
            verdict, detail = disturbed(reference, place, at, kind)
            shutil.rmtree(place)
            yield Case(
                f"{job.name}: {_attack_name(kind)}", f"{kind} at {at}: {reference.operations[at - 1]}", verdict, detail
            )


def _attack_name(kind: FaultKind) -> str:
    return "killed" if kind in ("kill", "torn") else "disk full or failing"


def disturbed(reference: Undisturbed, place: Path, at: int, kind: FaultKind) -> tuple[Verdict, str]:
    """Run a job with a fault, look at what is there, and run it again."""
    job = reference.job

    def run() -> None:
        FileOperations(place, at, kind).install()
        job.run(place)

    first = in_child(run)
    if first.is_fault:
        return "crash", f"during the fault: {first.code}: {first.output}"
    # A job that reports success although a file could not be written must be complete, and is not run again.
    ended = in_child(lambda: _look_and_repeat(job, place, is_done=first.code == 0))
    between, final = ended.value or (None, None)
    if ended.is_refusal:
        return "wrong", f"after the fault, running it again: {ended.output}"
    if ended.code or final is None:
        return "crash", f"after the fault: {ended.code}: {ended.output}"
    if job.is_atomic and not between.is_refused and between.view not in (reference.before.view, reference.result):
        return "wrong", f"after the fault a reader finds neither the old nor the new: {first.output}"
    if final != reference.result:
        return "wrong", f"another result: {difference(final, reference.result)}"
    if between.is_refused and not job.may_refuse and job.is_atomic:
        return "wrong", f"after the fault, reading: {between.view}"
    return ("note" if between.is_refused and job.is_atomic else "identical"), ""


def read(job: Job, place: Path) -> Reading:
    """Read the files of a job as a user of them would."""
    try:
        return Reading(job.view(place))
    except (ClearheadError, FileNotFoundError) as problem:
        return Reading(str(problem), is_refused=True)


def _look_and_repeat(job: Job, place: Path, *, is_done: bool) -> tuple[Reading, View]:
    between = read(job, place) if job.is_atomic else Reading(None)
    if not is_done:
        to_its_end(job.after or job.run, place)
    return between, job.view(place)


def to_its_end(run: Callable[[Path], None], place: Path) -> None:
    """Run a job. Exit code 1 of the command is a result too: a working has errors."""
    try:
        run(place)
    except SystemExit as ending:
        if ending.code not in (0, 1, None):
            raise


def difference(one: View, other: View) -> str:
    """Return where two views differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        return "; ".join(f"{key}: {difference(one.get(key), other.get(key))}" for key in keys)
    return f"{str(one)[:200]} instead of {str(other)[:200]}"

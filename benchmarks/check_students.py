"""Is the marker fair? Simulated students hand in their sheets: without a fault, with one, with two.

Tables: false alarms and verdicts by step on faultless sheets, faults found, correct cells blamed, misconceptions
named, probes (slips of 3 to 40 units, random lines, answers and nonsense alone, unstated conventions, sums of
weights), marking time. Each part can be run alone with --modes.
Run from the repository: python benchmarks/check_students.py --lines 100000 --jobs 2
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from clearhead.check.working import Working
from student_faults import Fault, Spoilt, faulty
from student_probes import MODES, Probe, probe
from student_problems import MAKERS, random_exercise
from student_tables import Outcome, show_faultless, show_faults, show_pairs, show_probes, show_steps
from students import Desk, MeaninglessError, faultless

BATCH = 50
SPEED_SHEETS = 1000
PARTS = ("faultless", "faults", *MODES, "speed")
SWAPS = ("two cells swapped", "rows and columns swapped")


def mark_sheet(working: Working, outcome: Outcome) -> Any:
    """Mark a sheet; store the time and the counts."""
    from clearhead.check.marker import mark

    start = time.perf_counter()
    report = mark(working)
    outcome.seconds = time.perf_counter() - start
    outcome.lines = len(working.lines)
    outcome.verdicts = {str(verdict.value): number for verdict, number in report.counts.items()}
    outcome.cells = sum(outcome.verdicts.values())
    return report


def blamed_cells(report: Any, is_turned: bool) -> Iterator[tuple[tuple[str, str], tuple[int, int], Any]]:
    """Yield every cell with an error: its line, its place with tokens as rows, and its mark."""
    for line in report.lines:
        for cell in line.marked:
            if cell.verdict.is_error:
                place = (cell.column, cell.row) if is_turned else (cell.row, cell.column)
                yield (line.symbol, line.where), place, cell


def whole_line_alarms(report: Any, working: Working) -> list[str]:
    """List the lines that were not placed, had a wrong shape, or could not be read."""
    alarms = [f"note {note.kind}: {note.sentence}" for note in report.notes if note.kind in ("unplaced", "unreadable")]
    alarms += [f"{line.symbol} @ {line.where}: {line.note}" for line in report.lines if line.note]
    if len(report.lines) != len(working.lines):
        alarms.append(f"{len(working.lines)} lines were handed in and {len(report.lines)} were marked")
    for line in report.lines:
        alarms += [
            f"{line.symbol} @ {line.where} {cell.row},{cell.column}: {cell.verdict.value} '{cell.text}'"
            for cell in line.marked
            if cell.verdict.value in ("cannot read", "not checked")
        ]
    return alarms


def describe(key: tuple[str, str], place: tuple[int, int], cell: Any) -> str:
    """Describe one blamed cell in words."""
    where = f"{key[0]} @ {key[1]} {place}"
    return f"{where}: {cell.verdict.value} '{cell.text}' right {cell.right} truth {cell.truth} {cell.detail}"


def run_faultless(seed: int, kinds: tuple[str, ...] = ()) -> Outcome | None:
    """Simulate a student without faults, and mark the sheet."""
    exercise = random_exercise(seed, kinds)
    outcome = Outcome(seed, exercise.data["kind"], "faultless")
    try:
        desk = faultless(exercise, seed)
    except MeaninglessError:
        return None
    working = desk.working()
    try:
        report = mark_sheet(working, outcome)
    except Exception as problem:  # a crash is a result here, not the end of the run
        outcome.crash = f"{type(problem).__name__}: {problem}"
        return outcome
    is_turned = exercise.sheet.layout == "columns"
    steps = {(line.record.symbol, line.record.where): line.record.step.name for line in desk.lines}
    for line in report.lines:
        counts = Counter(outcome.steps.get(line.step, {}))
        counts.update(str(cell.verdict.value) for cell in line.marked)
        outcome.steps[line.step] = dict(counts)
    for key, place, cell in blamed_cells(report, is_turned):
        outcome.alarms.append(f"[{steps.get(key, '?')}] {describe(key, place, cell)}")
    outcome.alarms += whole_line_alarms(report, working)
    return outcome


def run_faulty(seed: int, kinds: tuple[str, ...] = (), count: int = 1) -> Outcome | None:
    """Simulate a student with faults, and record what the marker finds."""
    exercise = random_exercise(seed, kinds)
    outcome = Outcome(seed, exercise.data["kind"], "two faults" if count == 2 else "one fault")
    try:
        spoilt = faulty(exercise, seed, count)
    except MeaninglessError:
        return None
    if spoilt is None:
        return None
    try:
        report = mark_sheet(spoilt.desk.working(), outcome)
    except Exception as problem:  # as above
        outcome.crash = f"{type(problem).__name__}: {problem}"
        return outcome
    judge(spoilt, report, outcome)
    return outcome


def judge(spoilt: Spoilt, report: Any, outcome: Outcome) -> None:
    """Record for each fault whether it was found and named, and list the correct cells that were blamed."""
    desk = spoilt.desk
    is_turned = desk.exercise.sheet.layout == "columns"
    keys = {(line.record.symbol, line.record.where): number for number, line in enumerate(desk.lines)}
    guilty: set[tuple[int, tuple[int, int]]] = set()
    parts = zip(spoilt.faults, spoilt.cells, spoilt.is_large, spoilt.names, strict=True)
    for fault, cells, is_large, names in parts:
        places = {(index, place) for index, spoilt_cells in cells.items() for place in spoilt_cells}
        guilty |= places
        is_found, finding_names = _found(fault, places, report, keys, is_turned)
        outcome.faults.append(
            {
                "name": fault.name,
                "misconception": fault.is_misconception,
                "large": is_large,
                "found": is_found,
                "named": any(name in finding_name for name in names for finding_name in finding_names),
                "said": finding_names,
                "copied": fault.is_copied,
                "missing": fault.is_line_missing,
                "lines": len(fault.indices),
                "step": desk.trace[fault.index].step.name,
                "where": f"{desk.trace[fault.index].symbol} @ {desk.trace[fault.index].where}",
                "cells": sorted(f"{keys_of(desk, index)} {place}" for index, place in places)[:6],
            }
        )
    lines_of_beliefs = {
        index
        for fault, cells in zip(spoilt.faults, spoilt.cells, strict=True)
        if fault.is_misconception or fault.name in SWAPS  # every cell of a swap is in the wrong place
        for index in cells
    }
    for key, place, cell in blamed_cells(report, is_turned):
        index = keys.get(key, -1)
        if (index, place) not in guilty and index not in lines_of_beliefs:
            outcome.alarms.append(describe(key, place, cell))


def keys_of(desk: Desk, index: int) -> str:
    """Name a line."""
    return f"{desk.trace[index].symbol} @ {desk.trace[index].where}"


def _found(
    fault: Fault,
    places: set[tuple[int, tuple[int, int]]],
    report: Any,
    keys: dict[tuple[str, str], int],
    is_turned: bool,
) -> tuple[bool, list[str]]:
    """Return whether a finding has one of the spoilt cells (for a misconception: the line), and the findings' names."""
    is_found, finding_names = False, []
    lines = {index for index, _ in places}
    for finding in report.findings:
        mark = report.lines[finding.line]
        index = keys.get((mark.symbol, mark.where), -1)
        if index not in lines:
            continue
        cells = {(index, (column, row) if is_turned else (row, column)) for row, column in finding.cells}
        if cells & places or (fault.is_misconception and index in lines):
            is_found = True
            finding_names.append(f"{finding.name or finding.verdict.value}")
    return is_found, finding_names


Run = Callable[[int], Outcome | None]


def outcomes(run: Run, seeds: Iterable[int], pool: ProcessPoolExecutor | None) -> Iterator[Outcome]:
    """Run the students, one after the other or side by side."""
    results = map(run, seeds) if pool is None else pool.map(run, seeds, chunksize=10)
    yield from (result for result in results if result is not None)


def until(run: Run, first: int, lines: int, pool: ProcessPoolExecutor | None) -> list[Outcome]:
    """Run students until they have handed in enough lines."""
    done: list[Outcome] = []
    total = 0
    while total < lines:
        batch = list(outcomes(run, range(first, first + BATCH * (os.cpu_count() or 1)), pool))
        first += BATCH * (os.cpu_count() or 1)
        done += batch
        total += sum(max(1, outcome.lines) for outcome in batch)
    return done


def show_failures(done: list[Outcome], most: int) -> None:
    """Print the first sheets on which the marker failed, so that they can be run again."""
    shown = 0
    for outcome in done:
        failures = [f"crash: {outcome.crash}"] if outcome.crash else []
        failures += [f"blamed: {alarm}" for alarm in outcome.alarms[:4]]
        for fault in outcome.faults:
            text = f"{fault['name']} at {fault['where']}, cells {fault['cells'][:3]}, findings {fault['said']}"
            text += ", continued from the right number" * fault["copied"] + ", line not written" * fault["missing"]
            if fault["large"] and not fault["found"]:
                failures.append(f"missed: {text}")
            elif fault["large"] and fault["misconception"] and not fault["named"]:
                failures.append(f"not named: {text}")
            elif outcome.alarms:
                failures.append(f"fault: {text}")
        if failures and shown < most:
            shown += 1
            print(f"{outcome.mode}, --only {outcome.seed} ({outcome.kind})")
            print("".join(f"    {line}\n" for line in failures), end="")


def show_speed(first: int, kinds: tuple[str, ...]) -> dict[str, float]:
    """Time only the marking of small sheets, on one core."""
    done: list[Outcome] = []
    while len(done) < SPEED_SHEETS:
        done += outcomes(partial(run_faultless, kinds=kinds), range(first, first + BATCH), None)
        first += BATCH
    times = [outcome.seconds for outcome in done[:SPEED_SHEETS]]
    print(f"## Speed\n\n{len(times)} small sheets marked in {sum(times):.2f} s on one core (target 10 s); ", end="")
    print(f"median {1000 * statistics.median(times):.2f} ms, longest {1000 * max(times):.1f} ms\n")
    return {"total": sum(times), "median": statistics.median(times)}


def rerun(seed: int, kinds: tuple[str, ...]) -> None:
    """Solve and mark the sheets of one seed again, and print them."""
    exercise = random_exercise(seed, kinds)
    print(json.dumps(exercise.data, ensure_ascii=False))
    for count in (0, 1, 2):
        try:
            spoilt = faulty(exercise, seed, count) if count else None
            desk = spoilt.desk if spoilt else faultless(exercise, seed)
        except MeaninglessError as problem:
            print(f"{count} faults: no sheet ({problem})")
            continue
        if count and spoilt is None:
            continue
        print(f"\n=== {count} faults; {desk.style}")
        for fault in spoilt.faults if spoilt else ():
            print(f"    {fault.name} at {keys_of(desk, fault.index)}")
        for line in desk.working().lines:
            print(
                f"{line.name} @ {line.where}: {' ; '.join(' '.join(cell or '_' for cell in row) for row in line.cells)}"
            )
        run = partial(run_faulty, count=count) if count else run_faultless
        outcome = run(seed, kinds)
        print(json.dumps(asdict(outcome), ensure_ascii=False, indent=1) if outcome else "no outcome")
    for mode in MODES:
        for result in probe(seed, mode, kinds):
            print(f"{mode}: {', '.join(result.group)}: {result.result}; {result.detail}")


def header(seed: int) -> str:
    """Describe the machine, versions and commit."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pydantic"))
    return (
        f"{platform.machine()}, {os.cpu_count()} cores; Python {platform.python_version()}; {packages}\n"
        f"commit {commit.strip()}; seed {seed}\n"
    )


def probes_of(mode: str, seeds: range, kinds: tuple[str, ...], pool: ProcessPoolExecutor | None) -> list[Probe]:
    """Run one mode of student_probes."""
    run = partial(probe, mode=mode, kinds=kinds)
    batches = map(run, seeds) if pool is None else pool.map(run, seeds, chunksize=10)
    return [result for batch in batches for result in batch]


def show_probe_failures(mode: str, probes: list[Probe], most: int) -> None:
    """Print the first probes with a wrong result, so that they can be run again."""
    wanted = {"slips": "error", "exact": "error", "random": "error", "conventions": "error", "sums": "error"}.get(mode)
    failures = [
        result
        for result in probes
        if (result.result != wanted if wanted else result.result not in ("error", "not enough working"))
        and "inside" not in result.group
    ]
    for result in failures[:most]:
        print(f"{mode}, seed {result.seed}, {', '.join(result.group)}: {result.result}; {result.detail[:160]}")
    print()


def parse_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=10_000, help="lines of faultless students")
    parser.add_argument("--faults", type=int, default=2_000, help="students with one fault; half this number have two")
    parser.add_argument("--probes", type=int, default=400, help="seeds for each of the other modes")
    parser.add_argument(
        "--modes", default=",".join(PARTS), help=f"parts to run, separated by commas: {', '.join(PARTS)}"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first student")
    parser.add_argument("--kinds", default="", help="kinds of problems, separated by commas")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel processes")
    parser.add_argument("--show", type=int, default=20, help="maximum number of failures to print of each sort")
    parser.add_argument("--only", type=int, help="run the sheets of one seed again and print them")
    parser.add_argument("--no-speed", action="store_true", help="skip the timing")
    options = parser.parse_args()
    options.kinds = tuple(kind for kind in options.kinds.split(",") if kind)
    options.modes = tuple(mode for mode in options.modes.split(",") if mode)
    for name, chosen, known in (("kind", options.kinds, MAKERS), ("mode", options.modes, PARTS)):
        unknown = set(chosen) - set(known)
        if unknown:
            parser.error(f"not a {name}: {', '.join(sorted(unknown))}. Choices: {', '.join(known)}.")
    return options


def main() -> None:
    """Run the students and print the tables."""
    options = parse_options()
    kinds, modes = options.kinds, options.modes
    if options.only is not None:
        rerun(options.only, kinds)
        return
    print(header(options.seed))
    pool = ProcessPoolExecutor(options.jobs) if options.jobs > 1 else None
    results: list[Outcome | Probe] = []
    if "faultless" in modes and options.lines:
        done = until(partial(run_faultless, kinds=kinds), options.seed, options.lines, pool)
        show_faultless(done)
        show_steps(done)
        show_failures(done, options.show)
        results += done
    seeds = range(options.seed, options.seed + options.faults)
    if "faults" in modes and options.faults:
        single = list(outcomes(partial(run_faulty, kinds=kinds), seeds, pool))
        pairs = list(outcomes(partial(run_faulty, kinds=kinds, count=2), seeds[: len(seeds) // 2], pool))
        show_faults(single)
        show_pairs(pairs)
        for done in (single, pairs):
            show_failures(done, options.show)
            results += done
    for mode in (mode for mode in MODES if mode in modes):
        probes = probes_of(mode, range(options.seed, options.seed + options.probes), kinds, pool)
        show_probes(mode, probes)
        show_probe_failures(mode, probes, options.show)
        results += probes
    if pool is not None:
        pool.shutdown()
    if "speed" in modes and not options.no_speed:
        show_speed(options.seed, kinds)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], ensure_ascii=False))


if __name__ == "__main__":
    main()

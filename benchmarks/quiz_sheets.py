"""Do practice sheets keep their promises? Sheets of every kind and difficulty, held to the solver and the marker.

For every sheet: the sizes and bounds of its difficulty hold; its number gives the same sheet; the solver's answer to
the blanks is the key; the key earns full marks by its own scheme, with and without the printed lines; and every wrong
rule that the sheet claims to tell apart is an error to the marker.
Run from the repository: nice python benchmarks/quiz_sheets.py --sheets 1000 --jobs 2
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from clearhead.check.graph import Graph, fetch_from
from clearhead.check.marker import mark
from clearhead.check.marks import Scheme
from clearhead.check.working import Working, WrittenLine
from clearhead.quiz.draw import draw_sheet, quiz_kinds, quiz_scheme, sheet_of_number
from clearhead.quiz.request import BLANKS, DIFFICULTIES, MAX_VARIANT, QuizRequest
from clearhead.quiz.sheet import QuizSheet, blank_cells
from clearhead.quiz.tidy import MAX_ARGUMENT, MAX_GAP, MAX_SIZE, largest_gap
from clearhead.quiz.told_apart import ToldApart, wrong_lines
from clearhead.quiz.working import sheet_working
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.quiz_keys import answer_lines, key_lines, key_working  # noqa: E402

MAX_TOKENS = {1: 3, 2: 4, 3: 4}


@dataclass
class Outcome:
    """What was examined, and every promise that was not kept, with the number of its sheet."""

    kind: str
    difficulty: int
    sheets: int = 0
    draws: int = 0
    seconds: float = 0.0
    cells: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    named: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def num_claims(self) -> int:
        """The number of wrong rules that were handed in as workings."""
        return sum(self.rules.values())


def examine(sheet: QuizSheet, outcome: Outcome, max_rules: int = 0) -> None:
    """Examine one sheet; with `max_rules`, only this many of its wrong rules, different ones from sheet to sheet."""
    outcome.sheets += 1
    outcome.draws += 1 + _draw_of(sheet.number)
    outcome.failures += [f"{sheet.number}: {sentence}" for sentence in _broken_promises(sheet)]
    outcome.cells += sum(len(blank_cells(step)) for step in sheet.view.steps)
    rules = sheet.told_apart
    if max_rules and len(rules) > max_rules:
        rules = tuple(rules[(outcome.sheets * max_rules + place) % len(rules)] for place in range(max_rules))
    for rule in rules:
        outcome.rules[rule.misconception] += 1
        report = mark(wrong_working(sheet, rule))
        if not any(cell.verdict.is_error for line in report.lines for cell in line.marked):
            outcome.failures.append(f"{sheet.number}: {rule.misconception} in {rule.symbol} is no error to the marker")
        outcome.named += any(rule.misconception in finding.name for finding in report.findings)


def _draw_of(number: str) -> int:
    from clearhead.quiz.number import parse_number

    return parse_number(number).draw


def _broken_promises(sheet: QuizSheet) -> Iterator[str]:
    again = sheet_of_number(sheet.number)
    if (again.problem, again.blanks, again.told_apart) != (sheet.problem, sheet.blanks, sheet.told_apart):
        yield "its number gives another sheet"
    if [line.cells for line in key_lines(again)] != [line.cells for line in key_lines(sheet)]:
        yield "its number gives another key"
    if not answer_lines(sheet):
        yield "it has no blanks"
    if not sheet.told_apart:
        yield "it tells no wrong rule apart"
    yield from _broken_bounds(sheet)
    scheme = Scheme.model_validate(quiz_scheme(sheet))
    for working in (key_working(sheet), sheet_working(sheet, answer_lines(sheet))):
        report = mark(working, scheme)
        if report.has_error or report.is_unsupported or report.earned != report.out_of or not report.out_of:
            yield f"its key earns {report.earned} of {report.out_of}"


def _broken_bounds(sheet: QuizSheet) -> Iterator[str]:
    tokens = sheet.problem.get("tokens") or sheet.problem.get("X") or ()
    if len(tokens) > MAX_TOKENS[sheet.request.difficulty]:
        yield f"it has {len(tokens)} tokens"
    is_integer = sheet.request.difficulty == 1
    for name, number in _given_numbers(sheet.problem):
        scaled = number if is_integer else number * 10
        if abs(scaled - round(scaled)) > 1e-9 and name != "epsilon":
            yield f"{name} contains {number}"
    for record in sheet.worksheet.trace:
        value = np.asarray(record.value)
        if np.any(np.abs(value[np.isfinite(value)]) >= MAX_SIZE):
            yield f"{record.symbol} is too large"
        if record.step.name == "softmax" and largest_gap(record) > MAX_GAP + 1e-9:
            yield f"{record.symbol} is saturated"
        is_curved = record.step.name == "activate" and record.inputs["function"] in ("tanh", "sigmoid")
        if is_curved and np.any(np.abs(record.inputs["x"]) > MAX_ARGUMENT + 1e-9):
            yield f"{record.symbol} is saturated"


def _given_numbers(data: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key != "rounding":
                yield from _given_numbers(value, key)
    elif isinstance(data, list):
        for value in data:
            yield from _given_numbers(value, name)
    elif isinstance(data, int | float) and not isinstance(data, bool):
        yield name, data


def wrong_working(sheet: QuizSheet, rule: ToldApart) -> Working:
    """Return the working of a student who uses one wrong rule in one line and continues from it without a fault."""
    key = sheet.worksheet
    graph, rounding = Graph(key), key.rounding
    index = next(
        place for place, record in enumerate(key.trace) if (record.symbol, record.where) == (rule.symbol, rule.where)
    )
    exact = solve(parse_problem(sheet.problem), Rounding())
    blanks = [blank_cells(step) for step in sheet.view.steps]
    wrong = next(
        line.value
        for line in wrong_lines(exact, key, [index])
        if line.misconception == rule.misconception
        and sum(bool(line.differs[cell]) for cell in blanks[index]) == rule.num_cells
    )
    values: list[Any] = []
    with np.errstate(all="ignore"):
        for place, record in enumerate(graph.records):
            value = np.array(record.value, dtype=np.float64)
            own = wrong if place == index else graph.work(place, fetch_from(values, graph.givens))
            if place >= index:
                own = own if rounding.lines == "exact" else rounding.rounded(own)
                for cell in blanks[place]:
                    value[cell] = own[cell]
            values.append(value)
    printed = [[list(row) for row in line.cells] for line in key_lines(sheet)]
    lines = []
    for place, (line, texts) in enumerate(zip(key_lines(sheet), printed, strict=True)):
        for cell in blanks[place] if place >= index else ():
            texts[cell[0]][cell[1]] = _text(float(values[place][cell]), rounding)
        lines.append(WrittenLine(line.name, tuple(map(tuple, texts)), line.where))
    return Working(sheet.problem, tuple(lines), title=sheet.title)


def _text(value: float, rounding: Rounding) -> str:
    if not np.isfinite(value):
        return "-∞" if value < 0 else "∞"
    return f"{float(rounding.rounded(np.asarray(value))):.{rounding.shown_decimals}f}"


def examine_many(task: tuple[str, int, int, int]) -> Outcome:
    """Examine sheets of one kind and difficulty; the blanks are all, row and hard in turn."""
    kind, difficulty, count, max_rules = task
    outcome = Outcome(kind, difficulty)
    start = time.perf_counter()
    for place in range(count):
        seed, variant = divmod(place, MAX_VARIANT)
        request = QuizRequest(kind, difficulty, seed, variant + 1, BLANKS[place % 4 % 3])
        examine(draw_sheet(request), outcome, max_rules)
    outcome.seconds = time.perf_counter() - start
    return outcome


def main() -> None:
    """Examine sheets and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sheets", type=int, default=1000, help="sheets of each kind and difficulty")
    parser.add_argument("--rules", type=int, default=0, help="wrong rules to hand in for each sheet (0: all of them)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kinds", nargs="*", default=None)
    arguments = parser.parse_args()
    kinds = arguments.kinds or quiz_kinds()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    print(f"clearhead {version('clearhead')} ({commit.stdout.strip()}), Python {platform.python_version()}, numpy "
          f"{np.__version__}, {platform.machine()}, {os.cpu_count()} cores\n")  # fmt: skip
    print(
        "| kind | difficulty | sheets | draws a sheet | ms a sheet | blanks | wrong rules | claims | named | failures |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    tasks = [(kind, difficulty, arguments.sheets, arguments.rules) for kind, difficulty in product(kinds, DIFFICULTIES)]
    failures: list[str] = []
    total: Counter[str] = Counter()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for outcome in pool.map(examine_many, tasks):
            failures += outcome.failures
            total.update(sheets=outcome.sheets, claims=outcome.num_claims, cells=outcome.cells, named=outcome.named)
            print(
                f"| {outcome.kind} | {outcome.difficulty} | {outcome.sheets} | {outcome.draws / outcome.sheets:.1f} | "
                f"{outcome.seconds / outcome.sheets * 1000:.0f} | {outcome.cells} | {len(outcome.rules)} | "
                f"{outcome.num_claims} | {outcome.named} | {len(outcome.failures)} |",
                flush=True,
            )
    print(f"\n{total['sheets']:,} sheets, {total['cells']:,} blanks, {total['claims']:,} wrong rules handed in "
          f"({total['named']:,} named by the marker), {len(failures):,} failures")  # fmt: skip
    for failure in failures[:40]:
        print(f"- {failure}")
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()

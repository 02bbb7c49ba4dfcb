"""How well lines are placed if faultless students use other names, and if the exercise states no convention.

    python benchmarks/check_names.py --sheets 1000

Prints the share of lines that are read as the right line, and the sheets with a false alarm: an error, a line of the
wrong shape or a line that was not placed.
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from student_problems import random_exercise  # isort: skip
from students import Desk, MeaninglessError, faultless  # isort: skip

from clearhead.check.conventions import CHOICES, IN_LAYER, KEYS_BY_KIND
from clearhead.check.marker import mark
from clearhead.check.report import Report
from clearhead.check.working import Working, WrittenLine
from clearhead.errors import ClearheadError

KINDS = (
    "self-attention",
    "masked-self-attention",
    "cross-attention",
    "multi-head-attention",
    "add-and-norm",
    "context",
)
NAMES: Mapping[str, tuple[str, ...]] = {
    "score": ("E", "e", "scores", "QK^T"),
    "scale": ("Z", "scaled scores", "S'", "scaled"),
    "softmax": ("P", "α", "weights", "weights (%)", "alpha"),
    "divide": ("P", "α", "weights"),
    "mix": ("C", "c", "context", "y"),
    "join": ("concat", "C", "H"),
    "normalise": ("LN", "Norm", "AddNorm", "Add & Norm", "y", "h"),
    "rms_normalise": ("Norm", "AddNorm", "y", "h"),
}


@dataclass
class Tally:
    """The counts of a run: sheets, lines and lines that were read as the right line, and the sheets with an alarm."""

    sheets: int = 0
    lines: Counter[str] = field(default_factory=Counter)
    placed: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)


def alarm(report: Report) -> str:
    """Return the first false alarm of a faultless sheet, or an empty string."""
    for finding in report.findings:
        return f"{report.lines[finding.line].name}: {finding.verdict.value} {finding.name}"
    for line in report.lines:
        if line.note and not line.copy_of:
            return line.note
    return next((note.sentence for note in report.notes if note.kind == "unplaced"), "")


def renamed(desk: Desk, seed: int) -> Working:
    """Return the sheet of a student with the names of other books; `place` is the number of the line."""
    draw = random.Random(f"names {seed}")
    working, written = desk.working(), [line for line in desk.lines if line.is_written]
    chosen = {step: draw.choice(names) for step, names in NAMES.items()}
    lines = []
    for number, (line, student_line) in enumerate(zip(working.lines, written, strict=True)):
        step, path = student_line.record.step.name, line.where.split(".")
        name, where = chosen.get(step, line.name), ""
        if "head" in path:
            head = path[path.index("head") + 1]
            where = f"head {head}"
            if step == "mix" and draw.random() < 0.5:
                name, where = f"head{head}", ""
            elif step not in chosen:
                name = line.name.rstrip("₀₁₂₃₄₅₆₇₈₉")
        cells = _in_percent(line) if name.endswith("(%)") else line.cells
        name = name if cells is not None else "weights"
        lines.append(WrittenLine(name, cells or line.cells, where, str(number)))
    return replace(working, lines=tuple(lines))


def _in_percent(line: WrittenLine) -> tuple[tuple[str, ...], ...] | None:
    """Return the cells in percent; None if one has fewer than two decimals, because 0.9 is not 90 %."""
    texts = [cell for row in line.cells for cell in row if cell]
    if not all(re.fullmatch(r"\d?\.\d\d+", text) for text in texts):
        return None
    return tuple(tuple(f"{Decimal(cell).scaleb(2):f}" if cell else "" for cell in row) for row in line.cells)


def unstated(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem without the conventions that a question can leave open."""
    kind, problem = str(data["kind"]), dict(data)
    for key in KEYS_BY_KIND.get(kind, ()):
        if problem.get(key) in list(CHOICES[key]):
            del problem[key]
    layers = IN_LAYER.get(kind, ())
    scales = {str(data[name].get("scale")) for name in layers}
    if len(scales) == 1 and scales <= set(CHOICES["scale"]):
        problem |= {name: {key: value for key, value in data[name].items() if key != "scale"} for name in layers}
    return problem


def run_names(seed: int, tally: Tally) -> None:
    """Mark a sheet with other names, if it is without an alarm under its own."""
    try:
        desk = faultless(random_exercise(seed, KINDS), seed)
        if alarm(mark(desk.working())):
            return
    except (MeaninglessError, ClearheadError):
        return
    tally.sheets += 1
    working, written = renamed(desk, seed), [line for line in desk.lines if line.is_written]
    tally.lines.update(line.name for line in working.lines)
    try:
        report = mark(working)
    except ClearheadError as wrong:
        tally.alarms.append(f"seed {seed}: {wrong}")
        return
    if alarm(report):
        tally.alarms.append(f"seed {seed}: {alarm(report)}")
    for line in report.lines:
        for place in line.place.split(", ") if line.cells else ():
            record = written[int(place)].record
            tally.placed[working.lines[int(place)].name] += (line.symbol, line.where) == (record.symbol, record.where)


def run_conventions(seed: int, tally: Tally) -> None:
    """Mark a sheet whose question states no convention, if it is without an alarm where the question states all."""
    try:
        desk = faultless(random_exercise(seed, tuple(KEYS_BY_KIND)), seed)
        working = desk.working()
        if alarm(mark(working)):
            return
        tally.sheets += 1
        report = mark(replace(working, problem=unstated(working.problem)))
    except (MeaninglessError, ClearheadError):
        return
    if alarm(report):
        tally.alarms.append(f"seed {seed}: {alarm(report)}")


def main() -> None:
    """Run both measurements and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sheets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.sheets)
    names, conventions = Tally(), Tally()
    for seed in seeds:
        run_names(seed, names)
        run_conventions(seed, conventions)
    total, right = names.lines.total(), names.placed.total()
    print(f"other names: {names.sheets} sheets, {right} of {total} lines read as the right line ({right / total:.2%})")
    for name, count in sorted(names.lines.items()):
        if names.placed[name] < count:
            print(f"  {name}: {names.placed[name]} of {count}")
    print(f"  {len(names.alarms)} sheets with a false alarm", *names.alarms, sep="\n    ")
    print(f"no convention stated: {conventions.sheets} sheets, {len(conventions.alarms)} with a false alarm")
    print("", *conventions.alarms, sep="\n    ")


if __name__ == "__main__":
    main()

"""The tables of check_students.py, in Markdown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from student_probes import NOT_ENOUGH, Probe


@dataclass
class Outcome:
    """The marker's results for one sheet."""

    seed: int
    kind: str
    mode: str
    lines: int = 0
    cells: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] = field(default_factory=dict)
    steps: dict[str, dict[str, int]] = field(default_factory=dict)  # verdicts by step
    alarms: list[str] = field(default_factory=list)  # faultless: errors; faulty: correct cells that were blamed
    faults: list[dict[str, Any]] = field(default_factory=list)
    crash: str = ""


def percent(part: int, total: int) -> str:
    """Format a share as a percentage; a dash if the total is 0."""
    return f"{100 * part / total:.2f} %" if total else "-"


def table(head: str, rows: Iterable[Iterable[object]]) -> None:
    """Print a table in Markdown."""
    print(f"| {head} |")
    print("|" + "---|" * (head.count("|") + 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def show_faultless(done: list[Outcome]) -> None:
    """Print the false alarms by kind, and the verdicts."""
    print("## Faultless students\n")
    kinds = sorted({outcome.kind for outcome in done})
    rows = []
    for kind in [*kinds, "all"]:
        mine = [outcome for outcome in done if kind in (outcome.kind, "all")]
        rows.append(
            (
                kind,
                len(mine),
                sum(outcome.lines for outcome in mine),
                sum(outcome.cells for outcome in mine),
                sum(bool(outcome.alarms) for outcome in mine),
                sum(len(outcome.alarms) for outcome in mine),
                sum(bool(outcome.crash) for outcome in mine),
            )
        )
    table("kind | sheets | lines | cells | sheets with a false alarm | false alarms | crashes", rows)
    verdicts: Counter[str] = Counter()
    for outcome in done:
        verdicts.update(outcome.verdicts)
    table("verdict | cells | share", [(name, n, percent(n, verdicts.total())) for name, n in verdicts.most_common()])


def show_faults(done: list[Outcome]) -> None:
    """Print what was found, named and wrongly blamed, for large faults and for small ones."""
    for is_large in (True, False):
        mine = [outcome for outcome in done if outcome.faults and outcome.faults[0]["large"] == is_large]
        print(f"## One fault, {'two units or more and outside its image' if is_large else 'smaller'}\n")
        slips = [outcome for outcome in mine if not outcome.faults[0]["misconception"]]
        beliefs = [outcome for outcome in mine if outcome.faults[0]["misconception"]]
        rows = []
        for label, part in (("slips", slips), ("misconceptions", beliefs), ("all", mine)):
            num_found = sum(outcome.faults[0]["found"] for outcome in part)
            clean = sum(not outcome.alarms for outcome in part)
            rows.append((label, len(part), percent(num_found, len(part)), percent(clean, len(part))))
        table("faults | sheets | root found | no correct cell blamed", rows)
        names = sorted({(o.faults[0]["misconception"], o.faults[0]["name"]) for o in mine})
        rows = []
        for is_belief, name in names:
            part = [outcome for outcome in mine if outcome.faults[0]["name"] == name]
            num_found = sum(outcome.faults[0]["found"] for outcome in part)
            named = sum(outcome.faults[0]["named"] for outcome in part)
            clean = sum(not outcome.alarms for outcome in part)
            called = percent(named, len(part)) if is_belief else "-"
            rows.append((name, len(part), percent(num_found, len(part)), called, percent(clean, len(part))))
        named = sum(outcome.faults[0]["named"] for outcome in beliefs)
        rows.append(("all misconceptions", len(beliefs), "", percent(named, len(beliefs)), ""))
        table("fault | sheets | found | named | no correct cell blamed", rows)


def show_pairs(done: list[Outcome]) -> None:
    """Print how often both of two faults were found."""
    print("## Two independent faults\n")
    large = [outcome for outcome in done if outcome.faults and all(fault["large"] for fault in outcome.faults)]
    both = sum(all(fault["found"] for fault in outcome.faults) for outcome in large)
    one = sum(any(fault["found"] for fault in outcome.faults) for outcome in large)
    clean = sum(not outcome.alarms for outcome in large)
    row = (len(large), percent(both, len(large)), percent(one, len(large)), percent(clean, len(large)))
    table("sheets with two large faults | both found | at least one | no correct cell blamed", [row])


def show_steps(done: list[Outcome]) -> None:
    """Print the verdicts on faultless cells by step; "not enough working" is no error, and stands apart."""
    print("## Faultless students: verdicts by step\n")
    steps: dict[str, Counter[str]] = {}
    for outcome in done:
        for step, verdicts in outcome.steps.items():
            steps.setdefault(step, Counter()).update(verdicts)
    names = [name for name, _ in sum(steps.values(), Counter[str]()).most_common()]
    names = [name for name in names if name != NOT_ENOUGH] + [NOT_ENOUGH]
    rows = [
        (step, verdicts.total(), *(verdicts[name] for name in names), percent(verdicts[NOT_ENOUGH], verdicts.total()))
        for step, verdicts in sorted(steps.items())
    ]
    table(" | ".join(["step", "cells", *names, "share not enough"]), rows)


@dataclass(frozen=True)
class ProbeTable:
    """The table of one mode: its heading, its group columns and the result whose share counts."""

    title: str
    columns: str
    counted: tuple[str, ...]
    goal: str


PROBE_TABLES = {
    "slips": ProbeTable(
        "One cell 3 to 40 units off", "step | lines above | reach", ("error",), "outside: 97 % called an error"
    ),
    "exact": ProbeTable(
        "One cell 3 to 40 units off below exact lines",
        "step | lines above | reach",
        ("error",),
        "outside: 97 % called an error",
    ),
    "random": ProbeTable("A line of random numbers", "step", ("cause named",), "at most 1 % with a cause named"),
    "answers": ProbeTable(
        "A wrong answer alone", "given | wrong | reach", ("no error",), "no error as rare as possible, outside: 0"
    ),
    "nonsense": ProbeTable("Nonsense alone", "problem | line", ("no error",), "never no error"),
    "conventions": ProbeTable(
        "Conventions that are not stated, wrong cells of one line", "case", ("error",), "every wrong cell reported"
    ),
    "sums": ProbeTable("A row of weights whose sum is off", "lines above", ("error",), "the row is mentioned"),
}


def show_probes(mode: str, probes: Sequence[Probe]) -> None:
    """Print the results of one mode by group."""
    layout = PROBE_TABLES[mode]
    print(f"## {layout.title} ({layout.goal})\n")
    results = [name for name, _ in Counter(probe.result.split(":")[0] for probe in probes).most_common()]
    rows = []
    for group in [*sorted({probe.group for probe in probes}), *_totals(probes)]:
        mine = Counter(probe.result.split(":")[0] for probe in probes if _is_in(probe.group, group))
        share = percent(sum(mine[name] for name in layout.counted), mine.total())
        rows.append((*(part or "all" for part in group), mine.total(), *(mine[name] for name in results), share))
    table(" | ".join([layout.columns, "number", *results, f"share {layout.counted[0]}"]), rows)


def _is_in(group: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Return whether a group belongs to another one, in which an empty part stands for all."""
    return all(not part or part == own for own, part in zip(group, wanted, strict=True))


def _totals(probes: Sequence[Probe]) -> list[tuple[str, ...]]:
    """The groups of the last rows: all steps together, by the other parts of the group."""
    return sorted(
        {("", *probe.group[1:]) for probe in probes} | {("", *("" for _ in probe.group[1:])) for probe in probes}
    )

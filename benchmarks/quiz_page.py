"""Is the script of a practice page fair? Faultless students round in ten ways; others type one number wrongly.

The script runs in a real browser; the real marker marks the same workings. Tables: failed cells by way of rounding,
and slips caught by step, of the page and of the marker, of those that no rounding of the lines above explains.
Run from the repository: python benchmarks/quiz_page.py --cells 100000 --slips 2000
"""

import argparse
import platform
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from itertools import count
from typing import Any

from playwright.sync_api import sync_playwright

from clearhead.check.marker import mark
from clearhead.check.working import Working, WrittenLine
from clearhead.errors import ClearheadError
from clearhead.quiz import QuizRequest, draw_sheet, quiz_kinds
from clearhead.quiz.page.markup import marking_script
from page_students import SheetAtDesk, Slip, at_desk, faultless_at, slip, ten_ways, typed_texts
from students import Desk, MeaninglessError

CHROMIUM = "/usr/bin/chromium"
BATCH = 100
VERDICTS = """jobs => jobs.map(({sheet, texts}) => {
  const result = judge(sheet, texts);
  const verdicts = result.records.map(record => record.verdicts.map(row => row.map(cell => cell && cell.verdict)));
  return {first: result.firstWrong, verdicts};
})"""
FAILED = ("wrong", "unreadable")


def sheets(blanks: tuple[str, ...], difficulties: tuple[int, ...]) -> Iterator[tuple[int, SheetAtDesk]]:
    """Yield sheets of every kind and difficulty in turn."""
    for seed in count():
        for kind in quiz_kinds():
            for difficulty in difficulties:
                try:
                    sheet = draw_sheet(QuizRequest(kind, difficulty, seed, blanks=blanks[seed % len(blanks)]))
                except ClearheadError as problem:
                    print(f"no sheet of {kind}, difficulty {difficulty}, seed {seed}: {problem}", flush=True)
                    continue
                yield seed, at_desk(sheet)


def verdicts_of(page: Any, jobs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return the verdicts of the script, in batches."""
    for start in range(0, len(jobs), BATCH):
        yield from page.evaluate(VERDICTS, jobs[start : start + BATCH])


def run_faultless(page: Any, num_cells: int) -> None:
    """Count failed cells of faultless students."""
    cells: Counter[str] = Counter()
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for seed, place in sheets(("all", "row", "hard"), (1, 2, 3)):
        jobs, names = [], []
        for way, style in ten_ways(place.data["decimals"], seed).items():
            desk = faultless_at(place, style, seed)
            if desk is None:
                continue
            jobs.append({"sheet": place.data, "texts": typed_texts(desk)})
            names.append(way)
        for way, job, result in zip(names, jobs, verdicts_of(page, jobs), strict=True):
            for index, rows in enumerate(result["verdicts"]):
                for i, row in enumerate(rows):
                    for j, verdict in enumerate(row):
                        if verdict is None or verdict == "shown":
                            continue
                        cells[way] += 1
                        verdicts[way][verdict] += 1
                        if verdict in FAILED:
                            record = place.data["records"][index]
                            print(f"FAILED {place.sheet.number} {way}: {record['symbol']} [{i}, {j}] "
                                  f"{job['texts'][index][i][j]!r} {verdict}", flush=True)  # fmt: skip
        if cells.total() >= num_cells:
            break
    print("\nFaultless students (questioned: inner digits are too few; undecided: lines above are empty; "
          "short: fewer decimals than the sheet asks for)")  # fmt: skip
    print("| way of rounding | cells | failed | questioned | undecided | short |")
    print("|---|---:|---:|---:|---:|---:|")
    for way, number in cells.items():
        failed = sum(verdicts[way][verdict] for verdict in FAILED)
        print(f"| {way} | {number:,} | {failed} | {verdicts[way]['coarse']} | {verdicts[way]['open']} "
              f"| {verdicts[way]['few']} |")  # fmt: skip
    failed = sum(counts[verdict] for counts in verdicts.values() for verdict in FAILED)
    others = " | ".join(str(sum(counts[name] for counts in verdicts.values())) for name in ("coarse", "open", "few"))
    print(f"| all | {cells.total():,} | {failed} | {others} |", flush=True)


def marker_fails(place: SheetAtDesk, desk: Desk, fault: Slip) -> bool:
    """Return whether the real marker calls the cell an error."""
    working = Working(problem=dict(place.sheet.problem), lines=_lines(place, desk))
    record = desk.lines[fault.index].record
    is_turned = place.data["isTurned"]
    for line in mark(working).lines:
        if (line.symbol, line.where) == (record.symbol, record.where):
            for cell in line.marked:
                at = (cell.column, cell.row) if is_turned else (cell.row, cell.column)
                if at == fault.place:
                    return cell.verdict.is_error
    return False


def _lines(place: SheetAtDesk, desk: Desk) -> tuple[WrittenLine, ...]:
    """Return what the page saves: the printed cells and the typed ones."""
    lines = []
    for shown, line in zip(place.shown, desk.lines, strict=True):
        rows = [
            [str(line.texts[i, j]) if text is None else text for j, text in enumerate(row)]
            for i, row in enumerate(shown)
        ]
        if any(text for row in rows for text in row):
            columns = list(zip(*rows, strict=True)) if place.data["isTurned"] else rows
            lines.append(WrittenLine(line.record.symbol, tuple(map(tuple, columns)), where=line.record.where))
    return tuple(lines)


def run_slips(page: Any, num_slips: int) -> None:
    """Count the slips that the page and the marker catch, by step."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    total = 0
    for seed, place in sheets(("all",), (2, 3)):
        for number, (way, style) in enumerate(ten_ways(place.data["decimals"], seed).items()):
            if way in ("lines and rows left out", "any habit"):
                continue
            try:
                outcome = slip(place, style, 100 * seed + number)
            except MeaninglessError:
                continue
            if outcome is None:
                continue
            desk, fault = outcome
            result = next(verdicts_of(page, [{"sheet": place.data, "texts": typed_texts(desk)}]))
            verdict = result["verdicts"][fault.index][fault.place[0]][fault.place[1]]
            by_page, by_marker = verdict in FAILED, marker_fails(place, desk, fault)
            is_questioned = verdict in ("coarse", "few", "open", "true")
            row = counts[fault.step]
            row["slips"] += 1
            row["page"] += by_page
            row["marker"] += by_marker
            if fault.is_outside:
                row["outside"] += 1
                row["outside page"] += by_page
                row["outside questioned"] += is_questioned
                row["outside marker"] += by_marker
                row["first"] += by_page and result["first"] == fault.index
            row["page only"] += by_page and not by_marker
            total += 1
        if total >= num_slips:
            break
    print("\nOne number typed 2 to 30 units off and used (all: every slip; outside: no rounding above explains it)")
    print("| step | slips | page ✗ | marker ✗ | outside | page ✗ | page ? | marker ✗ | first line named | page only |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    everything: Counter[str] = Counter()
    for step in sorted(counts):
        everything.update(counts[step])
        print(_row(step, counts[step]))
    print(_row("all", everything), flush=True)


def _row(name: str, row: Counter[str]) -> str:
    def share(part: str, of: str) -> str:
        return f"{100 * row[part] / row[of]:.1f} %" if row[of] else "–"

    return (
        f"| {name} | {row['slips']} | {share('page', 'slips')} | {share('marker', 'slips')} | {row['outside']} "
        f"| {share('outside page', 'outside')} | {share('outside questioned', 'outside')} "
        f"| {share('outside marker', 'outside')} | {share('first', 'outside')} | {row['page only']} |"
    )


def main() -> None:
    """Run both parts and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--slips", type=int, default=2000)
    arguments = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        print(f"clearhead {version('clearhead')}, commit {commit.strip()}, Python {platform.python_version()}, "
              f"Chromium {browser.version}, {platform.processor() or platform.machine()}", flush=True)  # fmt: skip
        page = browser.new_page()
        page.add_script_tag(content=marking_script())
        start = time.perf_counter()
        if arguments.cells:
            run_faultless(page, arguments.cells)
        if arguments.slips:
            run_slips(page, arguments.slips)
        print(f"{time.perf_counter() - start:.0f} s")
        browser.close()


if __name__ == "__main__":
    main()

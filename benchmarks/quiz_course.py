"""Are fixed intervals fair? Faultless students round in ten ways against the sheets for Moodle.

Tables: failed cells by way of rounding, widths of the intervals, and slips that fall inside, by step. The students are
those of student_rounding.py, not the sample that the intervals come from. Students who cut numbers instead of rounding
them do not follow the sheet; they are counted apart. With --read-back, an independent reader from PyPI, if it is
installed (moodle-xml-parser), reads the file back.
Run from the repository: python benchmarks/quiz_course.py --cells 100000
"""

import argparse
import platform
import random
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import count
from typing import Any

import numpy as np

from clearhead.errors import QuizError
from clearhead.quiz import QuizRequest, quiz_kinds
from clearhead.quiz.course.choice import choose_course_sheets
from clearhead.quiz.course.intervals import CourseSheet
from clearhead.quiz.course.moodle import to_moodle
from clearhead.quiz.course.slips import slip_shares
from clearhead.worksheet.pen import in_rows
from clearhead.worksheet.rounding import BLANK, read_shown
from student_rounding import CALCULATOR, IN_FULL, Constants, Inner, Precision, compute

SHEETS = 3  # of every kind and difficulty in one round
STATED = Constants(euler=2.7183, pi=3.1416)
MOVES = frozenset({"embed", "split", "append", "join", "pick", "mask", "one_hot", "choose", "copy"})


@dataclass(frozen=True)
class Way:
    """How a student rounds: the written number, what the next line uses, and the numbers that are not written."""

    ties: str = "half-up"
    carries: str = "rounded"
    inner: Inner = IN_FULL
    constants: Constants = CALCULATOR


def ten_ways(decimals: int) -> dict[str, Way]:
    """Return ten ways that follow the sheet."""
    kept = Precision(decimals + 2, None)
    more = Precision(decimals + 3, None, "cut")
    root = Precision(4, None)
    short = Inner(kept, subtracts=False, is_plain=True)
    return {
        "rounded, rounded numbers used": Way(),
        "rounded half to even": Way(ties="half-even"),
        "full numbers used": Way(carries="full"),
        "one decimal more used": Way(carries="guard"),
        "exponentials shortened": Way(inner=short),
        "largest score subtracted, shortened": Way(inner=replace(short, subtracts=True)),
        "only the sum shortened": Way(inner=replace(short, only_sum=True)),
        "√d and e as stated": Way(carries="full", inner=Inner(root=root), constants=STATED),
        "one decimal more, cut": Way(inner=Inner(more, root, has_two_powers=True), constants=STATED),
        "another way in every line": Way(carries="mixed", inner=replace(short, root=root)),
    }


def work(course: CourseSheet, way: Way, seed: int) -> list[Any]:
    """Return every line as a student writes it, tokens as rows; printed numbers are used as they are printed."""
    sheet, rules = course.sheet, course.rules
    own: dict[int, Any] = {}
    lines: list[Any] = []
    for index, record in enumerate(in_rows(sheet.worksheet.trace)):
        draw = random.Random(f"{seed} {index}")
        inputs = {name: _mine(value, own) for name, value in record.inputs.items()}
        full = compute(record, inputs, way.constants, _inner(way, draw))
        if record.step.name in MOVES:
            written = carried = full
        else:
            written = Precision(rules.decimals, None, way.ties if rules.carry == "any" else "half-up").kept_all(full)
            carried = _carried(way, rules.carry, full, written, rules.decimals, draw)
        printed, is_printed = _printed(course, index)
        lines.append(np.where(is_printed, printed, written))
        own[id(record.value)] = np.where(is_printed, printed, carried)
    return lines


def _inner(way: Way, draw: random.Random) -> Inner:
    if way.carries != "mixed":
        return way.inner
    choices = (Inner(), way.inner, replace(way.inner, subtracts=True), replace(way.inner, only_sum=True))
    return draw.choice(choices)


def _carried(way: Way, rule: str, full: Any, written: Any, decimals: int, draw: random.Random) -> Any:
    """Return what the next line uses; a sheet may require the rounded or the full numbers."""
    finer = Precision(decimals + (1 if rule == "any" else 2), None).kept_all(full)
    by_name = {"rounded": written, "full": full, "guard": finer}
    if rule == "rounded" or way.carries == "cut":
        return written
    if rule == "full":
        return full if way.carries in ("rounded", "full") else finer
    return by_name[draw.choice(list(by_name)) if way.carries == "mixed" else way.carries]


def _mine(value: Any, own: dict[int, Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mine(part, own) for part in value)
    return own.get(id(value), value)


def _printed(course: CourseSheet, index: int) -> tuple[Any, Any]:
    """Return the printed numbers of a line and where they are printed, tokens as rows."""
    matrix = course.sheet.view.steps[index].matrix
    height, width = matrix.value.shape
    texts = [[matrix.digits.text(row, column) for column in range(width)] for row in range(height)]
    is_printed = np.array([[text != BLANK for text in row] for row in texts])
    values = np.array([[0.0 if text == BLANK else float(read_shown(text)) for text in row] for row in texts])
    is_turned = course.sheet.worksheet.layout == "columns"
    return (values.T, is_printed.T) if is_turned else (values, is_printed)


def failed_cells(course: CourseSheet, lines: Sequence[Any]) -> list[tuple[str, str, float]]:
    """Return the cells outside their interval: line, key, and what was written."""
    is_turned = course.sheet.worksheet.layout == "columns"
    failed = []
    for cell in course.cells:
        number = float(lines[cell.index][(cell.column, cell.row) if is_turned else (cell.row, cell.column)])
        if not cell.accepts(number):
            failed.append((cell.line, cell.key, number))
    return failed


def rounds(num_cells: int) -> Iterator[list[CourseSheet]]:
    """Yield the sheets of every kind and difficulty for one seed after another, until there are enough cells."""
    done = 0
    for seed in count(1):
        for kind in quiz_kinds():
            for difficulty in (1, 2, 3):
                try:
                    sheets = choose_course_sheets(QuizRequest(kind, difficulty, seed), SHEETS)
                except QuizError as wrong:
                    print(f"no sheets: {wrong}", flush=True)
                    continue
                done += sum(len(course.cells) for course in sheets) * len(ten_ways(2))
                yield sheets
        if done >= num_cells:
            return


def read_back(sheets: Sequence[CourseSheet]) -> str:
    """Read the file with an independent reader, and compare every interval; return what was read."""
    try:
        from moodle_xml_parser import parser  # type: ignore[import-not-found]  # not a dependency
    except ImportError:
        return "moodle-xml-parser is not installed: not read back"
    questions = parser.parse_string(to_moodle(sheets))["cloze"]
    num_gaps = 0
    for course, question in zip(sheets, questions, strict=True):
        for cell, gap in zip(course.cells, question.gaps, strict=True):
            centre, tolerance = map(float, gap.options[-1].answer.split(":"))
            assert abs(centre - tolerance - float(cell.low)) < 1e-9, (cell, gap)
            assert abs(centre + tolerance - float(cell.high)) < 1e-9, (cell, gap)
            assert float(gap.options[0].answer.split(":")[0]) == float(cell.key), (cell, gap)
            num_gaps += 1
    return f"moodle-xml-parser {version('moodle-xml-parser')} read {len(questions)} questions, {num_gaps} gaps"


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cells", type=int, default=100_000, help="cells that faultless students write")
    options.add_argument("--read-back", action="store_true", help="read the file with an independent reader")
    arguments = options.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    print(f"clearhead {version('clearhead')} {commit.stdout.strip()}, numpy {version('numpy')}, Python "
          f"{platform.python_version()}, {platform.platform()}, {time.strftime('%Y-%m-%d')}")  # fmt: skip
    start = time.perf_counter()
    cells: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    cutters: Counter[bool] = Counter()
    carries: Counter[str] = Counter()
    slips: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    widths: list[float] = []
    for sheets in rounds(arguments.cells):
        for number, course in enumerate(sheets):
            carries[course.rules.carry] += 1
            widths += [cell.units for cell in course.cells]
            for name, way in ten_ways(course.rules.decimals).items():
                wrong = failed_cells(course, work(course, way, number))
                cells[name] += len(course.cells)
                failed[name] += len(wrong)
                for line, key, text in wrong[:2]:
                    print(f"FAILED {course.sheet.number} {line}: {text} for {key} ({name})", flush=True)
            cut = work(course, Way(ties="cut", carries="cut"), number)
            cutters[False] += len(failed_cells(course, cut))
            cutters[True] += len(course.cells)
        for share in slip_shares(sheets):
            slips[share.step][0] += share.num_slips
            slips[share.step][1] += share.num_inside
        if arguments.read_back:
            read_back(sheets)
    print(f"\n{sum(carries.values())} sheets, {len(widths):,} cells; rules: {dict(carries)}")
    print(f"half-widths in units: median {statistics.median(widths):.2f}, largest {max(widths):.2f}")
    print(f"\n{'way of rounding':40} {'cells':>9} {'failed':>7}")
    for name in cells:
        print(f"{name:40} {cells[name]:>9,} {failed[name]:>7,}")
    print(f"{'all':40} {sum(cells.values()):>9,} {sum(failed.values()):>7,}")
    print(f"cut instead of rounded (against the sheet): {cutters[False]:,} of {cutters[True]:,} outside")
    print(f"\n{'step':18} {'slips':>8} {'inside':>7} {'share':>7}")
    for step, (number, inside) in sorted(slips.items()):
        print(f"{step:18} {number:>8,} {inside:>7,} {inside / number:>7.2%}")
    total, inside = (sum(counts[place] for counts in slips.values()) for place in (0, 1))
    print(f"{'all':18} {total:>8,} {inside:>7,} {inside / total:>7.2%}")
    if arguments.read_back:
        print(f"\n{read_back(choose_course_sheets(QuizRequest('self-attention', 2, 7), SHEETS))}")
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()

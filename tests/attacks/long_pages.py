"""Pages on which one line, or one piece of a line, is repeated thousands of times: the work must not grow faster than they do.

A test counts function calls, so that a busy machine changes nothing; python -m tests.attacks.long_pages 1000 30000 prints seconds.
"""

import sys
import time
from types import FrameType
from typing import Any

from clearhead.check.marker import mark_all
from clearhead.check.time_limit import TimeUpError, time_limit
from clearhead.cli.check import ReportFormat, content_of
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.workings import read_workings

LINES = {
    "numbers": "1",
    "rows": "1 2 3",
    "open brackets": "[1",
    "powers of ten": "1e5",
    "struck out": "~~1~~",
    "statements": "a = 1",
    "vectors": "Q = [1 2]",
    "ragged matrices": "W_Q = [1 2; 3]",
    "rows with labels": "row 1: 1 2",
    "rows with names": "q1: 1 2",
    "rows of tokens": "the: 1 2",
    "names above rows": "x =\n1\n1 2",
    "results alone": "= 1",
    "sums": "1 + 1 = 2",
    "formulas": "Q = X W_Q",
    "exponentials": "exp(1) + exp(2) = 10",
    "words": "Now we look at the words.",
    "words with numbers": "the score is 0.5 and the weight is 0.7",
    "headings": "## Part\nQ = [1 2]",
    "exercises": "X = [1 2; 3 4]\nW_Q = [1 0; 0 1]\nZ = [1 2]\n## Part",
    "displays": "\\[ Q = \\begin{pmatrix} 1 & 2 \\end{pmatrix} \\]",
    "rows of LaTeX": "1 & 2 \\\\",
    "opened matrices": "\\begin{pmatrix}",
    "rows of a table": "| x | 1 | 2 |",
    "tables": "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "tabs": "a\t1",
    "opened comments": "<!--",
}
PIECES = {  # repeated in one line
    "numbers": "1 ", "digits": "1", "brackets": "[", "closed brackets": "[1]", "equals signs": "=1", "statements": "a = 1, ",
    "bars": "1|", "signs": "+1", "braces": "{", "struck out": "~~", "words": "a ", "displays": "\\[",
}  # fmt: skip


def page(kind: str, repeats: int) -> str:
    """Return the page of a kind: lines, or one line."""
    return f"{LINES[kind]}\n" * repeats if kind in LINES else PIECES[kind.removeprefix("one line of ")] * repeats


KINDS = (*LINES, *(f"one line of {kind}" for kind in PIECES))


def check_page(text: str, problem: str | None = "numerical-self-attention") -> str:
    """Read and mark a page and write its reports in every format; return what came of it."""
    try:
        reports = mark_all(read_workings(text.encode(), ".txt", problem))
    except ProblemError as error:
        return f"refused: {error}"
    return f"{sum(len(content_of(reports, form)) for form in ReportFormat)} bytes of reports"


def num_calls(text: str, problem: str | None = "numerical-self-attention") -> int:
    """Return the number of calls of functions, also of those in C, while a page is checked."""
    count = 0

    def add(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(add)
    try:
        check_page(text, problem)
    finally:
        sys.setprofile(before)
    return count


def main() -> None:
    """Print the CPU seconds of each page at the sizes that are given, at most 60."""
    sizes = [int(size) for size in sys.argv[1:]] or [1_000, 10_000]
    check_page(page("vectors", 1))  # imports
    print("| page |", *(f"{size:,} |" for size in sizes))
    for kind in KINDS:
        seconds = []
        for size in sizes:
            start = time.process_time()
            try:
                with time_limit(60.0):
                    check_page(page(kind, size))
            except TimeUpError:
                pass
            seconds.append(time.process_time() - start)
        print(f"| {kind} |", *(f"{number:.2f} |" for number in seconds), flush=True)


if __name__ == "__main__":
    main()

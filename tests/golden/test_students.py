"""Fifty pages as students typed them, by a hand that did not know the reader: what is read of each, and nothing wrong.

`lost` is the number of cells that are not read from a page today; it may only fall.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from clearhead.check.marker import mark_all
from clearhead.errors import ProblemError
from clearhead.exercises.check.read.number import read_cell
from clearhead.exercises.check.read.workings import read_workings

PAGES = json.loads((Path(__file__).parent / "students.json").read_text(encoding="utf-8"))
# A page whose rows have their name behind them: two numbers of another matrix are read as rows of the scores.
MISREAD = {"50-two-column-mixed.txt": 2}


def numbers_read(page: dict[str, Any]) -> dict[tuple[str, int, int], float]:
    """Return the numbers that are marked, by symbol and cell."""
    suffix = Path(page["name"]).suffix
    try:
        (report,) = mark_all(read_workings(page["page"].encode(), suffix, page["problem"]))
    except ProblemError:
        return {}
    own = [line for line in report.lines if not line.copy_of]
    return {(line.symbol, cell.row, cell.column): read_cell(cell.text).value for line in own for cell in line.marked}


@pytest.mark.parametrize("page", PAGES, ids=[page["name"] for page in PAGES])
def test_the_numbers_of_a_page_are_read_or_known_to_be_lost(page: dict[str, Any]) -> None:
    numbers = numbers_read(page)
    lost = misread = 0
    for symbol, rows in page["lines"].items():
        for i, row in enumerate(rows if isinstance(rows[0], list) else [rows]):
            for j, expected in enumerate(row):
                if expected is None:
                    continue
                number = numbers.get((symbol, i, j))
                if number is None:
                    lost += 1
                elif number != expected and not math.isclose(number, expected, rel_tol=1e-6, abs_tol=1e-9):
                    misread += 1
    assert (lost, misread) == (page["lost"], MISREAD.get(page["name"], 0))

"""Students of the benchmark, who do not know the intervals: faultless ones are inside, and a changed number is not."""

from pathlib import Path

import numpy as np
import pytest

from clearhead.quiz import QuizRequest
from clearhead.quiz.course.choice import choose_course_sheets

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.mark.parametrize(
    ("kind", "difficulty"),
    [("self-attention", 2), ("multi-head-attention", 3), ("recurrent", 3), ("context", 2), ("encoder-block", 3)],
)
def test_no_number_of_a_faultless_student_is_outside(kind: str, difficulty: int) -> None:
    from quiz_course import failed_cells, ten_ways, work

    (course,) = choose_course_sheets(QuizRequest(kind, difficulty, 13), 1)
    ways = ten_ways(course.rules.decimals)
    assert len(ways) == 10
    for name, way in ways.items():
        assert failed_cells(course, work(course, way, 13)) == [], name


def test_a_number_that_is_five_units_off_is_outside() -> None:
    from quiz_course import Way, failed_cells, work

    (course,) = choose_course_sheets(QuizRequest("self-attention", 2, 13), 1)
    lines = work(course, Way(), 13)
    for cell in course.cells:
        changed = [np.array(line) for line in lines]
        changed[cell.index][cell.row, cell.column] += 5 * course.rules.unit
        assert [line for line, _, _ in failed_cells(course, changed)] == [cell.line]

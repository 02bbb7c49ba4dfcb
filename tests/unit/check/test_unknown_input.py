"""A norm whose input is unknown: what holds for every norm is checked, and nothing else is called wrong."""

from typing import Any

import numpy as np
import pytest

from clearhead import solve
from clearhead.check.unknown_input import has_unknown_input, with_placeholder
from clearhead.errors import ProblemError
from tests.unit.check.desk import marked, verdicts, working

UNKNOWN: dict[str, Any] = {"kind": "add-and-norm", "X": "unknown"}
GOOD = "-0.93 -0.46 1.39 / -0.71 -0.71 1.41"  # rows with mean 0 and deviation 1, to two decimals


def letters(lines: dict[str, str], **more: Any) -> list[str]:
    return verdicts(marked({**UNKNOWN, **more}, lines))


def test_a_norm_that_can_be_right_is_plausible() -> None:
    report = marked(UNKNOWN, {"mean": "3 / 3", "variance": "4.67 / 2", "N": GOOD})
    assert verdicts(report) == ["μ u u", "σ² u u", "N ppp ppp"]
    assert report.notes[0].sentence == "X is unknown, so only what holds for every norm was checked."
    assert {cell.truth for line in report.lines for row in line.cells for cell in row if cell} == {""}, (
        "nobody knows it"
    )


def test_what_cannot_be_checked_earns_nothing_and_is_not_counted() -> None:
    """A mean and a variance can be anything; the norm has mean 0 and deviation 1, and earns its two marks."""
    report = marked(UNKNOWN, {"mean": "3 / 3", "variance": "4.67 / 2", "N": GOOD})
    assert (report.earned, report.out_of) == (2.0, 2.0)
    assert report.lines[0].marks.because == "not checked and not counted, because the input is unknown"
    assert report.not_marked == ["mean (2 cells not checked)", "variance (2 cells not checked)"]
    assert report.exit_code == 2
    alone = marked(UNKNOWN, {"N": GOOD})
    assert (alone.earned, alone.out_of, alone.exit_code) == (2.0, 2.0, 0)
    gain = marked({**UNKNOWN, "gain": [1, 2, 3]}, {"N": "5 6 7"})
    assert (gain.earned, gain.out_of, gain.exit_code) == (0.0, 0.0, 2)


def test_a_mean_other_than_0_is_impossible() -> None:
    assert letters({"N": "-0.93 -0.46 1.39 / -0.71 -0.71 1.14"}) == ["N ppp III"]


def test_a_deviation_other_than_1_is_impossible_unless_epsilon_is_large() -> None:
    """-1.5, 0.5 and 1 have mean 0 and deviation √(3.5/3) = 1.08."""
    assert letters({"N": "-1.50 0.50 1.00"}) == ["N III"]
    assert letters({"N": "-1.50 0.50 1.00"}, epsilon=0) == ["N III"]
    assert letters({"N": "-0.90 0.30 0.60"}, epsilon=0.5) == ["N uuu"], "σ²/(σ² + 0.5) can be small"
    assert letters({"σ": "1.2", "N": "-0.90 0.30 0.60"}, epsilon=0.5) == ["σ u", "N uuu"]
    assert letters({"N": "0 0 0"}) == ["N uuu"], "a token with three equal numbers"


def test_a_negative_variance_or_deviation_is_impossible() -> None:
    assert letters({"variance": "-2 / 3"}) == ["σ² I u"]
    assert letters({"std": "2 / -3"}) == ["σ u I"]


def test_a_gain_or_a_shift_leaves_nothing_to_check() -> None:
    assert letters({"N": "5 6 7"}, gain=[1, 2, 3]) == ["N uuu"]


@pytest.mark.parametrize(
    ("norm", "lines", "expected"),
    [
        ("batch", "1.00 -1.00 / -1.00 1.20", "N pI pI"),
        ("all", "1.00 -1.00 / -1.00 1.00", "N pp pp"),
        ("all", "1.00 -1.00 / -1.00 1.20", "N II II"),
        ("rms", "0.58 1.15 / 1 1", "N uu uu"),
    ],
)
def test_other_norms_have_their_own_groups(norm: str, lines: str, expected: str) -> None:
    assert letters({"N": lines}, norm=norm) == [expected]


def test_the_shape_is_that_of_the_written_lines() -> None:
    def shape(lines: dict[str, str], **more: Any) -> tuple[int, ...]:
        problem = {**UNKNOWN, **more}
        return np.shape(with_placeholder(problem, working(problem, lines))["X"])

    assert shape({"mean": "1 2 3 4", "N": "1 2 / 1 2 / 1 2 / 1 2"}) == (4, 2)
    assert shape({"mean": "1 2 3"})[0] == 3
    assert shape({"N[3]": "1 2 3 4"}) == (3, 4)
    assert shape({"N[a]": "1 2 3 4"}, tokens=["a", "b"]) == (2, 4)
    assert shape({"N": "1 2 / 3 4 / 5 6"}, tokens=["a", "b"], layout="columns") == (3, 2)


def test_rows_by_name_are_read() -> None:
    assert letters({"N[b]": "-0.71 -0.71 1.14"}, tokens=["a", "b"]) == ["N ... III"]


def test_only_a_norm_can_be_unknown_and_only_a_working_of_it() -> None:
    assert has_unknown_input(UNKNOWN)
    assert not has_unknown_input({"kind": "self-attention", "X": "unknown"})
    with pytest.raises(ProblemError, match="X is unknown, so no number can be computed. Give X; a working can be"):
        solve(UNKNOWN)
    with pytest.raises(ProblemError, match="X is unknown, so Y cannot be added"):
        solve({**UNKNOWN, "Y": [[1]]})
    with pytest.raises(ProblemError, match="add-and-norm needs X"):
        solve({"kind": "add-and-norm"})

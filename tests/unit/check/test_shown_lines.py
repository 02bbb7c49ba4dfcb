"""Lines that the exercise does not show: exponentials, their sum and the standard deviation are marked all the same."""

import math
from typing import Any

import numpy as np
import pytest

from clearhead.check.shown_lines import compare_with_shown_lines
from clearhead.check.verdict import Verdict
from clearhead.errors import ProblemError
from tests.unit.check.desk import marked, verdicts

# Q Kᵀ = [[1, 3], [0, 1]]; divided by √2: 0.707, 2.121, 0, 0.707; e^0.707 = 2.028, e^2.121 = 8.342
ATTENTION: dict[str, Any] = {
    "kind": "self-attention",
    "Q": [[1, 2], [0, 1]],
    "K": [[1, 0], [1, 1]],
    "V": [[2, 0], [0, 4]],
}
SCALED = "0.707 2.121 / 0 0.707"
EXPONENTIALS = "2.028 8.342 / 1 2.028"
SUMS = "10.370 / 3.028"
WEIGHTS = "0.196 0.804 / 0.330 0.670"
SHIFTED = "0.243 1 / 0.493 1"  # e^-1.414 and e^-0.707
NORM: dict[str, Any] = {"kind": "add-and-norm", "X": [[1, 2, 6], [2, 2, 5]]}


def letters(problem: dict[str, Any], lines: dict[str, str]) -> list[str]:
    return verdicts(marked(problem, lines))


@pytest.mark.parametrize("name", ["exp", "exponentials", "e^S", "e^s", "exp(S')", "e^S′", "numerators", "E"])
@pytest.mark.parametrize("total", ["sum", "Σ", "row sums", "denominator", "Z-sum"])
def test_exponentials_and_their_sum_are_lines_of_their_own(name: str, total: str) -> None:
    lines = {"scores": "1 3 / 0 1", "scaled scores": SCALED, name: EXPONENTIALS, total: SUMS, "weights": WEIGHTS}
    assert letters(ATTENTION, lines) == ["S cc cc", "S′ cc cc", "exp cc cc", "Σ c c", "A cc cc"]


def test_the_largest_score_of_each_row_may_be_subtracted_first() -> None:
    lines = {"S'": SCALED, "S - max": "-1.414 0 / -0.707 0", "exp": SHIFTED, "sum": "1.243 / 1.493", "weights": WEIGHTS}
    report = marked(ATTENTION, lines)
    assert verdicts(report) == ["S′ cc cc", "D cc cc", "exp cc cc", "Σ c c", "A cc cc"]
    assert [note.sentence for note in report.notes][-1] == (
        "Your working also has D, exp and Σ, which the exercise does not show. They were marked too. "
        "D is each score minus the largest of its row."
    )


@pytest.mark.parametrize(("shown", "written"), [("exponentials", SHIFTED), ("shifted-exponentials", EXPONENTIALS)])
def test_both_ways_are_accepted_whatever_the_exercise_shows(shown: str, written: str) -> None:
    report = marked({**ATTENTION, "show": shown}, {"S'": SCALED, "exp": written, "weights": WEIGHTS})
    assert verdicts(report) == ["S′ cc cc", "exp cc cc", "A cc cc"]


def test_a_wrong_exponential_is_the_error_and_later_lines_follow_from_it() -> None:
    """8.432 for 8.342: the sum is 10.460, and the weights are 2.028/10.460 = 0.194 and 8.432/10.460 = 0.806."""
    lines = {"S'": SCALED, "exp": "2.028 8.432 / 1 2.028", "sum": "10.460 / 3.028", "A": "0.194 0.806 / 0.330 0.670"}
    assert letters(ATTENTION, lines) == ["S′ cc cc", "exp cS cc", "Σ f c", "A ff cc"]


def test_a_wrong_sum_is_the_error_and_the_weights_follow_from_it() -> None:
    """2.028/11.370 = 0.178 and 8.342/11.370 = 0.734: these weights sum to 0.912, which is not a second error."""
    lines = {"S'": SCALED, "exp": EXPONENTIALS, "sum": "11.370 / 3.028", "A": "0.178 0.734 / 0.330 0.670"}
    report = marked(ATTENTION, lines)
    assert verdicts(report) == ["S′ cc cc", "exp cc cc", "Σ S c", "A ff cc"]
    assert len(report.findings) == 1
    assert report.findings[0].right_sum == "2.028 + 8.342 = 10.37"


def test_weights_that_do_not_follow_from_the_sum_are_wrong() -> None:
    lines = {"S'": SCALED, "exp": EXPONENTIALS, "sum": SUMS, "A": "0.196 0.864 / 0.330 0.670"}
    assert letters(ATTENTION, lines)[-1] == "A cS cc"


def test_the_sum_alone_is_marked() -> None:
    assert letters(ATTENTION, {"S'": SCALED, "sum": SUMS, "A": WEIGHTS}) == ["S′ cc cc", "Σ c c", "A cc cc"]
    assert letters(ATTENTION, {"S'": SCALED, "sum": "10.370 / 3.280", "A": WEIGHTS})[1] == "Σ c T", (
        "the weights follow from 3.028"
    )


def test_rows_and_masked_keys() -> None:
    problem = {**ATTENTION, "kind": "masked-self-attention"}
    lines = {"exp[1]": "2.028 0", "exp[2]": "1 2.028", "sum": "2.028 / 3.028", "weights": "1 0 / 0.330 0.670"}
    assert letters(problem, lines) == ["exp cc cc", "Σ c c", "A cc cc"]


def test_every_head_has_its_own() -> None:
    problem = {
        "kind": "multi-head-attention",
        "num_heads": 2,
        "Q": [[0, 1], [1, 0]],
        "K": [[0, 1], [1, 0]],
        "V": [[1, 0], [0, 1]],
    }
    lines = {"head 1: exp": "1 1 / 1 2.718", "head 2: exp": "2.718 1 / 1 1", "head 2: sum": "3.718 / 2"}
    assert letters(problem, lines) == ["exp₁ cc cc", "exp₂ cc cc", "Σ₂ c c"]


@pytest.mark.parametrize("name", ["σ", "std", "sigma", "standard deviation", "SD"])
def test_a_standard_deviation_is_a_line_of_its_own(name: str) -> None:
    """√(14/3) = 2.160 and √2 = 1.414; with 1.314 for the second, (2 - 3)/1.314 = -0.761 and (5 - 3)/1.314 = 1.522."""
    right = "-0.926 -0.463 1.389 / "
    lines = {"mean": "3 / 3", "var": "4.667 / 2", name: "2.160 / 1.414", "N": right + "-0.707 -0.707 1.414"}
    assert letters(NORM, lines) == ["μ c c", "σ² c c", "σ c c", "N ccc ccc"]
    lines = {**lines, name: "2.160 / 1.314", "N": right + "-0.761 -0.761 1.522"}
    assert letters(NORM, lines) == ["μ c c", "σ² c c", "σ c S", "N ccc fff"]


def test_a_root_mean_square_is_a_line_of_its_own() -> None:
    problem = {"kind": "add-and-norm", "norm": "rms", "X": [[1, 2, 2]]}
    assert letters(problem, {"rms": "1.732", "N": "0.577 1.155 1.155"}) == ["RMS c", "N ccc"]


def test_exponentials_and_deviation_of_one_working() -> None:
    weights = {"W_Q": [[1, 0], [0, 1]], "W_K": [[1, 0], [0, 1]], "W_V": [[1, 0], [0, 1]]}
    problem = {
        "kind": "encoder-block",
        "X": [[1, 0], [0, 2]],
        "norm": "layer",
        "self_attention": {**weights, "scale": "none"},
    }
    lines = {"exp": "2.718 1 / 1 54.598", "sum": "3.718 / 55.598", "std": "0.731 / 1.964"}
    assert letters(problem, lines)[:2] == ["exp cc cc", "Σ c c"]
    assert [line.symbol for line in marked(problem, lines).lines][2] == "σ₁"


def test_a_line_without_a_place_stays_without_one() -> None:
    report = marked(ATTENTION, {"S'": SCALED, "colour": "1 2", "A": WEIGHTS})
    assert [line.symbol for line in report.lines] == ["S′", "A"]
    assert [line.equation for line in report.lines][-1] == "softmax of each row of S′", "nothing was added"


def test_a_problem_that_cannot_be_solved_raises_its_own_error() -> None:
    with pytest.raises(ProblemError, match="show: 'ex' is not a line that can be shown"):
        marked({**ATTENTION, "show": "ex"}, {"A": WEIGHTS})
    with pytest.raises(TypeError):
        compare_with_shown_lines(None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_faultless_students_who_write_these_lines_make_no_error(seed: int) -> None:
    """Each line is rounded or cut, and the next is worked from the rounded line or in full."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 5))
    problem = {"kind": "softmax", "scores": np.round(rng.normal(0, 1.5, (size, size)), 2).tolist()}
    decimals = int(rng.integers(2, 5))
    is_cut, is_shifted, goes_on = rng.random(3) < (0.2, 0.5, 0.7)

    def short(values: Any) -> Any:
        shift = np.trunc(values * 10.0**decimals) if is_cut else np.round(values * 10.0**decimals)
        return shift / 10.0**decimals

    scores = np.array(problem["scores"])
    exact = np.exp(scores - scores.max(axis=1, keepdims=True) if is_shifted else scores)
    exponentials = short(exact)
    total_exact = (exponentials if goes_on else exact).sum(axis=1, keepdims=True)
    total = short(total_exact)
    weights = short(exponentials / total if goes_on else exact / total_exact)
    lines = {
        name: " / ".join(" ".join(f"{value:.{decimals}f}" for value in row) for row in values)
        for name, values in (("exp", exponentials), ("sum", total), ("weights", weights))
        if name == "weights" or rng.random() < 0.8
    }
    report = marked(problem, lines)
    wrong = [cell for line in report.lines for row in line.cells for cell in row if cell and cell.verdict.is_error]
    assert not wrong, f"{wrong}"
    judged = {cell.verdict for line in report.lines for row in line.cells for cell in row if cell}
    assert Verdict.UNCHECKED not in judged
    assert math.isclose(report.earned, report.out_of)

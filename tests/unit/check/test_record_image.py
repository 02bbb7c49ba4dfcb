"""The image of a record depends on the precision of the lines above it, including skipped lines."""

import numpy as np
import pytest

from clearhead import solve
from clearhead.check.graph import Graph
from clearhead.check.placing import Placer
from clearhead.check.record_image import RecordImages, nearest_records
from tests.unit.check.desk import working

UNIT = [[1, 0], [0, 1]]
ATTENTION = {
    "kind": "self-attention", "X": UNIT, "W_Q": [[1, 2], [3, 1]], "W_K": UNIT, "W_V": [[1, 2], [3, 4]],
    "scale": "none", "mask": "none", "normaliser": "softmax", "layout": "rows",
}  # fmt: skip
Q, K, V, S, A, Z = range(6)


def reach_of(lines, *, is_cut=False):
    graph = Graph(solve(ATTENTION))
    statements = Placer(graph, working(ATTENTION, lines)).place().statements
    values = [np.asarray(record.value) for record in graph.records]
    for index, own in statements.items():
        values[index] = own[0].value
    return RecordImages(graph, statements, values, {}, is_cut=is_cut)


def soft(one, other):
    return float(np.exp(one) / (np.exp(one) + np.exp(other)))


def test_a_rounded_score_is_exact_to_half_its_unit_and_a_truncated_one_to_a_unit_away_from_0():
    """Scores 3.1 and 1.1 for 3 and 1 are not exact: rounded 3.05 … 3.15 and 1.05 … 1.15; truncated up to 3.2 and 1.2.

    Exponentials that are cut at two decimals, such as e⁻² = 0.13, add less than 0.018.
    """
    lines = {"S": "1.1 2.1 / 3.1 1.1"}
    rounded, cut = reach_of(lines).image(A), reach_of(lines, is_cut=True).image(A)
    for bound, low, high in (
        (rounded.low, soft(3.05, 1.15) - 0.018, soft(3.05, 1.15)),
        (rounded.high, soft(3.15, 1.05), soft(3.15, 1.05) + 0.018),
        (cut.low, soft(3.05, 1.2) - 0.018, soft(3.05, 1.2)),
        (cut.high, soft(3.2, 1.05), soft(3.2, 1.05) + 0.018),
    ):
        assert low <= bound[1, 0] <= high


@pytest.mark.parametrize("scores", ["1 2 / 3 1", "1.0 2.0 / 3.0 1.0", "1.00 2.0 / 3 1.000"])
def test_a_decimal_that_equals_its_exact_value_was_not_rounded(scores):
    """The weight of softmax(3, 1) varies only with e⁻² = 0.1353, which can be kept as 0.13 or 0.14."""
    image = reach_of({"S": scores}).image(A)
    assert (image.low[1, 0], image.high[1, 0]) == pytest.approx((1 / 1.14, 1 / 1.13))


def test_integer_scores_from_integers_are_exact_even_if_the_lines_above_were_skipped():
    image = reach_of({"S": "1 2 / 3 1", "Z": "2.46 3.46 / 1.24 2.24"}).image(A)
    assert (image.low[1, 0], image.high[1, 0]) == pytest.approx((1 / 1.14, 1 / 1.13)), "e⁻² = 0.14 or 0.13"


def test_a_skipped_line_can_have_been_rounded_like_its_neighbours():
    """Weights not written, S and V integers, Z to one decimal: weights ± 0.05, and Z₁₁ = A₁₁·1 + A₁₂·3 ± 0.05·(1 + 3).

    e⁻¹ = 0.3679, kept as 0.36 or 0.37, adds a little.
    """
    lines = {"V": "1 2 / 3 4", "S": "1 2 / 3 1", "Z": "2.4 3.4 / 1.2 2.2"}
    image = reach_of(lines).image(Z)
    assert 0.05 * (1 + 3) <= image.radius[0, 0] < 0.05 * (1 + 3) + 0.02
    finer = reach_of({**lines, "Z": "2.462 3.462 / 1.238 2.238"}).image(Z)
    assert finer.radius[0, 0] < 0.02


def test_the_nearest_written_records_and_the_unwritten_ones_between_are_found():
    reach = reach_of({"Q": "1 2 / 3 1", "A": "0.27 0.73 / 0.88 0.12"})
    parents, statements = reach.graph.parents, reach.statements
    assert nearest_records(Z, parents, statements, is_written=True) == {A}
    assert nearest_records(Z, parents, statements, is_written=False) == {V}
    assert nearest_records(A, parents, statements, is_written=True) == {Q}
    assert nearest_records(A, parents, statements, is_written=False) == {S, K}


def test_a_miscopied_integer_is_corrected_to_the_exact_right_one():
    """S₂₁ written 4 instead of 3, in a line of integers: corrected it is 3, not 2.5 … 3.5."""
    reach = reach_of({"S": "1 2 / 4 1"})
    wrong = np.array([[False, False], [True, False]])
    reach.correct(S, wrong, np.array([[1.0, 2.0], [3.0, 1.0]]))
    reach.x[S][:] = [[1.0, 2.0], [3.0, 1.0]]
    image = reach.image(A)
    assert (image.low[1, 0], image.high[1, 0]) == pytest.approx((1 / 1.14, 1 / 1.13)), "e⁻² = 0.14 or 0.13"

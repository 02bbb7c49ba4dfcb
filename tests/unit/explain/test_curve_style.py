"""What all pictures of curves have in common: styles that differ, ticks that are round, peaks that stay."""

from pathlib import Path

import pytest

from clearhead.explain.curve_style import compose, round_ticks, thin_out, tick_label
from clearhead.explain.curves import MAX_RUNS, CurvePoint, read_runs
from tests.unit.explain.logs import log_line, unvalidated_run, validated_run, write_run


def test_twenty_runs_have_different_styles_and_neighbours_differ_in_dashes(tmp_path: Path) -> None:
    places = [unvalidated_run(tmp_path / f"run-{number}") for number in range(MAX_RUNS)]
    styles = compose(read_runs(places), ["loss"], "updates").styles
    assert len({(style.colour, style.dashes) for style in styles}) == MAX_RUNS
    assert len({style.dashes for style in styles[:5]}) == 5, "they can be told apart in grey"


def test_a_panel_has_the_curves_of_the_runs_with_its_metric(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "a"), unvalidated_run(tmp_path / "b")])
    picture = compose(runs, ["loss", "valid/bleu", "rate"], "updates")
    assert [[curve.name for curve in panel.curves] for panel in picture.panels] == [["a", "b"], ["a"], ["a"]]
    assert picture.panels[1].label == "validation BLEU"
    assert picture.panels[1].curves[0].segments == [[(10, 3.0), (30, 17.0)]]
    assert (picture.title, picture.has_legend, picture.num_columns, picture.num_rows) == ("2 runs", True, 2, 2)


def test_a_curve_has_a_gap_where_a_number_was_not_finite(tmp_path: Path) -> None:
    lines = [log_line(step, step, loss=loss) for step, loss in enumerate((3.0, 2.0, None, 1.0))]
    (curve,) = compose(read_runs([write_run(tmp_path / "a", lines)]), ["loss"], "updates").panels[0].curves
    assert curve.segments == [[(0, 3.0), (1, 2.0)], [(3, 1.0)]]
    assert curve.has_marks, "a single point has no line"
    assert curve.last == (3, 1.0)


def test_a_thinned_curve_keeps_its_peaks() -> None:
    points = [CurvePoint(step, float(step), None, 1.0) for step in range(10_000)]
    points[4321] = CurvePoint(4321, 4321.0, None, 99.0)
    points[7777] = CurvePoint(7777, 7777.0, None, -99.0)
    points[50:90] = [CurvePoint(step, float(step), None, None) for step in range(50, 90)]
    thinned = thin_out(points)
    assert len(thinned) <= 1000
    assert {points[4321], points[7777]} <= set(thinned)
    assert any(point.value is None for point in thinned)
    assert [point.updates for point in thinned] == sorted(point.updates for point in thinned)
    assert thin_out(points[:1000]) == points[:1000]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1400.0, [0, 500, 1000, 1500]),
        (3.0, 17.0, [0, 5, 10, 15, 20]),
        (90.3, 98.7, [90, 92, 94, 96, 98, 100]),
        (5.0, 5.0, [4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6]),
        (0.0, 0.0, [-1.0, -0.5, 0.0, 0.5, 1.0]),
        (-1e-5, 1e-5, [-1e-5, -5e-6, 0.0, 5e-6, 1e-5]),
    ],
)
def test_ticks_are_round_and_enclose_the_range(low: float, high: float, ticks: list[float]) -> None:
    assert round_ticks(low, high) == pytest.approx(ticks)


def test_ticks_of_any_range_are_few() -> None:
    for low, high in ((0.0, 1e300), (-1e300, 1e300), (0.0, 1e-300), (1e6, 1e6 + 1), (7.0, 7.0 + 1e-12)):
        ticks = round_ticks(low, high)
        assert 2 <= len(ticks) <= 8
        assert ticks[0] <= low <= high <= ticks[-1]


def test_tick_labels_are_short() -> None:
    assert [tick_label(tick) for tick in (0.0, 0.1 + 0.2, 1400.0, 2.5e6, 1e-5)] == [
        "0", "0.3", "1,400", "2.5M", "1e-05",
    ]  # fmt: skip

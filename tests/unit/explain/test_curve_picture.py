"""Pictures of curves: what is drawn, always the same bytes, and one sentence without matplotlib."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clearhead.errors import ClearheadError
from clearhead.explain.curve_picture import check_curve_file, describe, draw_curves, save_curves, thin_out
from clearhead.explain.curves import MAX_RUNS, CurvePoint, RunCurves, read_runs
from clearhead.plots import BLUE, PAPER
from tests.unit.explain.logs import log_line, unvalidated_run, validated_run, write_run

pytest.importorskip("matplotlib", reason="curves are drawn by matplotlib")


def texts(runs: list[RunCurves], metrics: list[str], path: Path) -> list[str]:
    save_curves(runs, metrics, "updates", path)
    return ["".join(text.itertext()) for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_a_panel_has_the_curves_of_the_runs_with_its_metric(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "a"), unvalidated_run(tmp_path / "b")])
    figure = draw_curves(runs, ["loss", "valid/bleu", "rate"], "updates")
    assert [panel.get_title(loc="left") for panel in figure.axes] == [
        "training loss",
        "validation BLEU",
        "learning rate",
    ]
    one, other = figure.axes[0].lines
    assert (list(one.get_xdata()), list(one.get_ydata())) == ([10, 20, 30], [5, 3, 2])
    assert (list(other.get_xdata()), list(other.get_ydata())) == ([5, 10], [7, 6])
    assert [len(line.get_xdata()) for line in figure.axes[1].lines] == [2, 0]
    assert figure.axes[0].get_xlim()[0] == 0


def test_an_svg_has_the_names_of_its_runs_and_follows_dark_mode(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "first"), validated_run(tmp_path / "second <&>", 2.0)])
    shown = texts(runs, ["loss", "valid/bleu"], tmp_path / "curves.svg")
    assert {"first", "second <&>", "training loss", "validation BLEU", "updates"} <= set(shown)
    svg = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    assert f'[style*="stroke: {BLUE.lower()}"] {{ stroke: #56b4e9 !important }}' in svg
    assert f"fill: {PAPER.lower()}" in svg
    assert "training loss, by updates: first 2 at 30; second &lt;&amp;&gt; 4 at 30." in svg


def test_twenty_runs_have_different_styles_and_neighbours_differ_in_dashes(tmp_path: Path) -> None:
    runs = read_runs([unvalidated_run(tmp_path / f"run-{number}") for number in range(MAX_RUNS)])
    lines = draw_curves(runs, ["loss"], "updates").axes[0].lines
    dashes = [str(line._unscaled_dash_pattern) for line in lines]  # type: ignore[attr-defined]
    assert len({(line.get_color(), dash) for line, dash in zip(lines, dashes, strict=True)}) == MAX_RUNS
    assert len(set(dashes[:5])) == 5, "they can be told apart in grey"


def test_a_curve_has_a_gap_where_a_number_was_not_finite(tmp_path: Path) -> None:
    numbers = [*(3.0 for _ in range(50)), None, 1.0, None, *(2.0 for _ in range(50))]
    runs = read_runs(
        [write_run(tmp_path / "a", [log_line(step, step, loss=loss) for step, loss in enumerate(numbers)])]
    )
    (line,) = draw_curves(runs, ["loss"], "updates").axes[0].lines
    assert [step for step, loss in zip(*line.get_data(), strict=True) if loss != loss] == [50, 52]
    assert line.get_marker() == "o", "a single point has no line"
    smooth = read_runs([write_run(tmp_path / "b", [log_line(step, step, loss=1.0) for step in range(50)])])
    assert draw_curves(smooth, ["loss"], "updates").axes[0].lines[0].get_marker() == ""


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


def test_numbers_that_cannot_be_drawn_leave_an_empty_panel_and_large_ones_are_drawn(tmp_path: Path) -> None:
    nothing = read_runs([write_run(tmp_path / "a", [log_line(1, 1, loss=None), log_line(2, 2, loss=None)])])
    assert "training loss" in texts(nothing, ["loss"], tmp_path / "a.svg")
    assert describe(nothing, ["loss"], "updates") == "training loss, by updates: no numbers."
    large = read_runs([write_run(tmp_path / "b", [log_line(1, 1, loss=1e299), log_line(2, 2, loss=-1e299)])])
    assert "training loss" in texts(large, ["loss"], tmp_path / "b.svg")


def test_a_long_name_is_shortened(tmp_path: Path) -> None:
    runs = read_runs([unvalidated_run(tmp_path / ("x" * 99 + "end")), unvalidated_run(tmp_path / "b")])
    assert "…" + "x" * 44 + "end" in texts(runs, ["loss"], tmp_path / "x.svg")


def test_the_same_numbers_give_the_same_files(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "a"), unvalidated_run(tmp_path / "b")])
    for name in ("first.svg", "second.svg", "first.PNG", "second.PNG"):
        save_curves(runs, ["loss", "rate", "valid/bleu"], "updates", tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    png = (tmp_path / "first.PNG").read_bytes()
    assert png == (tmp_path / "second.PNG").read_bytes()
    assert png.startswith(b"\x89PNG")
    save_curves(runs[:1], ["loss"], "updates", tmp_path / "one.png")
    assert int.from_bytes((tmp_path / "one.png").read_bytes()[16:20]) == 900, "one panel is 4.5 inches wide"


def test_other_files_are_refused_and_a_picture_needs_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClearheadError, match=r"curves.pdf: .pdf is not the suffix .* ends in \.svg or \.png"):
        check_curve_file(tmp_path / "curves.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ClearheadError, match=r"curves needs matplotlib.*'\.\[plots\]'.*JSON need no other package\."):
        check_curve_file(tmp_path / "curves.svg")

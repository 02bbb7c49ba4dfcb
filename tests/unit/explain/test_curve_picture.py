"""Pictures of curves: an SVG without matplotlib, a PNG with it, always the same bytes."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clearhead.errors import ClearheadError
from clearhead.experiments.colours import BLUE, PAPER, VERMILION
from clearhead.explain.curve_picture import check_curve_file, describe, draw_png, draw_svg, save_curves
from clearhead.explain.curve_style import compose
from clearhead.explain.curves import read_runs
from tests.unit.explain.logs import log_line, unvalidated_run, validated_run, write_run

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_an_svg_has_the_curve_of_every_run_and_their_names(tmp_path: Path) -> None:
    runs = read_runs([validated_run(tmp_path / "first"), validated_run(tmp_path / "second <&>", 2.0)])
    svg = draw_svg(compose(runs, ["loss", "valid/bleu"], "updates"))
    root = ElementTree.fromstring(svg)
    lines = list(root.iter(f"{SVG}polyline"))
    assert [line.get("stroke") for line in lines] == [BLUE, VERMILION] * 3, "legend and two panels"
    assert [line.get("stroke-dasharray") for line in lines[:2]] == [None, "8 3"]
    shown = texts(svg)
    assert {"first", "second <&>", "training loss", "validation BLEU", "updates"} <= set(shown)
    assert root.find(f"{SVG}rect").get("fill") == PAPER  # type: ignore[union-attr]


def test_the_points_are_at_their_places(tmp_path: Path) -> None:
    lines = [log_line(0, 0, loss=10.0), log_line(50, 1, loss=5.0), log_line(100, 2, loss=0.0)]
    svg = draw_svg(compose(read_runs([write_run(tmp_path / "a", lines)]), ["loss"], "updates"))
    (line,) = re.findall(r'<polyline points="([^"]+)"', svg)
    (left, top), (middle, half), (right, bottom) = [tuple(map(float, point.split(","))) for point in line.split()]
    assert (middle, half) == pytest.approx(((left + right) / 2, (top + bottom) / 2))
    assert left < right
    assert top < bottom, "10 is above 0"


def test_the_picture_is_described_in_words_and_follows_dark_mode(tmp_path: Path) -> None:
    picture = compose(read_runs([validated_run(tmp_path / "a")]), ["valid/bleu"], "seconds")
    assert describe(picture) == "validation BLEU, by seconds: a 17 at 63."
    svg = draw_svg(picture)
    assert describe(picture) in svg
    assert f'[stroke="{BLUE}"] {{ stroke: #56B4E9 }}' in svg
    assert texts(svg)[0] == "a", "the title of a single run"


def test_a_metric_without_finite_numbers_is_an_empty_panel(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [log_line(1, 1, loss=None), log_line(2, 2, loss=None)])
    picture = compose(read_runs([run]), ["loss"], "updates")
    assert "no finite numbers" in texts(draw_svg(picture))
    assert describe(picture) == "training loss, by updates: no numbers."


def test_a_long_name_is_shortened(tmp_path: Path) -> None:
    runs = read_runs([unvalidated_run(tmp_path / ("x" * 99 + "end")), unvalidated_run(tmp_path / "b")])
    assert "…" + "x" * 44 + "end" in texts(draw_svg(compose(runs, ["loss"], "updates")))


def test_the_same_numbers_give_the_same_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="a PNG is drawn by matplotlib")
    runs = read_runs([validated_run(tmp_path / "a"), unvalidated_run(tmp_path / "b")])
    for name in ("first.svg", "second.svg", "first.PNG", "second.PNG"):
        save_curves(runs, ["loss", "rate", "valid/bleu"], "updates", tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    png = (tmp_path / "first.PNG").read_bytes()
    assert png == (tmp_path / "second.PNG").read_bytes()
    assert png.startswith(b"\x89PNG")


def test_a_png_of_one_run_has_a_title_and_no_legend(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="a PNG is drawn by matplotlib")
    runs = read_runs([validated_run(tmp_path / "a")])
    one = draw_png(compose(runs, ["loss"], "updates"))
    assert int.from_bytes(one[16:20]) == 900, "the width of one panel at twice the resolution"


def test_other_files_are_refused_and_a_png_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClearheadError, match=r"curves.pdf is neither an SVG nor a PNG. Use a file name that ends in"):
        check_curve_file(tmp_path / "curves.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    check_curve_file(tmp_path / "curves.svg")
    with pytest.raises(ClearheadError, match=r"a PNG needs matplotlib.*'\.\[plots\]'.*An SVG needs no other package\."):
        check_curve_file(tmp_path / "curves.png")

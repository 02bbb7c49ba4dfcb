"""Plots of experiments: SVG or PNG, the same for the same numbers, and readable in dark mode."""

import re
from pathlib import Path

import pytest

from clearhead.errors import ClearheadError
from clearhead.experiments import EXPERIMENTS, Experiment
from clearhead.experiments.colours import DARK, PAPER
from clearhead.experiments.picture import check_picture, save_picture
from tests.unit.experiments.results import measured


def test_a_picture_drawn_from_json_is_the_same_picture(tmp_path: Path) -> None:
    fresh = EXPERIMENTS["norms"].run(0)
    save_picture(fresh, tmp_path / "fresh.svg")
    save_picture(Experiment.from_json(fresh.to_json()), tmp_path / "again.svg")
    assert (tmp_path / "fresh.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_a_picture_is_svg_or_png() -> None:
    with pytest.raises(ClearheadError, match=r"slide\.gif: \.gif is not the suffix .* ends in \.svg or \.png"):
        check_picture(Path("slide.gif"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_colour_of_an_svg_changes_in_dark_mode(name: str, tmp_path: Path) -> None:
    save_picture(measured(name), tmp_path / "plot.svg")
    svg = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    stylesheet = svg[svg.index("<style") : svg.index("</style>")]
    assert "@media (prefers-color-scheme: dark)" in stylesheet
    drawing = svg.partition("</style>")[2]
    for role, colour in set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", drawing)) - {("stroke", PAPER.lower())}:
        assert f'[style*="{role}: {colour}"]' in stylesheet, (role, colour)
    assert all("fill: " in style for style in re.findall(r'<text[^>]*style="([^"]*)"', drawing))
    assert len(DARK) == len(set(DARK.values()))


def test_a_plot_keeps_its_text_and_has_fonts_to_fall_back_to(tmp_path: Path) -> None:
    save_picture(measured("norms"), tmp_path / "plot.svg")
    svg = (tmp_path / "plot.svg").read_text(encoding="utf-8")
    assert "The effect of padding on batch norm and layer norm</text>" in svg
    assert "'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif" in svg
    assert "'DejaVu Sans';" not in svg

"""Plots of studies: lines and bars read from tables; SVG or PNG, the same for the same numbers, readable in dark mode."""

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from clearhead.errors import ClearheadError
from clearhead.plots import DARK, PAPER
from clearhead.studies import STUDIES, Experiment, ResultTable, run_study
from clearhead.studies.picture import Panel, check_picture, draw_panels, save_picture, series_of, size_of
from tests.unit.studies.tiny import measured

WIDE = ResultTable(
    "",
    ("variant", "measure", "2 words", "11 words"),
    (("A", "loss", 3.0, 0.0), ("A", "right", 0.5, 1.0), ("B", "loss", 2.0, 1.0)),
)
LONG = ResultTable(
    "", ("d", "heads", "first", "second"), ((1, 2, 0.5, 5.0), (1, 3, 0.25, 7.0), (4, 2, 1.5, 8.0), (4, 3, 2.5, 9.0))
)
WORDS = ResultTable("", ("way", "loss", "seconds"), (("fast", 1.0, 3.0), ("slow", 2.0, 5.0)))
RESULT = Experiment("x", "Title", 0, "", (WIDE, LONG, WORDS), "")


def test_a_picture_drawn_from_json_is_the_same_picture(tmp_path: Path) -> None:
    fresh = run_study("norms")
    save_picture(fresh, tmp_path / "fresh.svg")
    save_picture(Experiment.from_json(fresh.to_json()), tmp_path / "again.svg")
    assert (tmp_path / "fresh.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


def test_a_picture_is_svg_or_png() -> None:
    with pytest.raises(ClearheadError, match=r"slide\.gif: \.gif is not the suffix .* ends in \.svg or \.png"):
        check_picture(Path("slide.gif"))


@pytest.mark.parametrize("name", STUDIES)
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


def test_columns_of_lengths_are_the_places_of_the_chosen_rows() -> None:
    series = series_of(RESULT, Panel("", by=("variant",), only="loss"))
    assert series == {"A": [(2.0, 3.0), (11.0, 0.0)], "B": [(2.0, 2.0), (11.0, 1.0)]}


def test_columns_are_lines_and_can_have_other_names() -> None:
    panel = Panel("", ("first", "second"), "d", tables={1: ""}, only="", lines=("one", "two"))
    assert list(series_of(RESULT, panel)) == ["one", "two"]


def test_cells_and_tables_name_lines() -> None:
    assert series_of(RESULT, Panel("", ("first",), "d", by=("heads",), tables={1: "model"})) == {
        "model, heads: 2": [(1, 0.5), (4, 1.5)],
        "model, heads: 3": [(1, 0.25), (4, 2.5)],
    }


def drawn(*panels: Panel) -> Any:
    figure = Figure(figsize=size_of(panels))
    draw_panels(RESULT, figure, panels)
    return figure


def test_numbers_become_lines_and_words_become_bars_with_their_numbers() -> None:
    figure = drawn(Panel("L", by=("variant",), only="loss", log="y"), Panel("B", ("seconds",), "way", tables={2: ""}))
    lines, bars = figure.axes
    assert [list(line.get_ydata()) for line in lines.get_lines()] == [[3.0, 0.0], [2.0, 1.0]]
    assert (lines.get_xlabel(), lines.get_yscale(), bars.get_ylabel()) == ("words", "log", "seconds")
    assert [bar.get_height() for bar in bars.patches] == [3.0, 5.0]
    assert [text.get_text() for text in bars.texts] == ["3", "5"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A", "B"]


def test_a_line_has_one_colour_in_all_panels() -> None:
    figure = drawn(Panel("1", by=("variant",), only="loss"), Panel("2", by=("variant",), only="right"))
    first, second = ([line.get_color() for line in axes.get_lines()] for axes in figure.axes)
    assert second == first[:1]


def test_more_than_three_panels_are_two_rows() -> None:
    panel = Panel("", ("loss",), "way", tables={2: ""})
    assert len(drawn(panel, panel, panel, panel).axes) == 4
    assert size_of([panel] * 4)[1] > size_of([panel] * 3)[1]

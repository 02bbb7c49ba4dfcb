"""The plot of a study, as SVG or PNG: by default panels whose lines and bars are read from its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle, product
from pathlib import Path
from textwrap import fill
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clearhead.errors import ClearheadError, not_installed
from clearhead.files.output_format import format_of_file
from clearhead.plots import BLUE, FORMATS, GREEN, GREY, INK, STYLE, VERMILION, write_plot
from clearhead.studies.experiment import Cell, Experiment, format_cell
from clearhead.studies.registry import find_study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = {BLUE: "o", VERMILION: "s", GREEN: "^", INK: "D", GREY: "v"}
STYLES = [(colour, f"{marker}{dash}") for dash, (colour, marker) in product(("-", "--"), _MARKERS.items())]
_DOTS_PER_INCH = 150
_MOST_IN_A_ROW = 3
_LEAST_WIDTH = 10.0  # inches: the title and the legend need them
_WIDTH_OF_BARS = 0.8  # of one group
_LABEL_WIDTH = 13  # characters of a line under a group of bars
_MOST_WIDE_LABELS = 4  # more groups get narrow labels

Series = dict[str, list[tuple[Cell, float]]]  # name of a line or a colour of bars -> its points


@dataclass(frozen=True)
class Panel:
    """What one panel shows of the tables: lines if the values on its x axis are numbers, bars if they are words.

    Without `x`, the columns that are called `8 words` and the like are the places on the x axis.
    """

    title: str
    y: tuple[str, ...] = ()  # columns
    x: str = ""  # a column
    by: tuple[str, ...] = ()  # columns whose cells name a line; none: each of `y` is a line
    only: str = ""  # a cell of the rows that are drawn
    tables: Mapping[int, str] = field(default_factory=lambda: {0: ""})  # number of a table -> name of its lines
    log: str = ""  # the axes that are logarithmic: x, y or xy
    lines: tuple[str, ...] = ()  # names of the lines of `y`; by default those of the columns
    label: str = ""  # of the y axis; by default that of the column


def series_of(result: Experiment, panel: Panel) -> Series:
    """Return the points of every line or colour of bars."""
    series: Series = {}
    columns = dict(zip(panel.y, panel.lines or panel.y, strict=True))
    for number, name in panel.tables.items():
        table = result.tables[number]
        for row in table.rows:
            if panel.only and panel.only not in row:
                continue
            cells = dict(zip(table.columns, row, strict=True))
            if panel.x:
                places = dict.fromkeys(panel.y, cells[panel.x])
            else:
                places = {column: float(column.split()[0]) for column in table.columns if column[0].isdigit()}
            for column, place in places.items():
                own = "" if panel.by or len(panel.y) < 2 else columns[column]
                names = [name, *(_named(key, cells[key]) for key in panel.by), own]
                label = ", ".join(part for part in names if part)
                series.setdefault(label, []).append((place, float(cells[column])))
    return series


def _named(column: str, cell: Cell) -> str:
    return cell if isinstance(cell, str) else f"{column}: {cell}"


def size_of(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return the width and the height of a plot in inches."""
    num_rows, num_columns = grid_of(panels)
    return max(_LEAST_WIDTH, 1.5 + 4.0 * num_columns), 1.2 + 3.6 * num_rows


def grid_of(panels: Sequence[Panel]) -> tuple[int, int]:
    """Return the number of rows and columns: at most three panels side by side."""
    num_rows = -(-len(panels) // _MOST_IN_A_ROW)
    return num_rows, -(-len(panels) // num_rows)


def draw_panels(result: Experiment, figure: "Figure", panels: Sequence[Panel]) -> None:
    """Draw all panels; a line has the same colour in each of them, and the legend is below them."""
    grid = figure.subplots(*grid_of(panels), squeeze=False).flatten()
    all_series = [series_of(result, panel) for panel in panels]
    names = dict.fromkeys(chain.from_iterable(all_series))
    names.pop("", None)  # the only line or colour of its panel
    styles = {"": STYLES[0], **dict(zip(names, cycle(STYLES), strict=False))}
    for axes, panel, series in zip(grid, panels, all_series, strict=True):
        places = list(dict.fromkeys(place for place, _ in chain.from_iterable(series.values())))
        if isinstance(places[0], str) and not panel.by:
            _draw_bars(axes, series, places, styles)
        else:
            for name, points in series.items():
                colour, style = styles[name]
                axes.plot(*zip(*points, strict=True), style, color=colour, label=name)
        axes.set(title=panel.title, xlabel=panel.x or "words")
        axes.set_ylabel(panel.label or (panel.y[0] if len(panel.y) == 1 else ""))
        if "x" in panel.log:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        elif isinstance(places[0], int):
            axes.locator_params("x", integer=True)
        if "y" in panel.log:
            axes.set_yscale("log", nonpositive="mask")
            axes.yaxis.set_major_formatter("{x:g}")
        else:
            axes.set_ylim(bottom=0)
    if len(names) > 1:
        labelled: dict[str, Any] = {}
        for axes in grid:
            handles, labels = axes.get_legend_handles_labels()
            labelled |= zip(labels, handles, strict=True)
        figure.legend(labelled.values(), labelled.keys(), loc="outside lower center", ncols=4)


def _draw_bars(axes: "Axes", series: Series, places: list[Cell], styles: Mapping[str, tuple[str, str]]) -> None:
    thickness = _WIDTH_OF_BARS / len(series)
    for number, (name, points) in enumerate(series.items()):
        middles = [places.index(place) + (number - (len(series) - 1) / 2) * thickness for place, _ in points]
        bars = axes.bar(middles, [height for _, height in points], thickness, color=styles[name][0], label=name)
        axes.bar_label(bars, [format_cell(height) for _, height in points], padding=2, fontsize=10)
    width, size = (_LABEL_WIDTH, 11) if len(places) <= _MOST_WIDE_LABELS else (8, 8)
    axes.set_xticks(
        range(len(places)), [fill(str(place), width, break_long_words=False) for place in places], fontsize=size
    )
    axes.margins(y=0.1)  # for the numbers above the bars


def check_picture(path: Path) -> None:
    """Raise ClearheadError before anything is measured if the plot could not be written."""
    format_of_file(path, FORMATS, default="svg", option="picture")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ClearheadError(not_installed("a picture", "matplotlib", "plots")) from None


def draw_picture(result: Experiment, module: ModuleType | None = None) -> "Figure":
    """Return the plot of an experiment as a matplotlib Figure.

    `module` is by default the study with the name of the result. It has the PANELS of the plot, or its SIZE in
    inches and a function that draws it.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    experiment = find_study(result.name) if module is None else module
    panels = getattr(experiment, "PANELS", ())
    size = size_of(panels) if panels else experiment.SIZE
    with rc_context(STYLE):
        figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12, wspace=0.03))
        figure.suptitle(result.title, x=0.01, ha="left")
        if panels:
            draw_panels(result, figure, panels)
        else:
            experiment.draw(result, figure)
    return figure


def save_picture(result: Experiment, path: Path, module: ModuleType | None = None) -> None:
    """Draw an experiment and write it as SVG or PNG, depending on the suffix of the file name."""
    check_picture(path)
    description = result.finding or result.claim
    write_plot(
        lambda: draw_picture(result, module),
        path,
        title=result.title,
        description=description,
        dots_per_inch=_DOTS_PER_INCH,
    )

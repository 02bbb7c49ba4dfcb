"""Draw the curves of runs with matplotlib, as SVG or PNG: a panel for each metric, a colour and dashes for each run.

An SVG is light, or dark where the system is set to dark; a PNG is always light. The same numbers give the same bytes.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.errors import ClearheadError, not_installed
from clearhead.explain.curves import LABELS, Axis, CurvePoint, RunCurves, check_axis
from clearhead.files.output_format import format_of_file
from clearhead.plots import BLUE, FORMATS, GREEN, GREY, STYLE, VERMILION, write_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT, _HEAD = 4.5, 2.6, 0.5  # of a panel, and of the title or a name in the legend, in inches
_DOTS_PER_INCH = 200
_COLOURS = (BLUE, VERMILION, GREEN, GREY)
# Strokes and gaps in widths of the line. Five patterns and four colours give 20 different pairs.
_DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1.5), (5, 1.5, 1, 1.5), (8, 2.5))
_MAX_MARKS = 40  # curves with more points have no marks
_MAX_POINTS = 1000  # of a drawn curve
_MAX_NAME = 48  # characters of a name in the legend


def check_curve_file(path: Path) -> None:
    """Raise ClearheadError if the picture could not be written: another suffix, or no matplotlib."""
    format_of_file(path, FORMATS, default="svg")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        message = not_installed("a picture of curves", "matplotlib", "plots")
        raise ClearheadError(f"{message} The points as JSON need no other package.", options=("as_json",)) from None


def save_curves(runs: Sequence[RunCurves], metrics: Sequence[str], axis: Axis, path: Path) -> None:
    """Draw the curves and write them as SVG or PNG, depending on the suffix of the file name."""
    check_curve_file(path)
    write_plot(
        lambda: draw_curves(runs, metrics, axis),
        path,
        title=_title(runs),
        description=describe(runs, metrics, axis),
        dots_per_inch=_DOTS_PER_INCH,
    )


def draw_curves(runs: Sequence[RunCurves], metrics: Sequence[str], axis: Axis) -> "Figure":
    """Return the curves as a matplotlib Figure."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    check_axis(runs, axis)
    num_columns = min(2, len(metrics))
    num_rows = math.ceil(len(metrics) / num_columns)
    num_names = len(runs) if len(runs) > 1 else 0
    with rc_context(STYLE):
        height = _HEIGHT * num_rows + _HEAD * (1 + num_names / 2)
        figure = Figure(figsize=(_WIDTH * num_columns, height), layout="constrained")
        for number, metric in enumerate(metrics, start=1):
            _draw_panel(figure.add_subplot(num_rows, num_columns, number), runs, metric, axis)
        if num_names:
            lines = [Line2D([], [], **_line_style(index)) for index in range(len(runs))]
            figure.legend(lines, [_shortened(run.name) for run in runs], loc="outside upper left", handlelength=4)
        else:
            figure.suptitle(_shortened(_title(runs)), x=0.01, ha="left")
    return figure


def _draw_panel(panel: "Axes", runs: Sequence[RunCurves], metric: str, axis: Axis) -> None:
    from matplotlib.ticker import StrMethodFormatter

    panel.set_title(LABELS.get(metric, metric))
    panel.set_xlabel(axis)
    panel.grid(axis="y", color=GREY, alpha=0.4, linewidth=0.7)
    for direction in (panel.xaxis, panel.yaxis):
        direction.set_major_formatter(StrMethodFormatter("{x:,.7g}"))
    for index, run in enumerate(runs):
        points = thin_out(run.curves.get(metric, ()))
        numbers = [math.nan if point.value is None else point.value for point in points]  # a gap in the curve
        marker = "o" if _has_marks(numbers) else ""
        panel.plot([point.at(axis) for point in points], numbers, marker=marker, **_line_style(index))
    panel.set_xlim(left=0)
    panel.locator_params(axis="x", nbins=5)  # more numbers would touch each other


def _has_marks(numbers: Sequence[float]) -> bool:
    """Return whether the points are marked: few points, or one between two gaps, which has no line."""
    if len(numbers) <= _MAX_MARKS:
        return True
    gaps = [-1, *(index for index, number in enumerate(numbers) if math.isnan(number)), len(numbers)]
    return any(later - earlier == 2 for earlier, later in pairwise(gaps))


def _line_style(index: int) -> dict[str, Any]:
    dashes = _DASHES[index % len(_DASHES)]
    return {"color": _COLOURS[index % len(_COLOURS)], "linestyle": (0, dashes) if dashes else "-", "linewidth": 2}


def _title(runs: Sequence[RunCurves]) -> str:
    return runs[0].name if len(runs) == 1 else f"{len(runs)} runs"


def _shortened(name: str) -> str:
    """Return a name that fits; the end of a path says more than its beginning."""
    return name if len(name) <= _MAX_NAME else f"…{name[1 - _MAX_NAME :]}"


def describe(runs: Sequence[RunCurves], metrics: Sequence[str], axis: Axis) -> str:
    """Return the last value of every curve in words, for readers who cannot see the picture."""
    sentences = []
    for metric in metrics:
        ends = []
        for run in runs:
            finite = [point for point in run.curves.get(metric, ()) if point.value is not None]
            if finite:
                ends.append(f"{run.name} {finite[-1].value:.4g} at {finite[-1].at(axis):,.6g}")
        sentences.append(f"{LABELS.get(metric, metric)}, by {axis}: {'; '.join(ends) or 'no numbers'}.")
    return " ".join(sentences)


def thin_out(points: Sequence[CurvePoint], limit: int = _MAX_POINTS) -> list[CurvePoint]:
    """Return at most about `limit` points: of each stretch the lowest and the highest, so that no peak disappears."""
    if len(points) <= limit:
        return list(points)
    size = math.ceil(2 * len(points) / limit)
    thinned: list[CurvePoint] = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        drawn = sorted((point for point in stretch if point.value is not None), key=lambda point: point.value or 0.0)
        extremes = {drawn[0], drawn[-1]} if drawn else {stretch[0]}
        thinned += sorted(extremes, key=lambda point: point.updates)
    return thinned

"""What the SVG and the PNG of curves have in common: the size of the grid, colours, dashes and ticks.

Every run has a colour and a dash pattern, so that the runs also differ in a grey print.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from clearhead.experiments.colours import BLUE, GREEN, GREY, VERMILION
from clearhead.explain.curves import LABELS, Axis, CurvePoint, RunCurves, check_axis

_COLOURS = (BLUE, VERMILION, GREEN, GREY)
# Lengths of strokes and gaps. Five patterns and four colours give 20 different pairs.
_DASHES: tuple[tuple[int, ...], ...] = ((), (8, 3), (2, 3), (10, 3, 2, 3), (16, 5))
_MAX_MARKS = 40  # curves with more points have no marks
_MAX_POINTS = 1000  # of a drawn curve


@dataclass(frozen=True)
class DrawnCurve:
    """One curve of a panel: the run's name and style, and its points in segments between gaps."""

    name: str
    colour: str
    dashes: tuple[int, ...]
    segments: list[list[tuple[float, float]]]

    @property
    def has_marks(self) -> bool:
        """Whether the points are marked: few points, or single ones, which have no line."""
        return sum(map(len, self.segments)) <= _MAX_MARKS or any(len(segment) == 1 for segment in self.segments)

    @property
    def last(self) -> tuple[float, float]:
        """The last point."""
        return self.segments[-1][-1]


@dataclass(frozen=True)
class CurvePanel:
    """The plot of one metric."""

    metric: str
    curves: list[DrawnCurve]

    @property
    def label(self) -> str:
        """The metric in words."""
        return LABELS.get(self.metric, self.metric)


@dataclass(frozen=True)
class CurvePicture:
    """A picture with a panel for each metric; all panels have the same x axis."""

    panels: list[CurvePanel]
    styles: list[DrawnCurve]  # one for each run, without points, for the legend
    axis: Axis

    @property
    def title(self) -> str:
        """What the picture shows."""
        names = [style.name for style in self.styles]
        return names[0] if len(names) == 1 else f"{len(names)} runs"

    @property
    def has_legend(self) -> bool:
        """Whether the curves need the names of their runs."""
        return len(self.styles) > 1

    @property
    def num_columns(self) -> int:
        """The number of panels side by side."""
        return min(2, len(self.panels))

    @property
    def num_rows(self) -> int:
        """The number of panels one above the other."""
        return -(-len(self.panels) // self.num_columns)


def compose(runs: Sequence[RunCurves], metrics: Sequence[str], axis: Axis) -> CurvePicture:
    """Arrange the curves of runs in panels."""
    check_axis(runs, axis)
    styles = [
        DrawnCurve(run.name, _COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)], [])
        for index, run in enumerate(runs)
    ]
    panels = []
    for metric in metrics:
        curves = [
            DrawnCurve(style.name, style.colour, style.dashes, segments)
            for run, style in zip(runs, styles, strict=True)
            if (segments := _segments(thin_out(run.curves.get(metric, ())), axis))
        ]
        panels.append(CurvePanel(metric, curves))
    return CurvePicture(panels, styles, axis)


def _segments(points: Sequence[CurvePoint], axis: Axis) -> list[list[tuple[float, float]]]:
    groups = groupby(points, key=lambda point: point.value is not None)
    return [
        [(point.at(axis), point.value) for point in group if point.value is not None]
        for is_drawn, group in groups
        if is_drawn
    ]


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


def round_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about `count` round numbers that enclose the range from `low` to `high`."""
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        margin = abs(high) / 10 or 1.0
        low, high = low - margin, high + margin
    rough = (high - low) / count
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_label(tick: float) -> str:
    """Return a tick as text: 1,400 or 0.25 or 1e-05."""
    return f"{tick:,.6g}" if abs(tick) < 1e6 else f"{tick / 1e6:,.6g}M"

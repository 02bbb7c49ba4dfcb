"""Draw the curves of runs as SVG, which needs no other package, or as PNG with matplotlib.

An SVG is light, or dark where the system is set to dark; a PNG is always light. The same numbers give the same bytes.
"""

from collections.abc import Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from clearhead.errors import ClearheadError, not_installed, printable
from clearhead.experiments.colours import DARK, INK, PAPER
from clearhead.explain.curve_style import CurvePanel, CurvePicture, DrawnCurve, compose, round_ticks, tick_label
from clearhead.explain.curves import Axis, RunCurves
from clearhead.files.writing import write_file

_WIDTH, _HEIGHT = 450, 260  # of a panel, in pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 24, 36, 46  # margins of a panel
_TITLE, _LEGEND_ROW = 40, 20  # heights of the title of one run, and of the name of each of several runs
_FRAME_COLOUR = "#B8BEC6"
_MAX_NAME = 48  # characters of a name in the legend
_FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
_GREY_LINES = {_FRAME_COLOUR: "#4A525D"}
_INCH = 100  # pixels


def check_curve_file(path: Path) -> None:
    """Raise ClearheadError if the picture cannot be written: another suffix, or no matplotlib for a PNG."""
    kind = _kind(path)
    if kind not in ("svg", "png"):
        raise ClearheadError(
            f"{printable(str(path))} is neither an SVG nor a PNG. Use a file name that ends in .svg or .png.",
            options=("output",),
        )
    if kind == "png":
        try:
            import matplotlib  # noqa: F401
        except ImportError:
            message = not_installed("a PNG", "matplotlib", "plots")
            raise ClearheadError(f"{message} An SVG needs no other package.", options=("output",)) from None


def save_curves(runs: Sequence[RunCurves], metrics: Sequence[str], axis: Axis, path: Path) -> None:
    """Draw the curves and write them as SVG or PNG, depending on the suffix of the file name."""
    check_curve_file(path)
    picture = compose(runs, metrics, axis)
    write_file(path, draw_png(picture) if _kind(path) == "png" else draw_svg(picture).encode())


def _kind(path: Path) -> str:
    return "svg" if str(path) == "-" else path.suffix.lower().removeprefix(".")


def draw_svg(picture: CurvePicture) -> str:
    """Return the picture as SVG."""
    head = _head(picture)
    width, height = _WIDTH * picture.num_columns, head + _HEIGHT * picture.num_rows
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="title description" font-family="{_FONT}" font-size="12">',
        f'<title id="title">{escape(picture.title)}</title>',
        f'<desc id="description">{escape(describe(picture))}</desc>',
        f"<style>@media (prefers-color-scheme: dark) {{ {_dark_rules()} }}</style>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
    ]
    if picture.has_legend:
        for row, style in enumerate(picture.styles):
            y = _LEGEND_ROW * (row + 1)
            parts += [_line([(14, y), (62, y)], style), _text(70, y + 4, _shortened(style.name))]
    else:
        parts.append(_text(14, 26, _shortened(picture.title), 'font-size="16" font-weight="bold"'))
    for index, panel in enumerate(picture.panels):
        row, column = divmod(index, picture.num_columns)
        parts.append(f'<g transform="translate({_WIDTH * column} {head + _HEIGHT * row})">')
        parts += [*_panel(panel, picture.axis), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _head(picture: CurvePicture) -> int:
    """Return the height of the title or the legend."""
    return _LEGEND_ROW * (len(picture.styles) + 1) if picture.has_legend else _TITLE


def describe(picture: CurvePicture) -> str:
    """Return the last value of every curve in words, for readers who cannot see the picture."""
    sentences = []
    for panel in picture.panels:
        ends = [f"{curve.name} {curve.last[1]:.4g} at {curve.last[0]:,.6g}" for curve in panel.curves]
        sentences.append(f"{panel.label}, by {picture.axis}: {'; '.join(ends) or 'no numbers'}.")
    return " ".join(sentences)


def _panel(panel: CurvePanel, axis: Axis) -> list[str]:
    parts = [_text(_LEFT, 20, panel.label, 'font-size="13"')]
    points = [point for curve in panel.curves for segment in curve.segments for point in segment]
    if not points:
        return [*parts, _text(_LEFT, _HEIGHT / 2, "no finite numbers")]
    x_ticks = round_ticks(min(0.0, *(x for x, _ in points)), max(x for x, _ in points))
    y_ticks = round_ticks(min(y for _, y in points), max(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])
        up = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM)

    for tick in y_ticks:
        (start, y), (end, _) = place(x_ticks[0], tick), place(x_ticks[-1], tick)
        parts.append(f'<path d="M{start:.1f},{y:.1f}H{end:.1f}" stroke="{_FRAME_COLOUR}" stroke-width="0.7"/>')
        parts.append(_text(start - 7, y + 4, tick_label(tick), 'text-anchor="end" font-size="11"'))
    for tick in x_ticks:
        x, y = place(tick, y_ticks[0])
        parts.append(f'<path d="M{x:.1f},{y:.1f}v5" stroke="{INK}"/>')
        parts.append(_text(x, y + 18, tick_label(tick), 'text-anchor="middle" font-size="11"'))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, axis, 'text-anchor="middle"'))
    for curve in panel.curves:
        for segment in curve.segments:
            parts.append(_line([place(x, y) for x, y in segment], curve, has_marks=curve.has_marks))
    return parts


def _line(points: Sequence[tuple[float, float]], style: DrawnCurve, *, has_marks: bool = False) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dashes = f' stroke-dasharray="{" ".join(map(str, style.dashes))}"' if style.dashes else ""
    line = f'<polyline points="{path}" fill="none" stroke="{style.colour}" stroke-width="2.2"{dashes}/>'
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{style.colour}"/>' for x, y in points)
    return line + marks if has_marks else line


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{INK}" {attributes}>{escape(text)}</text>'


def _shortened(name: str) -> str:
    """Return a name that fits; the end of a path says more than its beginning."""
    return name if len(name) <= _MAX_NAME else f"…{name[1 - _MAX_NAME :]}"


def _dark_rules() -> str:
    return " ".join(
        f'[{role}="{light}"] {{ {role}: {dark} }}'
        for light, dark in {**DARK, **_GREY_LINES}.items()
        for role in ("fill", "stroke")
    )


def draw_png(picture: CurvePicture) -> bytes:
    """Return the picture as PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from clearhead.experiments.picture import STYLE

    height = _head(picture) + _HEIGHT * picture.num_rows
    with rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH * picture.num_columns / _INCH, height / _INCH), layout="constrained")
        for index, panel in enumerate(picture.panels):
            axes = figure.add_subplot(picture.num_rows, picture.num_columns, index + 1)
            axes.set_title(panel.label)
            axes.set_xlabel(picture.axis)
            axes.grid(axis="y", color=_FRAME_COLOUR, linewidth=0.7)
            for curve in panel.curves:
                for segment in curve.segments:
                    axes.plot(
                        *zip(*segment, strict=True), marker="o" if curve.has_marks else "", **_matplotlib_style(curve)
                    )
        if picture.has_legend:
            lines = [Line2D([], [], **_matplotlib_style(style)) for style in picture.styles]
            names = [_shortened(style.name) for style in picture.styles]
            figure.legend(lines, names, loc="outside upper left", handlelength=4)
        else:
            figure.suptitle(_shortened(picture.title), x=0.01, ha="left")
        content = BytesIO()
        figure.savefig(content, format="png", dpi=2 * _INCH, metadata={"Software": "clearhead"})
    return content.getvalue()


def _matplotlib_style(curve: DrawnCurve) -> dict[str, Any]:
    return {"color": curve.colour, "linestyle": (0, curve.dashes) if curve.dashes else "-", "linewidth": 2}

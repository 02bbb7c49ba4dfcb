"""Plots as files: the colour-blind safe palette of Okabe and Ito, one style, the same bytes for the same numbers.

An SVG follows the light or dark setting of the system; a PNG is always light. matplotlib is imported only when a plot
is drawn.
"""

from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.files.output_format import format_of_file
from clearhead.files.writing import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
GREY = "#6B6B6B"
INK = "#16191D"  # not black: matplotlib writes no colour for black, and dark mode could not replace it
PAPER = "#FFFFFF"

# What an SVG shows instead of each colour in dark mode.
DARK: Mapping[str, str] = {
    BLUE: "#56B4E9",
    VERMILION: "#FF8A3D",
    GREEN: "#3CC79C",
    GREY: "#A9B2BE",
    INK: "#E9ECF0",
    PAPER: "#14171C",
}
_FONT = "DejaVu Sans"  # comes with matplotlib, so that the layout is the same everywhere
_FALLBACK_FONTS = "Verdana, Helvetica, Arial, sans-serif"  # for a viewer without that font
STYLE: Any = {  # matplotlib's own type for this is a list of all settings
    "font.size": 12,
    "font.family": _FONT,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.labelsize": 12,
    "axes.facecolor": "none",  # only the figure has a background, whose colour changes in dark mode
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": PAPER,
    "figure.titlesize": 16,
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 12,
    "lines.linewidth": 2.5,
    "lines.markersize": 6,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "svg.fonttype": "none",  # text stays text: a smaller file that can be searched and read aloud
    "svg.hashsalt": "clearhead",  # identifiers inside an SVG are otherwise random
}


def write_plot(draw: Callable[[], "Figure"], path: Path, *, title: str, description: str, dots_per_inch: int) -> None:
    """Draw a plot in the common style and write it as SVG or PNG, depending on the suffix of the file name."""
    from matplotlib import rc_context

    kind = format_of_file(path, FORMATS, default="svg")
    metadata: dict[str, Any] = {"Software": "clearhead"}
    if kind == "svg":
        metadata = {"Date": None, "Creator": "clearhead", "Title": title, "Description": description}
    content = BytesIO()
    with rc_context(STYLE):
        draw().savefig(content, format=kind, dpi=dots_per_inch, metadata=metadata)
    picture = content.getvalue()
    write_file(path, follow_dark_mode(picture.decode()).encode() if kind == "svg" else picture)


def follow_dark_mode(svg: str) -> str:
    """Add a stylesheet to an SVG of matplotlib that replaces the colours in dark mode.

    The rules select elements by the colours in their style, so that a viewer without CSS shows the light version.
    """
    rules = [
        f'[style*="{role}: {light.lower()}"] {{ {role}: {dark.lower()} !important }}'
        for light, dark in DARK.items()
        for role in ("fill", "stroke")
        if (light, role) != (PAPER, "stroke")  # white outlines separate marks from a heat map in both modes
    ]
    style = "@media (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}"
    svg = svg.replace(f"'{_FONT}'", f"'{_FONT}', {_FALLBACK_FONTS}")
    return svg.replace(" <defs>\n", f' <style type="text/css">\n{style}\n </style>\n <defs>\n', 1)

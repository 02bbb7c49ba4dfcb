"""Plots of experiments, as SVG or PNG: one style for all, and the same bytes for the same numbers.

An SVG follows the light or dark setting of the system; a PNG is always light. matplotlib is needed only here, and it
is imported only when a plot is drawn.
"""

from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clearhead.errors import ClearheadError, not_installed
from clearhead.experiments.colours import DARK, INK, PAPER
from clearhead.experiments.experiment import Experiment
from clearhead.experiments.panel import draw_panels, size_of
from clearhead.experiments.registry import find_experiment
from clearhead.files.output_format import format_of_file
from clearhead.files.writing import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
_DOTS_PER_INCH = 150
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


def check_picture(path: Path) -> None:
    """Raise ClearheadError before anything is measured if the plot could not be written."""
    format_of_file(path, FORMATS, default="svg", option="picture")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ClearheadError(not_installed("a picture", "matplotlib", "plots")) from None


def draw_picture(result: Experiment, module: ModuleType | None = None) -> "Figure":
    """Return the plot of an experiment as a matplotlib Figure.

    `module` is by default the experiment with the name of the result. It has the PANELS of the plot, or its SIZE in
    inches and a function that draws it.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    experiment = find_experiment(result.name) if module is None else module
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
    from matplotlib import rc_context

    kind = format_of_file(path, FORMATS, default="svg")
    metadata: dict[str, Any] = {"Software": "clearhead"}
    if kind == "svg":
        metadata = {
            "Date": None,
            "Creator": "clearhead",
            "Title": result.title,
            "Description": result.finding or result.claim,
        }
    content = BytesIO()
    with rc_context(STYLE):
        draw_picture(result, module).savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)
    picture = content.getvalue()
    write_file(path, follow_dark_mode(picture.decode("utf-8")).encode("utf-8") if kind == "svg" else picture)


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

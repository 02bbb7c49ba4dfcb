"""Pictures for a slide: one style for every experiment, as SVG or PNG, the same bytes for the same numbers.

matplotlib is needed here and nowhere else, and is imported only once a picture is asked for.
"""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.errors import ClearheadError
from clearhead.experiments.experiment import Experiment
from clearhead.experiments.registry import find_experiment
from clearhead.files.writing import write_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
_DOTS_PER_INCH = 150
_STYLE: Any = {  # matplotlib's own type for it is a list of every setting there is
    "font.size": 15,
    "font.family": "DejaVu Sans",  # comes with matplotlib, so it is the same everywhere
    "axes.titlesize": 16,
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.labelsize": 15,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.titlesize": 20,
    "figure.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 14,
    "lines.linewidth": 3,
    "lines.markersize": 8,
    "xtick.labelsize": 13,
    "ytick.labelsize": 13,
    "svg.hashsalt": "clearhead",  # identifiers inside an SVG are otherwise random
}


def check_picture(path: Path) -> None:
    """Say now, before anything is measured, if the picture could not be drawn."""
    if path.suffix.lower().removeprefix(".") not in FORMATS:
        raise ClearheadError(f"{path} is neither an SVG nor a PNG. Give the picture a name that ends in .svg or .png.")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ClearheadError("a picture needs matplotlib, which is not here: pip install 'clearhead[plots]'") from None


def draw_picture(result: Experiment) -> "Figure":
    """Return the picture of an experiment as a matplotlib Figure."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    experiment = find_experiment(result.name)
    with rc_context(_STYLE):
        figure = Figure(figsize=experiment.SIZE, layout=ConstrainedLayoutEngine(w_pad=0.2, h_pad=0.2, wspace=0.03))
        figure.suptitle(result.title, x=0.01, ha="left")
        experiment.draw(result, figure)
    return figure


def save_picture(result: Experiment, path: Path) -> None:
    """Draw an experiment and write it, as SVG or PNG by the name of the file."""
    check_picture(path)
    from matplotlib import rc_context

    kind = path.suffix.lower().removeprefix(".")
    metadata: dict[str, Any] = {"Date": None, "Creator": "clearhead"} if kind == "svg" else {"Software": "clearhead"}
    content = BytesIO()
    with rc_context(_STYLE):
        draw_picture(result).savefig(content, format=kind, dpi=_DOTS_PER_INCH, metadata=metadata)
    write_file(path, content.getvalue())

"""BLEU against minutes of training: the validations of clearhead, and the translations of its peers along the way.

train_quality.py writes curve.json, and draws it if matplotlib is installed. To draw it later:
python benchmarks/train_curve.py curve.json
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from clearhead.evaluation.scores import bleu
from clearhead.files.writing import write_file
from clearhead.plots import BLUE, GREEN, GREY, STYLE, VERMILION, follow_dark_mode
from clearhead.text.tokeniser import Vocabularies
from train_peers import clearhead_points

LINES = ((BLUE, "o-"), (VERMILION, "s-"), (GREEN, "^-"), (GREY, "d-"))


@dataclass(frozen=True)
class CurvePoint:
    """The score after some time, in seconds from the start of the process."""

    seconds: float
    step: int
    tokens: float  # target tokens trained on
    bleu: float


def clearhead_curve(run: Path, start: float) -> list[CurvePoint]:
    """Return the validations of a run; their time includes all validations so far."""
    path = run / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = [line for line in map(json.loads, text.splitlines()) if "valid/bleu" in line]
    points, _ = clearhead_points(run, start)
    steps, tokens = [0.0], [0.0]  # tokens at each step; both grow together
    logged = [line["step"] for line in map(json.loads, text.splitlines()) if "tokens_per_second" in line]
    if points:
        steps, tokens = [0.0, *logged], [0.0, *(point.tokens for point in points)]
    return [
        CurvePoint(
            line["time"] - start, line["step"], float(np.interp(line["step"], steps, tokens)), line["valid/bleu"]
        )
        for line in lines
    ]


def peer_curve(path: Path, start: float, vocabularies: Vocabularies, references: Sequence[str]) -> list[CurvePoint]:
    """Score the translations that train_marian.py has written, as clearhead scores its validations."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return [
        CurvePoint(
            line["time"] - start,
            line["step"],
            line["tokens"],
            bleu(vocabularies.target.decode(line["ids"]), references).value,
        )
        for line in map(json.loads, text.splitlines())
    ]


def seconds_to_reach(points: Sequence[CurvePoint], score: float) -> float | None:
    """Return the time of the first point with at least this score; None if there is none."""
    return next((point.seconds for point in points if point.bleu >= score), None)


def comparison(curves: Mapping[str, Sequence[CurvePoint]], sentences: int) -> str:
    """Return a table: when did each system first reach the last score of each other one?"""
    names = [name for name, points in curves.items() if points]
    lines = [
        f"When did a system reach the last score of another? Greedy BLEU on {sentences:,} validation sentences.\n",
        "| last score of | BLEU | seconds | " + " | ".join(f"reached by {name}" for name in names) + " |",
        "|---|---:|---:|" + "---:|" * len(names),
    ]
    for name in names:
        last = curves[name][-1]
        times = [seconds_to_reach(curves[other], last.bleu) for other in names]
        cells = ["never" if seconds is None else f"{seconds:,.0f} s" for seconds in times]
        lines.append(f"| {name} | {last.bleu:.2f} | {last.seconds:,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def save_curves(curves: Mapping[str, Sequence[CurvePoint]], sentences: int, path: Path) -> None:
    """Write all points as JSON, and draw them beside it if matplotlib is installed."""
    systems = {name: [asdict(point) for point in points] for name, points in curves.items()}
    path.write_text(json.dumps({"sentences": sentences, "systems": systems}, indent=1) + "\n", encoding="utf-8")
    if find_spec("matplotlib") is None:
        print(f"matplotlib is not installed: draw {path.name} elsewhere with benchmarks/train_curve.py.")
    else:
        draw(path)


def draw(path: Path) -> Path:
    """Draw the points of a file as an SVG beside it, and return its path."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    data = json.loads(path.read_text(encoding="utf-8"))
    title = "BLEU against minutes of training"
    metadata: dict[str, Any] = {"Date": None, "Creator": "clearhead", "Title": title}
    content = BytesIO()
    with rc_context(STYLE):
        figure = Figure(figsize=(8, 5), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12))
        figure.suptitle(title, x=0.01, ha="left")
        axes = figure.subplots()
        for number, (name, points) in enumerate(data["systems"].items()):
            colour, line = LINES[number % len(LINES)]
            minutes = [point["seconds"] / 60 for point in points]
            axes.plot(minutes, [point["bleu"] for point in points], line, color=colour, label=name)
        axes.set(
            xlabel="minutes since the start of the process", ylabel=f"BLEU, greedy, {data['sentences']:,} sentences"
        )
        axes.set_xlim(0)
        axes.set_ylim(0)
        axes.legend()
        figure.savefig(content, format="svg", metadata=metadata)
    output = path.with_suffix(".svg")
    write_file(output, follow_dark_mode(content.getvalue().decode("utf-8")).encode("utf-8"))
    return output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="curve.json")
    print(draw(parser.parse_args().file))


if __name__ == "__main__":
    main()

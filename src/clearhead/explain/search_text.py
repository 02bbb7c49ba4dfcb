"""Format an explained search as plain text for a terminal, from the same data that is written as JSON."""

from collections.abc import Mapping
from typing import Any

from clearhead.decoding.alignment_text import text_columns
from clearhead.errors import printable


def render_explanation(data: Mapping[str, Any]) -> str:
    """Return every step of a search: each candidate, its log P, whether it was kept, and why not."""
    pieces: Mapping[str, str] = data["pieces"]
    before: list[list[str]] = [[]]
    lines = ["source: " + " ".join(printable(piece) for piece in data["source_pieces"])]
    for step in data["steps"]:
        lines.append(f"step {step['number']}")
        rows = [("", "total log P", "token log P", "hypothesis")]
        going = []
        for option in step["options"]:
            tokens = [*before[option["parent"]], printable(pieces[str(option["token"])])]
            if option["fate"] == "kept":
                going.append(tokens)
            rows.append(
                (
                    option["fate"] + (f" as {option['slot'] + 1}" if option["slot"] is not None else ""),
                    f"{option['total']:.4f}",
                    f"{option['log_prob']:.4f}",
                    " ".join(tokens) + (f"   ({option['why']})" if option["why"] else ""),
                )
            )
        lines += [f"  {line}" for line in text_columns(rows, numbers=(1, 2))]
        lines += [f"  hypothesis {lost['slot'] + 1} was dropped: {lost['why']}" for lost in step["lost"]]
        before = going
    lines.append(f"stopped {data['stopped']}")
    for rank, hypothesis in enumerate(data["best"], 1):
        spelled = " ".join(printable(pieces[str(token)]) for token in hypothesis["tokens"])
        lines.append(f"{rank}. score {hypothesis['score']:.4f}  {spelled}")
    return "\n".join(lines) + "\n"

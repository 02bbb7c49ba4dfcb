"""A report on pruning as a table for a terminal or Markdown, or as CSV with all digits."""

import csv
import io

from clearhead.evaluation.tables import ScoreTable
from clearhead.explain.pruning import PruningReport, PruningRow

_NAMES = {
    "encoder.self_attention": "encoder",
    "decoder.self_attention": "decoder",
    "decoder.cross_attention": "cross",
}


def pruning_table(report: PruningReport) -> ScoreTable:
    """Return one row for each step; changes are those from the first row of the same part."""
    kinds = list(report.rows[0].num_heads)
    has_bleu, has_parts = report.rows[0].bleu is not None, len({row.part for row in report.rows}) > 1
    has_penalty = any(row.penalty is not None for row in report.rows)
    columns = [
        *["removed from"] * has_parts,
        *["penalty"] * has_penalty,
        "heads",
        *(_NAMES[kind] for kind in kinds),
        "parameters",
        "loss",
        "Δ loss",
    ]
    columns += ["BLEU", "Δ BLEU"] if has_bleu else []
    first: dict[str, PruningRow] = {}
    rows = []
    for row in report.rows:
        base = first.setdefault(row.part, row)
        penalty = "" if row.penalty is None else f"{row.penalty:g}"
        cells = [*[row.part] * has_parts, *[penalty] * has_penalty, str(row.total)]
        cells += [str(row.num_heads[kind]) for kind in kinds]
        cells += [f"{row.num_parameters:,}", f"{row.loss.value:.4f}", f"{row.loss.value - base.loss.value:+.4f}"]
        if row.bleu is not None and base.bleu is not None:
            cells += [f"{row.bleu.value:.2f}", f"{row.bleu.value - base.bleu.value:+.2f}"]
        rows.append(tuple(cells))
    return ScoreTable("Heads kept", tuple(columns), tuple(rows), tuple(_notes(report, has_penalty)))


def _notes(report: PruningReport, has_penalty: bool) -> list[str]:
    row = report.rows[0]
    if has_penalty:
        notes = [
            "heads are removed by Hard-Concrete gates, learnt in more training; the first row is the model before it"
        ]
    elif report.are_named:
        notes = ["the heads that you named are removed"]
    else:
        notes = [
            "heads are removed by importance, mean |∂loss/∂gate| on the same sentences, measured again at every step"
        ]
    notes.append(f"loss: nats per token ({row.loss.signature})")
    return notes if row.bleu is None else [*notes, f"BLEU: {row.bleu.signature}"]


def pruning_csv(report: PruningReport) -> str:
    """Return the numbers of every step as CSV, with a heading; what was not measured is empty."""
    text = io.StringIO()
    rows = [row.to_dict() for row in report.rows]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

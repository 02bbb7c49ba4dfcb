"""Reports on heads and on pruning as tables for a terminal or Markdown, or as CSV with all digits."""

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from clearhead.evaluation.tables import ScoreTable
from clearhead.explain.head_report import HeadReport, HeadRow, MeasuredChange
from clearhead.explain.pruning import PruningReport, PruningRow
from clearhead.explain.traced_pass import KINDS

_MEANINGS = (
    "head: layer and number, counted from 0, as in a trace",
    "kind: first or end token with at least half of the weight; one offset, or the diagonal of cross-attention, with "
    "at least 90 % of the largest weights (mostly: at least 50 %); alignment: AER of at most 50 %; nearby tokens: at "
    "least 75 % of the largest weights at most 2 tokens away; focused: confidence of at least 0.5; broad: at least 70 "
    "% of the entropy of uniform attention; otherwise mixed",
    "confidence: mean of a query's largest weight; the end token is left out",
    "offset: most frequent distance from a query to its largest weight, and how often it occurs where there is a key, "
    "of the offsets that at least two thirds of the queries can look at (* at least 90 %: positional)",
    "first, end: mean weight of the first token and of the end token",
)

# How to sort by a column: the most interesting head comes first, which is the one with the smallest of these values.
_ORDERS: dict[str, Callable[[HeadRow], Any]] = {
    "head": lambda row: 0,
    "kind": lambda row: row.kind,
    "confidence": lambda row: -row.statistics.confidence,
    "offset": lambda row: -row.statistics.offset_share,
    "first": lambda row: -row.statistics.first_share,
    "end": lambda row: None if row.statistics.end_share is None else -row.statistics.end_share,
    "aer": lambda row: None if row.links is None else row.links.error,
    "importance": lambda row: -row.importance,
    "loss": lambda row: -row.loss.difference,
    "alone": lambda row: row.loss_alone,
    "bleu": lambda row: None if row.bleu is None else row.bleu.difference,
}
SORT_COLUMNS = tuple(_ORDERS)


def sorted_rows(report: HeadReport, column: str = "head", top: int | None = None) -> tuple[HeadRow, ...]:
    """Return the first rows of a report, sorted by a column of `SORT_COLUMNS`.

    Largest values come first, but the smallest error rate, loss alone and change of BLEU; rows without a value last.
    """
    order = _ORDERS[column]
    return tuple(sorted(report.rows, key=lambda row: (order(row) is None, order(row))))[:top]


def head_table(report: HeadReport, rows: Sequence[HeadRow] | None = None) -> ScoreTable:
    """Return one row for each head, or for each of the given ones."""
    shown_rows = report.rows if rows is None else rows
    columns = ["head", "kind", "confidence", "offset", "first", "end", *["AER %"] * report.has_links]
    columns += ["importance", "Δ loss", "p", "Δ loss alone"]
    columns += [] if report.bleu is None else ["Δ BLEU", "p"]
    cells = tuple(tuple(_cells(row, report)) for row in shown_rows)
    number = f"{len(report.rows)}" if len(cells) == len(report.rows) else f"{len(cells)} of {len(report.rows)}"
    return ScoreTable(f"{number} attention heads", tuple(columns), cells, tuple(head_notes(report)))


def to_csv(rows: Sequence[HeadRow | PruningRow]) -> str:
    """Return the numbers of all rows as CSV, with a heading; what was not measured is empty."""
    text = io.StringIO()
    values = [row.to_dict() for row in rows]
    writer = csv.DictWriter(text, list(values[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(values)
    return text.getvalue()


def _cells(row: HeadRow, report: HeadReport) -> list[str]:
    statistics = row.statistics
    mark = "*" if statistics.is_positional else ""
    cells = [
        str(row.head),
        row.kind,
        f"{statistics.confidence:.2f}",
        f"{statistics.offset:+d} ({100 * statistics.offset_share:.0f} %){mark}",
        f"{statistics.first_share:.2f}",
        "" if statistics.end_share is None else f"{statistics.end_share:.2f}",
    ]
    if report.has_links:
        cells.append("" if row.links is None else f"{row.links.error:.1f}")
    cells += [f"{row.importance:.4f}", *_change_cells(row.loss, 4)]
    cells.append(f"{row.loss_alone:+.4f}{' best' if report.best_alone[row.head.where] == row.head else ''}")
    return cells if row.bleu is None else [*cells, *_change_cells(row.bleu, 2)]


def _change_cells(change: MeasuredChange, decimals: int) -> list[str]:
    return [f"{change.difference:+.{decimals}f}", f"{change.p_value:.3f}"]


def head_notes(report: HeadReport) -> list[str]:
    """Return what the numbers mean, with their signatures."""
    notes = list(_MEANINGS)
    if report.has_links:
        signature = report.signatures.get("alignment_error")
        notes.append(
            "AER: alignment error rate of cross-attention, at the better of its two positions"
            + (f" ({signature})" if signature else "")
        )
    notes.append(f"importance: {report.signatures['importance']}")
    notes.append(
        f"Δ loss: change if the head is removed (alone: if the others of its layer are); unchanged loss "
        f"{report.loss.value:.4f} ({report.loss.signature})"
    )
    notes.append(f"p: {report.signatures['loss_p_value']}")
    if report.bleu is not None:
        notes.append(
            f"Δ BLEU: change if the head is removed; unchanged {report.bleu.value:.2f} ({report.bleu.signature})"
        )
    return notes


# Pruning


def pruning_table(report: PruningReport) -> ScoreTable:
    """Return one row for each step; changes are those from the first row of the same part."""
    has_bleu, has_parts = report.rows[0].bleu is not None, len({row.part for row in report.rows}) > 1
    columns = [
        *["removed from"] * has_parts,
        "heads",
        *KINDS,
        "parameters",
        "loss",
        "Δ loss",
    ]
    columns += ["BLEU", "Δ BLEU"] if has_bleu else []
    first: dict[str, PruningRow] = {}
    rows = []
    for row in report.rows:
        base = first.setdefault(row.part, row)
        cells = [*[row.part] * has_parts, str(row.total)]
        cells += [str(row.num_heads[kind]) for kind in KINDS.values()]
        cells += [f"{row.num_parameters:,}", f"{row.loss.value:.4f}", f"{row.loss.value - base.loss.value:+.4f}"]
        if row.bleu is not None and base.bleu is not None:
            cells += [f"{row.bleu.value:.2f}", f"{row.bleu.value - base.bleu.value:+.2f}"]
        rows.append(tuple(cells))
    return ScoreTable("Heads kept", tuple(columns), tuple(rows), tuple(_pruning_notes(report)))


def _pruning_notes(report: PruningReport) -> list[str]:
    row = report.rows[0]
    if report.are_named:
        notes = ["the heads that you named are removed"]
    else:
        notes = [
            "heads are removed by importance, mean |∂loss/∂gate| on the same sentences, measured again at every step"
        ]
    notes.append(f"loss: nats per token ({row.loss.signature})")
    return notes if row.bleu is None else [*notes, f"BLEU: {row.bleu.signature}"]

"""A report on heads as a table for a terminal or Markdown, or as CSV with all digits."""

import csv
import io

from clearhead.evaluation.tables import ScoreTable
from clearhead.explain.head_report import HeadReport, HeadRow, MeasuredChange

_MEANINGS = (
    "head: layer and number, counted from 0, as in a trace",
    "kind: first or end token with at least half of the weight; one offset, or the diagonal of cross-attention, with "
    "at least 90 % of the largest weights",
    "confidence: mean of a query's largest weight; the end token is left out",
    "offset: most frequent distance from a query to its largest weight, and how often it occurs where there is a key "
    "(* at least 90 %: positional)",
    "first, end: mean weight of the first token and of the end token",
)


def head_table(report: HeadReport) -> ScoreTable:
    """Return one row for each head."""
    has_links = any(row.links is not None for row in report.rows)
    columns = ["head", "kind", "confidence", "offset", "first", "end", *["AER %"] * has_links]
    columns += ["importance", "Δ loss", "p", "Δ loss alone"]
    columns += [] if report.bleu is None else ["Δ BLEU", "p"]
    rows = tuple(tuple(_cells(row, report, has_links=has_links)) for row in report.rows)
    return ScoreTable(f"{len(rows)} attention heads", tuple(columns), rows, tuple(head_notes(report)))


def to_csv(report: HeadReport) -> str:
    """Return the numbers of every head as CSV, with a heading; what was not measured is empty."""
    text = io.StringIO()
    rows = [row.to_dict() for row in report.rows]
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _cells(row: HeadRow, report: HeadReport, *, has_links: bool) -> list[str]:
    statistics = row.statistics
    mark = "*" if statistics.is_positional else ""
    cells = [
        str(row.head),
        statistics.kind,
        f"{statistics.confidence:.2f}",
        f"{statistics.offset:+d} ({100 * statistics.offset_share:.0f} %){mark}",
        f"{statistics.first_share:.2f}",
        "" if statistics.end_share is None else f"{statistics.end_share:.2f}",
    ]
    if has_links:
        cells.append("" if row.links is None else f"{row.links.error:.1f}")
    cells += [f"{row.importance:.4f}", *_change_cells(row.loss, 4)]
    cells.append(f"{row.loss_alone:+.4f}{' best' if report.best_alone[row.head.where] == row.head else ''}")
    return cells if row.bleu is None else [*cells, *_change_cells(row.bleu, 2)]


def _change_cells(change: MeasuredChange, decimals: int) -> list[str]:
    return [f"{change.difference:+.{decimals}f}", f"{change.p_value:.3f}"]


def head_notes(report: HeadReport) -> list[str]:
    """Return what the numbers mean, with their signatures."""
    notes = list(_MEANINGS)
    if any(row.links is not None for row in report.rows):
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

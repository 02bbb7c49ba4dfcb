"""Format a report as tables for the terminal and Markdown; its JSON has the numbers in full precision."""

from collections.abc import Iterable
from dataclasses import dataclass

from clearhead.errors import printable
from clearhead.evaluation.leaks import SIGNATURE
from clearhead.evaluation.report import EvaluationReport
from clearhead.evaluation.scores import Score
from clearhead.evaluation.significance import procedure_of

_POOLED = "; the counts of several outputs are averaged, sentence by sentence"


@dataclass(frozen=True)
class ScoreTable:
    """A table: title, headings, rows of text, and notes below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def report_tables(report: EvaluationReport) -> list[ScoreTable]:
    """Return the tables of a report that have data."""
    filled_tables = [_scores(report)]
    if report.comparisons:
        filled_tables.append(_comparisons(report))
    if report.leaks is not None:
        filled_tables += _leaks(report)
    return filled_tables


def alignment_table(scores: Iterable[tuple[str, Score]]) -> ScoreTable:
    """Return the table of alignment error rates."""
    named_scores = list(scores)
    rows = tuple((printable(name), f"{score.value:.2f}") for name, score in named_scores)
    return ScoreTable("Alignment error rate", ("links", "AER %"), rows, (f"AER: {named_scores[0][1].signature}",))


def to_markdown(tables: Iterable[ScoreTable]) -> str:
    """Return the tables as Markdown."""
    parts = []
    for table in tables:
        lines = [f"### {table.title}", "", _row(table.columns)]
        lines.append(_row(["---", *["---:"] * (len(table.columns) - 1)]))
        lines += [_row(row) for row in table.rows]
        if table.notes:
            lines += ["", *(f"- {note}" for note in table.notes)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _scores(report: EvaluationReport) -> ScoreTable:
    rows: list[tuple[str, ...]] = []
    signatures: dict[str, str] = {}
    intervals = [score.interval for system in report.systems for score in system.scores if score.interval is not None]
    has_spread = any(system.num_outputs > 1 for system in report.systems)
    for system in report.systems:
        for system_score in system.scores:
            score, deviation = system_score.score, system_score.deviation
            cells = [printable(system.name), score.name, f"{score.value:.2f}"]
            if has_spread:
                cells.append("" if deviation is None else f"± {deviation:.2f} ({system.num_outputs} outputs)")
            if intervals:
                cells.append(str(system_score.interval or ""))
            rows.append(tuple(cells))
            note = f". {score.note}" if score.note else ""
            signatures[score.name] = f"{score.name}: {score.signature}{note}"
    columns = ("system", "metric", "score", *["std. dev."] * has_spread, *["95 % interval"] * bool(intervals))
    notes = [*signatures.values()]
    if intervals:
        notes.append(f"95 % interval: bootstrap, {procedure_of(intervals[0].signature)}{_POOLED if has_spread else ''}")
    if has_spread:
        notes.append("std. dev.: sample standard deviation over the outputs of a system; the score is their mean")
    return ScoreTable(f"Scores of {report.num_sentences:,} sentences", columns, tuple(rows), tuple(notes))


def _comparisons(report: EvaluationReport) -> ScoreTable:
    rows = tuple(
        (
            printable(comparison.system),
            comparison.metric,
            f"{comparison.difference:+.2f}",
            f"{comparison.p_value:.4f}",
            comparison.test,
        )
        for comparison in report.comparisons
    )
    title = f"Compared with {printable(report.comparisons[0].baseline)}"
    note = "p: the probability that chance alone produces a difference at least as large"
    procedures = dict.fromkeys(
        f"{comparison.test}: {procedure_of(comparison.signature)}" for comparison in report.comparisons
    )
    return ScoreTable(title, ("system", "metric", "difference", "p", "test"), rows, (note, *procedures))


def _leaks(report: EvaluationReport) -> list[ScoreTable]:
    leaks = report.leaks
    assert leaks is not None
    rows = tuple((name, f"{len(indices):,}", f"{leaks.share(indices):.2f}") for name, indices in leaks.sides.items())
    verdict = "WARNING: test sentences are in the training text." if leaks.is_leaking else "No test sentence was found."
    notes = (verdict, f"Searched {leaks.num_training:,} lines; {SIGNATURE}")
    tables = [ScoreTable("Test sentences in the training text", ("match", "sentences", "%"), rows, notes)]
    return [*tables, _leaked_scores(report)] if report.by_leak else tables


def _leaked_scores(report: EvaluationReport) -> ScoreTable:
    metrics = {system_score.metric: system_score.score.name for system_score in report.systems[0].scores}
    has_systems = len(report.systems) > 1
    rows = tuple(
        (
            part.name,
            f"{part.num_sentences:,}",
            *[printable(system.name)] * has_systems,
            *(f"{part.scores[system.name][metric]:.2f}" for metric in metrics),
        )
        for part in report.by_leak
        for system in report.systems
    )
    headings = ("part", "sentences", *["system"] * has_systems, *metrics.values())
    return ScoreTable("By presence in the training text", headings, rows)

"""Format a report as tables for the terminal and Markdown; its JSON has the numbers in full precision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clearhead.errors import printable
from clearhead.evaluation.buckets import Bucket
from clearhead.evaluation.leaks import SIGNATURE
from clearhead.evaluation.report import EvaluationReport
from clearhead.evaluation.scores import Score

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
    if report.by_length:
        filled_tables.append(_buckets(report, f"By length of the {report.length_side}", report.by_length))
    if report.leaks is not None:
        filled_tables += _leaks(report)
    if any(system.by_frequency for system in report.systems):
        filled_tables.append(_frequencies(report))
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
    rows, signatures = [], dict[str, str]()
    has_intervals = any(system_score.interval for system in report.systems for system_score in system.scores)
    has_spread = any(system.num_outputs > 1 for system in report.systems)
    for system in report.systems:
        for system_score in system.scores:
            cells = [printable(system.name), system_score.score.name, f"{system_score.score.value:.2f}"]
            if has_spread:
                cells.append(
                    ""
                    if system_score.deviation is None
                    else f"± {system_score.deviation:.2f} ({system.num_outputs} outputs)"
                )
            if has_intervals:
                cells.append(
                    ""
                    if system_score.interval is None
                    else f"{system_score.interval.low:.2f} … {system_score.interval.high:.2f}"
                )
            rows.append(tuple(cells))
            note = f". {system_score.score.note}" if system_score.score.note else ""
            signatures[system_score.score.name] = f"{system_score.score.name}: {system_score.score.signature}{note}"
    columns = ("system", "metric", "score", *["std. dev."] * has_spread, *["95 % interval"] * has_intervals)
    notes = [*signatures.values()]
    if has_intervals:
        notes.append(f"95 % interval: bootstrap, {_resampling_signature(report)}{_POOLED if has_spread else ''}")
    if has_spread:
        notes.append("std. dev.: sample standard deviation over the outputs of a system; the score is their mean")
    return ScoreTable(f"Scores of {report.num_sentences:,} sentences", columns, tuple(rows), tuple(notes))


def _resampling_signature(report: EvaluationReport) -> str:
    """Return the signature of the resampling."""
    interval = next(
        system_score.interval for system in report.systems for system_score in system.scores if system_score.interval
    )
    return "|".join(interval.signature.split("|")[1:3])


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
        f"{comparison.test}: {'|'.join(comparison.signature.split('|')[1:3])}" for comparison in report.comparisons
    )
    return ScoreTable(title, ("system", "metric", "difference", "p", "test"), rows, (note, *procedures))


def _buckets(report: EvaluationReport, title: str, buckets: Sequence[Bucket]) -> ScoreTable:
    names = {
        system_score.metric: system_score.score.name for system in report.systems for system_score in system.scores
    }
    metrics = list(buckets[0].scores[report.systems[0].name])
    has_systems = len(report.systems) > 1
    rows = tuple(
        (
            bucket.name,
            f"{bucket.num_sentences:,}",
            *[printable(system.name)] * has_systems,
            *(f"{bucket.scores[system.name][metric]:.2f}" for metric in metrics),
        )
        for bucket in buckets
        for system in report.systems
    )
    heads = ("part", "sentences", *["system"] * has_systems, *(names[metric] for metric in metrics))
    return ScoreTable(title, heads, rows)


def _leaks(report: EvaluationReport) -> list[ScoreTable]:
    leaks = report.leaks
    assert leaks is not None
    sides = (("sources", leaks.sources), ("references", leaks.references), ("pairs", leaks.pairs))
    rows = tuple(
        (name, f"{len(places):,}", f"{leaks.share(places):.2f}") for name, places in sides if places is not None
    )
    verdict = "WARNING: test sentences are in the training text." if leaks.is_leaking else "No test sentence was found."
    notes = (verdict, f"Searched {leaks.num_training:,} lines; {SIGNATURE}")
    leak_tables = [ScoreTable("Test sentences in the training text", ("match", "sentences", "%"), rows, notes)]
    return (
        [*leak_tables, _buckets(report, "By presence in the training text", report.by_leak)]
        if report.by_leak
        else leak_tables
    )


def _frequencies(report: EvaluationReport) -> ScoreTable:
    rows = [
        (
            printable(system.name),
            "1 time" if bucket.name == "1 times" else bucket.name,
            f"{bucket.num_reference // system.num_outputs:,}",
            "" if bucket.recall is None else f"{bucket.recall:.2f}",
            "" if bucket.precision is None else f"{bucket.precision:.2f}",
        )
        for system in report.systems
        for bucket in system.by_frequency
    ]
    columns = ("system", "seen in training", "words", "recall %", "precision %")
    note = (
        "recall: words of the reference that are in the output; precision: words of the output that are in the "
        "reference. tok:13a|case:mixed"
    )
    return ScoreTable("Words by frequency in the training text", columns, tuple(rows), (note,))

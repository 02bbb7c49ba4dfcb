"""A report as tables of words, for the terminal and for Markdown; the numbers in full are in its JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clearhead.errors import printable
from clearhead.evaluation.buckets import Bucket
from clearhead.evaluation.leaks import SIGNATURE
from clearhead.evaluation.report import Report
from clearhead.evaluation.scores import Score

_POOLED = "; of several outputs the counts are averaged, sentence by sentence"


@dataclass(frozen=True)
class Table:
    """A title, headings and rows of words; `notes` stand below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def tables(report: Report) -> list[Table]:
    """Return every table that the report fills."""
    made = [_scores(report)]
    if report.comparisons:
        made.append(_comparisons(report))
    if report.by_length:
        made.append(_buckets(report, f"By length of the {report.length_side}", report.by_length))
    if report.leaks is not None:
        made += _leaks(report)
    if any(system.by_frequency for system in report.systems):
        made.append(_frequencies(report))
    return made


def alignment_table(scores: Iterable[tuple[str, Score]]) -> Table:
    """Return the table of alignment error rates by the name of their links."""
    found = list(scores)
    rows = tuple((printable(name), f"{score.value:.2f}") for name, score in found)
    return Table("Alignment error rate", ("links", "AER %"), rows, (f"AER: {found[0][1].signature}",))


def to_markdown(made: Iterable[Table]) -> str:
    """Return the tables as Markdown."""
    parts = []
    for table in made:
        lines = [f"### {table.title}", "", _row(table.columns)]
        lines.append(_row(["---", *["---:"] * (len(table.columns) - 1)]))
        lines += [_row(row) for row in table.rows]
        if table.notes:
            lines += ["", *(f"- {note}" for note in table.notes)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _scores(report: Report) -> Table:
    rows, signatures = [], dict[str, str]()
    has_intervals = any(made.interval for system in report.systems for made in system.measured)
    has_spread = any(system.num_outputs > 1 for system in report.systems)
    for system in report.systems:
        for made in system.measured:
            cells = [printable(system.name), made.score.name, f"{made.score.value:.2f}"]
            if has_spread:
                cells.append("" if made.deviation is None else f"± {made.deviation:.2f} ({system.num_outputs} outputs)")
            if has_intervals:
                cells.append("" if made.interval is None else f"{made.interval.low:.2f} … {made.interval.high:.2f}")
            rows.append(tuple(cells))
            note = f". {made.score.note}" if made.score.note else ""
            signatures[made.score.name] = f"{made.score.name}: {made.score.signature}{note}"
    columns = ("system", "metric", "score", *["spread"] * has_spread, *["95 % interval"] * has_intervals)
    notes = [*signatures.values()]
    if has_intervals:
        notes.append(f"95 % interval: bootstrap, {_drawn(report)}{_POOLED if has_spread else ''}")
    if has_spread:
        notes.append("spread: mean ± standard deviation of a sample, over the outputs of a system")
    return Table(f"Scores of {report.num_sentences:,} sentences", columns, tuple(rows), tuple(notes))


def _drawn(report: Report) -> str:
    """Return how the samples of intervals were drawn."""
    found = next(made.interval for system in report.systems for made in system.measured if made.interval)
    return "|".join(found.signature.split("|")[1:3])


def _comparisons(report: Report) -> Table:
    rows = tuple(
        (printable(each.system), each.metric, f"{each.difference:+.2f}", f"{each.p_value:.4f}", each.test)
        for each in report.comparisons
    )
    title = f"Against {printable(report.comparisons[0].baseline)}"
    note = "p: how often chance alone makes a difference as large"
    drawn = dict.fromkeys(f"{each.test}: {'|'.join(each.signature.split('|')[1:3])}" for each in report.comparisons)
    return Table(title, ("system", "metric", "difference", "p", "test"), rows, (note, *drawn))


def _buckets(report: Report, title: str, buckets: Sequence[Bucket]) -> Table:
    names = {made.metric: made.score.name for system in report.systems for made in system.measured}
    measured = list(buckets[0].scores[report.systems[0].name])
    has_systems = len(report.systems) > 1
    rows = tuple(
        (
            each.name,
            f"{each.num_sentences:,}",
            *[printable(system.name)] * has_systems,
            *(f"{each.scores[system.name][metric]:.2f}" for metric in measured),
        )
        for each in buckets
        for system in report.systems
    )
    heads = ("part", "sentences", *["system"] * has_systems, *(names[metric] for metric in measured))
    return Table(title, heads, rows)


def _leaks(report: Report) -> list[Table]:
    leaks = report.leaks
    assert leaks is not None
    sides = (("sources", leaks.sources), ("references", leaks.references), ("pairs", leaks.pairs))
    rows = tuple(
        (name, f"{len(places):,}", f"{leaks.share(places):.2f}") for name, places in sides if places is not None
    )
    told = "WARNING: test sentences are in the training text." if leaks.is_leaking else "No test sentence was found."
    notes = (told, f"Looked for in {leaks.num_training:,} lines; {SIGNATURE}")
    made = [Table("Test sentences in the training text", ("what", "sentences", "%"), rows, notes)]
    return [*made, _buckets(report, "By whether it was seen", report.by_leak)] if report.by_leak else made


def _frequencies(report: Report) -> Table:
    rows = [
        (
            printable(system.name),
            each.name,
            f"{each.num_reference // system.num_outputs:,}",
            "" if each.recall is None else f"{each.recall:.2f}",
            "" if each.precision is None else f"{each.precision:.2f}",
        )
        for system in report.systems
        for each in system.by_frequency
    ]
    columns = ("system", "seen in training", "words", "recall %", "precision %")
    note = "recall: words of the reference that the output has too; precision: the other way round. tok:13a|case:mixed"
    return Table("Words by how often the training text has them", columns, tuple(rows), (note,))

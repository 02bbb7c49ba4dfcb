"""What `clearhead evaluate` prints: tables for a terminal, Markdown or JSON."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from clearhead.evaluation.report import EvaluationReport
    from clearhead.evaluation.scores import Score
    from clearhead.evaluation.tables import ScoreTable

_WIDE = 400  # a narrow terminal may break a line of a table, but no number is cut short


class Form(StrEnum):
    """The form in which it is shown."""

    terminal = "terminal"
    markdown = "markdown"
    json = "json"


def waiting() -> Any:
    """Return a sign that it is at work, for a terminal; elsewhere it shows nothing."""
    from contextlib import nullcontext

    from rich.console import Console

    console = Console(stderr=True)
    return console.status("Measuring …") if console.is_terminal else nullcontext()


def show(report: "EvaluationReport | None", aligned: Sequence[tuple[str, "Score"]], form: Form) -> None:
    """Print what was found."""
    if form is Form.json:
        import json

        told = {} if report is None else report.to_dict()
        if aligned:
            told["alignments"] = [{"links": name, **score.to_dict()} for name, score in aligned]
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    from clearhead.evaluation.tables import alignment_table, report_tables, to_markdown

    made = [] if report is None else report_tables(report)
    if aligned:
        made.append(alignment_table(aligned))
    if form is Form.markdown:
        typer.echo(to_markdown(made), nl=False)
    else:
        _draw(made)


def _draw(made: "Sequence[ScoreTable]") -> None:
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    wide = Console(highlight=False, width=_WIDE)
    for number, table in enumerate(made):
        if number:
            wide.print()
        wide.print(Text(table.title, style="bold"))
        drawn = Drawn(pad_edge=False, show_edge=False)
        for index, heading in enumerate(table.columns):
            is_number = index > 0 and all(set(row[index]) <= set("+-0123456789.,… ") for row in table.rows)
            drawn.add_column(Text(heading), justify="right" if is_number else "left", no_wrap=True)
        for row in table.rows:
            drawn.add_row(*(Text(cell) for cell in row))
        wide.print(drawn)
        for note in table.notes:
            wide.print(Text(note, style="dim"))

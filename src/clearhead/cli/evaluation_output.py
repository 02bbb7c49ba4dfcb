"""Print the results of `clearhead evaluate`: tables for a terminal, Markdown or JSON."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from clearhead.cli.output import print_json

if TYPE_CHECKING:
    from clearhead.evaluation.report import EvaluationReport
    from clearhead.evaluation.scores import Score
    from clearhead.evaluation.tables import ScoreTable

_WIDTH = 400  # a narrow terminal can wrap the lines of a table, but no number is truncated


class Form(StrEnum):
    """The output format."""

    terminal = "terminal"
    markdown = "markdown"
    json = "json"


def waiting() -> Any:
    """Return a spinner for a terminal; elsewhere it shows nothing."""
    from contextlib import nullcontext

    from rich.console import Console

    console = Console(stderr=True)
    return console.status("Measuring …") if console.is_terminal else nullcontext()


def show(report: "EvaluationReport | None", aligned: Sequence[tuple[str, "Score"]], form: Form) -> None:
    """Print the report and the alignment scores."""
    if form is Form.json:
        data = {} if report is None else report.to_dict()
        if aligned:
            data["alignments"] = [{"links": name, **score.to_dict()} for name, score in aligned]
        print_json(data)
        return
    from clearhead.evaluation.tables import alignment_table, report_tables, to_markdown

    tables = [] if report is None else report_tables(report)
    if aligned:
        tables.append(alignment_table(aligned))
    if form is Form.markdown:
        typer.echo(to_markdown(tables), nl=False)
    else:
        draw(tables)


def draw(tables: "Sequence[ScoreTable]") -> None:
    """Print tables to a terminal."""
    from rich.console import Console
    from rich.table import Table as TerminalTable
    from rich.text import Text

    console = Console(highlight=False, width=_WIDTH)
    for number, table in enumerate(tables):
        if number:
            console.print()
        console.print(Text(table.title, style="bold"))
        drawn_table = TerminalTable(pad_edge=False, show_edge=False)
        for index, heading in enumerate(table.columns):
            is_number = index > 0 and all(set(row[index]) <= set("+-0123456789.,… ") for row in table.rows)
            drawn_table.add_column(Text(heading), justify="right" if is_number else "left", no_wrap=True)
        for row in table.rows:
            drawn_table.add_row(*(Text(cell) for cell in row))
        console.print(drawn_table)
        for note in table.notes:
            console.print(Text(note, style="dim"))

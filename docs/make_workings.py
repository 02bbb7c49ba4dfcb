"""The page guide/workings.md: the report on every built-in working, line by line, with a description of each error."""

from collections import Counter

from clearhead.check import Report, Verdict, check
from clearhead.check.render.markdown import escape
from clearhead.check.render.words import score, stories, title_of
from clearhead.check.report import LineMark
from clearhead.exercises.check.read.workings import shipped_workings
from clearhead.worksheet.reading import gallery, read_data

HEAD = """\
# The solutions of the lecture notes, checked

This page is generated: it shows what `clearhead check` reports on every built-in working (written calculation).

The gallery is taken from handwritten lecture notes. clearhead includes the solutions of these notes as they were
written, with their errors, and this page shows what the checker finds in them. The *state* of a line is one of:

- *right*: the line contains no error, and no earlier error affects it.
- *contains an error*: at least one of its numbers is an error.
- *carried forward*: its numbers differ from the true ones, but they follow correctly from an earlier error.

A number that was truncated instead of rounded is not an error. [Verdicts](check.md#verdicts) explains all verdicts.
`clearhead check NAME` shows each cell. *Marks* are points.
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, _overview()]
    for name, path in shipped_workings().items():
        data = read_data(path.read_bytes())
        for report in check(name):
            parts.append(_section(name, str(data["problem"]), report))
    return "\n".join(parts).rstrip() + "\n"


def _overview() -> str:
    lines = [
        "| working | right lines | lines with an error | lines carried forward | errors | marks |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in shipped_workings():
        for report in check(name):
            states = Counter(_state(line) for line in report.lines)
            counts = [states["right"], states["contains an error"], states["carried forward"], len(report.findings)]
            numbers = " | ".join(str(count) for count in counts)
            lines.append(f"| [{name}](#{name}) | {numbers} | {score(report.earned, report.out_of)} |")
    return "\n".join([*lines, ""])


def _section(name: str, problem: str, report: Report) -> str:
    assert problem in gallery(), f"{name} belongs to a problem that is not in the gallery"
    lines = [f"## {name}", "", f"{escape(title_of(report))}. Marks: {score(report.earned, report.out_of)}.", ""]
    lines += ["| line | state | verdicts | errors |", "|---|---|---|---|"]
    for index, line in enumerate(report.lines):
        counts = Counter(cell.verdict for cell in line.marked)
        verdicts = ", ".join(f"{counts[verdict]} {verdict.in_words}" for verdict in Verdict if counts[verdict])
        errors = ", ".join(str(number) for number, finding in enumerate(report.findings, 1) if finding.line == index)
        lines.append(f"| {escape(_name(line))} | {_state(line)} | {verdicts} | {errors} |")
    lines.append("")
    for story in stories(report):
        sums = "".join(
            f" {heading}: {escape(text)}."
            for heading, text in (
                ("Right calculation", story.right_sum),
                ("The student's calculation", story.student_sum),
            )
            if text
        )
        lines.append(f"{story.number}. **{escape(story.title)}.** {escape(story.what)}{sums} {escape(story.follows)}")
    if not report.findings:
        lines.append("No error.")
    return "\n".join([*lines, ""])


def _name(line: LineMark) -> str:
    """Return the symbol, the part of the model, and the name in the lecture notes if it is different."""
    symbol = f"{line.symbol}, copied" if line.copy_of else line.symbol
    place = f" ({line.section})" if line.section else ""
    return f"{symbol}{place}" + (f", written as {line.name}" if line.name != line.symbol else "")


def _state(line: LineMark) -> str:
    verdicts = {cell.verdict for cell in line.marked}
    if any(verdict.is_error for verdict in verdicts):
        return "contains an error"
    return "carried forward" if Verdict.CARRIED in verdicts else "right"

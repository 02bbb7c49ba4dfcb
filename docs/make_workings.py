"""Write docs/guide/workings.md: the report on every shipped working, line by line, with the story of each slip.

Run it after a change of the marker or of a working: python docs/make_workings.py. A test compares the page.
"""

from collections import Counter
from pathlib import Path

from clearhead.check import Report, Verdict, check
from clearhead.check.read.reading import shipped_workings
from clearhead.check.render.markdown import escape
from clearhead.check.render.words import score, stories, title_of
from clearhead.check.report import LineMark
from clearhead.worksheet.reading import gallery, read_data

PAGE = Path(__file__).parent / "guide" / "workings.md"
HEAD = """\
# The notes' own workings, marked

Written by `python docs/make_workings.py`, which marks every shipped working.

The worked numericals of the gallery were first written by hand, in lecture notes. Their lines are shipped as they were
written, slips included, and this is what the marker finds in them. A line is *right*, *holds a slip*, or *follows*: its
numbers are not the true ones, but they follow rightly from a slip above. A number that was cut instead of rounded is no
slip. The verdicts are explained in [Check a working](check.md#verdicts); `clearhead check NAME` shows each cell.
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
        "| working | right lines | lines with a slip | lines that follow | slips | marks |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in shipped_workings():
        for report in check(name):
            states = Counter(_state(line) for line in report.lines)
            counts = [states["right"], states["holds a slip"], states["follows"], len(report.findings)]
            numbers = " | ".join(str(count) for count in counts)
            lines.append(f"| [{name}](#{name}) | {numbers} | {score(report.earned, report.out_of)} |")
    return "\n".join([*lines, ""])


def _section(name: str, problem: str, report: Report) -> str:
    assert problem in gallery(), f"{name} works a problem that is not in the gallery"
    lines = [f"## {name}", "", f"{escape(title_of(report))}. Marks: {score(report.earned, report.out_of)}.", ""]
    lines += ["| line | | verdicts | slips |", "|---|---|---|---|"]
    for index, line in enumerate(report.lines):
        counts = Counter(cell.verdict for cell in line.marked)
        verdicts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
        slips = ", ".join(str(number) for number, finding in enumerate(report.findings, 1) if finding.line == index)
        lines.append(f"| {escape(_name(line))} | {_state(line)} | {verdicts} | {slips} |")
    lines.append("")
    for story in stories(report):
        sums = "".join(
            f" {heading}: {escape(text)}."
            for heading, text in (("The right sum", story.right_sum), ("As it was worked", story.student_sum))
            if text
        )
        lines.append(f"{story.number}. **{escape(story.title)}.** {escape(story.what)}{sums} {escape(story.follows)}")
    if not report.findings:
        lines.append("No slip.")
    return "\n".join([*lines, ""])


def _name(line: LineMark) -> str:
    """Return the symbol, the part of the model, and the name in the notes where that is another one."""
    symbol = f"{line.symbol}, copied" if line.copy_of else line.symbol
    place = f" ({line.section})" if line.section else ""
    return f"{symbol}{place}" + (f", written as {line.name}" if line.name != line.symbol else "")


def _state(line: LineMark) -> str:
    verdicts = {cell.verdict for cell in line.marked}
    if any(verdict.is_error for verdict in verdicts):
        return "holds a slip"
    return "follows" if Verdict.CARRIED in verdicts else "right"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

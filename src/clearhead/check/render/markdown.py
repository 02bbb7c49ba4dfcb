"""Render a marked working as Markdown: headings, pipe tables and lists, with all of the student's text escaped."""

import re

from clearhead.check.render import words
from clearhead.check.render.cells import MAX_DRAWN, Marking, cell_at
from clearhead.check.report import LineMark, Report
from clearhead.worksheet.render.markdown import escape as escape_markdown
from clearhead.worksheet.render.text import label

_LINKS = re.compile(
    r"(?i)(?<=ftp|ttp|tps):|(?<=www)\.|@"
)  # sites turn bare addresses into links, and @name into a mention


def escape(text: str) -> str:
    """Escape text for Markdown, for the HTML made from it, and for sites that link bare addresses and names."""
    return _LINKS.sub(lambda match: f"&#{ord(match[0])};", escape_markdown(text))


def paragraph(text: str) -> str:
    """Escape text at the start of a line, so that it does not start a list, a rule or a code block."""
    return re.sub(r"^([-+=]|\d+(?=[.)]))", lambda match: _guard(match[0]), escape(text.strip()))


def _guard(start: str) -> str:
    return f"&#{ord(start)};" if not start.isdigit() else f"{start[:-1]}&#{ord(start[-1])};"


def to_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    marking = Marking(report)
    lines = [f"# {escape(words.title_of(report))}", ""]
    if report.student:
        lines += [f"Student: {escape(report.student)}", ""]
    lines += [f"**Marks: {words.total(report)}**", ""]
    if words.mark_names(report):
        lines += [f"*{escape(words.mark_legend(report))}*", ""]
    lines += [paragraph(words.summary(report)), ""]
    for story in words.stories(report):
        lines += _story(story)
    for heading, indices in words.sections(report):
        lines += [f"## {escape(heading or 'Working')}", ""]
        for index in indices:
            lines += _line(marking, index)
    for group in words.notes(report):
        lines += [f"## {group.heading}", "", *(f"- {paragraph(sentence)}" for sentence in group.sentences), ""]
    keys = words.legend(report)
    if keys:
        rows = [_row([key.symbol, key.name, key.meaning]) for key in keys]
        lines += ["## Symbols", "", "| symbol | verdict | meaning |", "|:-:|---|---|", *rows]
    return "\n".join(lines).rstrip() + "\n"


def _story(story: words.Story) -> list[str]:
    paragraphs = {
        "What is wrong": story.what,
        "Where it started": story.started,
        "What it affects": story.follows,
        "How to correct it": story.remedy,
    }
    lines = [f"## Error {story.number}: {escape(story.title)}", ""]
    lines += [f"- **{name}:** {escape(text)}" for name, text in paragraphs.items() if text]
    if story.right_sum or story.student_sum:
        lines += [
            "",
            "| right calculation | your calculation |",
            "|---|---|",
            _row([story.right_sum, story.student_sum]),
        ]
    return [*lines, ""]


def _line(marking: Marking, index: int) -> list[str]:
    line = marking.report.lines[index]
    marks = words.line_score(line.marks)
    lines = [f"**{escape(words.equation_of(line))}**" + (f" — {marks}" if marks else ""), ""]
    for remark in words.remarks(line):
        lines += [paragraph(remark), ""]
    return [*lines, *(_table(marking, line) if line.marked else [])]


def _table(marking: Marking, line: LineMark) -> list[str]:
    window = marking.window(line, MAX_DRAWN, MAX_DRAWN)
    lines = [_row(["", *(label(line.column_name(j)) for j in window.columns)])]
    lines.append("|---" + "|---:" * len(window.columns) + "|")
    for i in window.rows:
        texts = [escape(label(line.row_name(i)))]
        for cell in (cell_at(line, i, j) for j in window.columns):
            text = escape(f"{cell.text} {marking.tail(cell)}") if cell else escape(words.BLANK)
            texts.append(f"**{text}**" if cell and marking.is_wrong(cell) else text)
        lines.append(f"| {' | '.join(texts)} |")
    lines += ["", f"*{window.note}*"] if window.note else []
    lines += ["", *(f"- {escape(marking.describe(line, cell))}" for cell in window.hidden)] if window.hidden else []
    return [*lines, ""]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"

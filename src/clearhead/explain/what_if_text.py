"""Show the outcome of a what-if question as plain text for a terminal."""

from collections.abc import Sequence

from clearhead.decoding.alignment_text import width
from clearhead.errors import printable
from clearhead.explain.what_if_sentence import TokenChange, WhatIf


def what_if_text(outcome: WhatIf) -> str:
    """Return what was changed, both translations, a line for each token, and the tokens that changed."""
    lines = [*outcome.lines, "", *_texts(outcome), "", *_table(outcome)]
    if outcome.kind == "translation":
        lines += ["", *_replacements(outcome)]
    return "\n".join(lines) + "\n"


def _texts(outcome: WhatIf) -> list[str]:
    rows = [("source" if outcome.kind == "translation" else "text", outcome.source)]
    if outcome.changed_source != outcome.source:
        rows.append(("changed", outcome.changed_source))
    if outcome.kind != "text":
        rows += [("before", outcome.before), ("after", outcome.after)]
    longest = max(len(name) for name, _ in rows)
    return [f"{name + ':':{longest + 1}} {printable(text)}" for name, text in rows]


def _table(outcome: WhatIf) -> list[str]:
    heading = ["class" if outcome.kind == "classes" else "token", "log P before", "after", "Δ"]
    rows = [heading, *(_row(token) for token in outcome.tokens)]
    if outcome.total is not None:
        rows.append(_row(outcome.total))
    widths = [max(width(row[column]) for row in rows) for column in range(len(heading))]
    return ["  ".join(_cell(row, column, widths) for column in range(len(heading))) for row in rows]


def _row(token: TokenChange) -> list[str]:
    before, after, difference = (round(value, 3) + 0.0 for value in (token.before, token.after, token.difference))
    return [printable(token.piece), f"{before:.3f}", f"{after:.3f}", f"{difference:+.3f}"]


def _cell(row: Sequence[str], column: int, widths: Sequence[int]) -> str:
    """Return a cell filled with spaces: names are left-aligned, numbers right-aligned."""
    spaces = " " * (widths[column] - width(row[column]))
    return row[column] + spaces if column == 0 else spaces + row[column]


def _replacements(outcome: WhatIf) -> list[str]:
    if not outcome.replacements:
        return ["The translation is the same."]
    lines = ["changed tokens:"]
    for replacement in outcome.replacements:
        before, after = (
            " ".join(printable(piece) for piece in pieces) or "(none)"
            for pieces in (replacement.before, replacement.after)
        )
        lines.append(f"  {before} → {after}")
    return [*lines, f"log P of the new translation: {outcome.log_prob:.3f}"]

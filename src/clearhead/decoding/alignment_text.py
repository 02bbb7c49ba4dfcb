"""Draw an alignment as plain text, for a terminal."""

import unicodedata
from collections.abc import Collection, Sequence

from clearhead.decoding.word_alignment import WordAlignment
from clearhead.errors import printable


def render_alignment(alignment: WordAlignment) -> str:
    """Draw the links as a grid: a row for each target word, a numbered column for each source word."""
    source = [printable(word) for word in alignment.source]
    target = [printable(word) for word in alignment.target]
    side = max([width(word) for word in target] + [0])
    links = set(alignment.links)
    lines = [f"{number:>{side + 2}}  {word}" for number, word in enumerate(source, 1)]
    wide = len(str(len(source)))
    lines.append(" " * (side + 2) + " ".join(f"{number:>{wide}}" for number in range(1, len(source) + 1)))
    for row, word in enumerate(target):
        marks = " ".join(f"{'●' if (column, row) in links else '·':>{wide}}" for column in range(len(source)))
        lines.append(f"{padded_to(word, side)}  {marks}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def padded_to(text: str, size: int) -> str:
    """Pad a text with spaces to a width of `size` terminal columns."""
    return text + " " * (size - width(text))


def text_columns(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> list[str]:
    """Return rows as lines with columns of equal width; the columns in `numbers` are aligned right."""
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [padded_to(cell, size) for cell, size in zip(row, widths, strict=True)]
        for column in numbers:
            cells[column] = " " * (widths[column] - width(row[column])) + row[column]
        lines.append("  ".join(cells).rstrip())
    return lines


def width(text: str) -> int:
    """Return the width of a text in terminal columns: combining marks take none, wide letters two."""
    return sum(
        0
        if unicodedata.category(letter) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(letter) in "WF"
        else 1
        for letter in text
    )

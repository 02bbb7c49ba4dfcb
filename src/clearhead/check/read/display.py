"""Split a document into displayed maths and the lines between."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clearhead.check.read.page_item import MAX_BLOCK

_DISPLAY = re.compile(
    r"(?<!\\)\$\$|\\\[|\\\]|\\(begin|end)\{((?:equation|align|gather|displaymath|eqnarray|multline|flalign|math)\*?)\}"
)


@dataclass(frozen=True)
class PageBlock:
    """Some lines of a document, the number of the first, and whether they are displayed maths."""

    text: str
    line: int
    is_maths: bool


def displays(text: str) -> Iterator[PageBlock]:
    """Split a document into displayed maths and the lines between, in one pass."""
    done, line = 0, 1
    opened: re.Match[str] | None = None
    for match in _DISPLAY.finditer(text):
        if opened is not None and match.start() - opened.end() > MAX_BLOCK:
            opened = None
        if opened is None:
            if match[0] != "\\]" and match[1] != "end":
                opened = match
            continue
        if not _closes(opened, match):
            continue
        before, inside = text[done : opened.start()], text[opened.end() : match.start()]
        yield PageBlock(before, line, is_maths=False)
        line += before.count("\n")
        yield PageBlock(inside, line, is_maths=True)
        line += text.count("\n", opened.start(), match.end())
        done, opened = match.end(), None
    yield PageBlock(text[done:], line, is_maths=False)


def _closes(opened: re.Match[str], match: re.Match[str]) -> bool:
    if opened[1]:
        return match[1] == "end" and match[2] == opened[2]
    return match[0] == {"$$": "$$", "\\[": "\\]"}.get(opened[0])

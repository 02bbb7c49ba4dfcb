"""The page guide/names.md: every name of a line that the checker accepts, from the tables in check/line_words.py."""

from clearhead.check.line_words import LAST_LINE, MEANINGS, OTHER_MEANINGS

_INTRODUCTION = """# Names of lines

This page is generated from the tables of the checker.

A line of a working is named by its symbol on the worksheet, or by one of these words. Capitals, blanks, `_`, `-` and
brackets make no difference in a word, but a single letter keeps its case: `A` and `a` are two names.
[Check a solution](check.md#names-of-lines) shows how to name a row, a cell or a part of a model.

| line | words |
|---|---|
"""
_OTHER = """
The last line of an exercise, or of a part of it, has more names: {last}.

## Names with several meanings

These names are used for other lines too. The checker takes one of them, in this order, if the first meaning of the
name does not fit in shape or numbers. The report says which line was taken.

| name | can also mean |
|---|---|
"""


def page() -> str:
    """Return the page."""
    lines = [f"| {meaning.title} | {_words(meaning.words)} |" for meaning in MEANINGS]
    names = [f"| `{name}` | {', '.join(titles)} |" for name, titles in OTHER_MEANINGS.items()]
    other = _OTHER.format(last=_words(LAST_LINE))
    return _INTRODUCTION + "\n".join(lines) + "\n" + other + "\n".join(names) + "\n"


def _words(words: str) -> str:
    return ", ".join(f"`{word}`" for word in words.split(", "))

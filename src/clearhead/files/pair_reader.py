"""Read sentence pairs line by line: from two aligned files, TSV or JSONL.

Every reader yields a SentencePair or a Fault for each line; corpora.py decides what to do about faults.
"""

import json
from collections.abc import Iterator
from itertools import count, zip_longest
from typing import NamedTuple

from clearhead.errors import printable
from clearhead.files.fields import FieldFault, find_columns, json_text
from clearhead.files.lines import Fault, Notes, read_lines


class SentencePair(NamedTuple):
    """A source and its target, with their line number."""

    source: str
    target: str
    line: int


def read_aligned(source: str, target: str, notes: Notes) -> Iterator[SentencePair | Fault]:
    """Yield the pairs of two files, line by line; files of different lengths end with a fatal fault."""
    sources, targets = read_lines(source, notes), read_lines(target, notes)
    both: Iterator[tuple[str | Fault | None, str | Fault | None]] = zip_longest(sources, targets)
    for number in count(1):
        one, other = next(both, (None, None))
        if isinstance(one, str) and isinstance(other, str):
            yield SentencePair(one, other, number)
            continue
        faults = [side for side in (one, other) if isinstance(side, Fault)]
        fatal = [fault for fault in faults if fault.is_fatal]
        yield from fatal or faults[:1]
        if fatal or (one is None and other is None):
            return
        if one is None or other is None:
            longer = number + sum(1 for _ in both)
            counts = (number - 1, longer) if one is None else (longer, number - 1)
            yield _misaligned(source, target, counts)
            return


def _misaligned(source: str, target: str, counts: tuple[int, int]) -> Fault:
    detail = (
        f"{counts[0]:,} lines, but {printable(target)} has {counts[1]:,}. "
        "Each line must be the translation of the same line in the other file: find the first line that does not match."
    )
    return Fault(source, None, "misaligned files", detail, is_fatal=True)


def read_text(name: str, notes: Notes) -> Iterator[SentencePair | Fault]:
    """Yield every line of one file as a target without a source."""
    for number, line in enumerate(read_lines(name, notes), 1):
        yield SentencePair("", line, number) if isinstance(line, str) else line


def read_tsv(name: str, fields: tuple[str | None, str], notes: Notes) -> Iterator[SentencePair | Fault]:
    """Yield the pairs of a TSV file; a field is a column number, counted from 1, or a name in the first line."""
    lines = enumerate(read_lines(name, notes), 1)
    columns: list[int] | None = None
    for number, line in lines:
        if isinstance(line, Fault):
            yield line
            continue
        cells = line.split("\t")
        if columns is None:
            has_header, columns = find_columns(name, cells, fields)
            if has_header:
                continue
        if line and max(columns) >= len(cells):
            detail = f"{len(cells)} columns, but column {max(columns) + 1} is required. Columns are separated by tabs."
            yield Fault(name, number, "missing column", detail)
            continue
        sides = [cells[column] if line else "" for column in columns]
        yield SentencePair(sides[0] if len(sides) == 2 else "", sides[-1], number)


def read_jsonl(
    name: str, fields: tuple[str | None, str], notes: Notes, has_labels: bool
) -> Iterator[SentencePair | Fault]:
    """Yield the pairs of a file with one JSON object per line; `translation.en` names a nested key."""
    for number, line in enumerate(read_lines(name, notes), 1):
        if isinstance(line, Fault):
            yield line
            continue
        if not line.strip():
            yield SentencePair("", "", number)
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            detail = f'not JSON: {wrong}. Each line must be one object, such as {{"source": "…", "target": "…"}}.'
            yield Fault(name, number, "not JSON", detail)
            continue
        source = "" if fields[0] is None else json_text(data, fields[0])
        target = json_text(data, fields[1], is_label=has_labels)
        for side in (source, target):
            if isinstance(side, FieldFault):
                yield Fault(name, number, side.reason, side.detail)
                break
        else:
            yield SentencePair(str(source), str(target), number)

"""Read sentence pairs line by line: from two aligned files, TSV or JSONL.

Every reader yields a SentencePair or a Fault for each line; corpora.py decides what to do about faults.
"""

from collections.abc import Iterator, Sequence
from itertools import count, zip_longest
from typing import NamedTuple

from clearhead.errors import printable
from clearhead.files.fields import Form, read_rows
from clearhead.files.lines import Fault, Notes, read_lines


class SentencePair(NamedTuple):
    """A source and its target, with their line number."""

    source: str
    target: str
    line: int


def read_aligned(source: str, target: str, notes: Notes | None = None) -> Iterator[SentencePair | Fault]:
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


def read_fields(
    name: str, form: Form, fields: Sequence[str], notes: Notes | None = None, *, has_label: bool = False
) -> Iterator[SentencePair | Fault]:
    """Yield the pairs of one file; one field alone is the target, without a source."""
    for row in read_rows(read_lines(name, notes), name, form, fields, has_label=has_label):
        if isinstance(row, Fault):
            yield row
        elif not row.is_header:
            yield SentencePair(row.texts[0] if len(fields) == 2 else "", row.texts[-1], row.number)

"""Pairs from files, one line at a time: two aligned files, TSV or JSONL.

Every reader yields a Pair or a Fault for each line; what to do about faults is decided in corpora.py.
"""

import json
import re
from collections.abc import Iterator
from itertools import count, zip_longest
from typing import Any, NamedTuple

from clearhead.data.lines import Fault, Notes, read_lines
from clearhead.errors import DataError, did_you_mean, printable

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


class Pair(NamedTuple):
    """A source and its target, and the line they came from."""

    source: str
    target: str
    line: int


def read_aligned(source: str, target: str, notes: Notes) -> Iterator[Pair | Fault]:
    """Yield the pairs of two files, line by line; files of different lengths end with a fatal fault."""
    sources, targets = read_lines(source, notes), read_lines(target, notes)
    both: Iterator[tuple[str | Fault | None, str | Fault | None]] = zip_longest(sources, targets)
    for number in count(1):
        one, other = next(both, (None, None))
        if isinstance(one, str) and isinstance(other, str):
            yield Pair(one, other, number)
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
    told = (
        f"{counts[0]:,} lines, but {printable(target)} has {counts[1]:,}. "
        "Line by line they must be translations of each other: find the line where they part."
    )
    return Fault(source, None, "misaligned files", told, is_fatal=True)


def read_text(name: str, notes: Notes) -> Iterator[Pair | Fault]:
    """Yield every line of one file as a target without a source."""
    for number, line in enumerate(read_lines(name, notes), 1):
        yield Pair("", line, number) if isinstance(line, str) else line


def read_tsv(name: str, fields: tuple[str | None, str], notes: Notes) -> Iterator[Pair | Fault]:
    """Yield the pairs of a file of columns; a field is a column's number from 1, or its name in the first line."""
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
            told = f"{len(cells)} columns, and column {max(columns) + 1} is needed. Columns are parted by tabs."
            yield Fault(name, number, "missing column", told)
            continue
        sides = [cells[column] if line else "" for column in columns]
        yield Pair(sides[0] if len(sides) == 2 else "", sides[-1], number)


def find_columns(name: str, cells: list[str], fields: tuple[str | None, str]) -> tuple[bool, list[int]]:
    """Return whether the first line is a header, and where the columns are that are read."""
    asked = [field for field in fields if field is not None]
    if all(re.fullmatch("[1-9][0-9]{0,5}", field) for field in asked):
        return False, [int(field) - 1 for field in asked]
    header = [cell.strip() for cell in cells]
    missing = [field for field in asked if field not in header]
    if not missing:
        return True, [header.index(field) for field in asked]
    if set(asked) <= {"source", "target"}:  # nothing was said, and the file has no header: the first columns
        return False, list(range(len(asked)))
    shown = ", ".join(printable(cell[:40]) for cell in header[:10])
    raise DataError(
        f"{printable(name)}:1: no column is called '{printable(missing[0])}'.{did_you_mean(missing[0], header)} "
        f"The first line has: {shown}. Say a name of the first line, or a column's number from 1."
    )


def read_jsonl(name: str, fields: tuple[str | None, str], notes: Notes, has_labels: bool) -> Iterator[Pair | Fault]:
    """Yield the pairs of a file of one JSON object a line; `translation.en` is a key inside a key."""
    for number, line in enumerate(read_lines(name, notes), 1):
        if isinstance(line, Fault):
            yield line
            continue
        if not line.strip():
            yield Pair("", "", number)
            continue
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            told = f'not JSON: {wrong}. Each line is one object, as in {{"source": "…", "target": "…"}}.'
            yield Fault(name, number, "not JSON", told)
            continue
        source = "" if fields[0] is None else _value(data, fields[0], False)
        target = _value(data, fields[1], has_labels)
        for side in (source, target):
            if isinstance(side, _Trouble):
                yield Fault(name, number, side.reason, side.detail)
                break
        else:
            yield Pair(str(source), str(target), number)


class TextUnder(NamedTuple):
    """The text under a key, or a sentence why there is none."""

    value: str
    wrong: str = ""


def text_under(data: Any, field: str) -> TextUnder:
    """Return the text under a key of a JSON object; `translation.en` is a key inside a key."""
    found = _value(data, field, is_label=False)
    return TextUnder("", found.detail) if isinstance(found, _Trouble) else TextUnder(found)


class _Trouble(NamedTuple):
    reason: str
    detail: str


def _value(data: Any, field: str, is_label: bool) -> str | _Trouble:
    """Return the text under a key; a label may also be a number or true and false."""
    if not isinstance(data, dict):
        return _Trouble("not JSON", f"a JSON {_kind(data)}, and an object {{…}} is needed.")
    found: Any = data
    for key in [field] if field in data else field.split("."):
        if not isinstance(found, dict) or key not in found:
            held = ", ".join(printable(str(name)[:40]) for name in list(data)[:10]) or "none"
            told = f"no key '{printable(field)}'.{did_you_mean(field, data)} Keys: {held}."
            return _Trouble("missing key", told)
        found = found[key]
    if is_label and isinstance(found, int | float):
        return json.dumps(found)
    if not isinstance(found, str):
        return _Trouble("not text", f"'{printable(field)}' is a JSON {_kind(found)}, and text is needed.")
    wrong = _UNWRITABLE.search(found)
    if wrong is None:
        return found
    if wrong[0] == "\0":
        return _Trouble("NUL byte", f"a NUL character in '{printable(field)}'.")
    return _Trouble("invalid UTF-8", f"half a surrogate pair in '{printable(field)}', which is no character.")


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "number")

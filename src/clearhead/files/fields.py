"""Find the texts in lines: the lines themselves, TSV columns by number or name, or keys of JSON objects."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from clearhead.errors import DataError, closest_match, did_you_mean, printable
from clearhead.files.lines import Fault

Form = Literal["text", "tsv", "jsonl"]
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


class Row(NamedTuple):
    """A line and the texts of its fields, and its JSON object if it is one; a header has no texts, only empty ones."""

    number: int
    line: str
    texts: tuple[str, ...]
    data: dict[str, Any] | None = None
    is_header: bool = False


def read_rows(
    lines: Iterable[str | Fault], name: str, form: Form, fields: Sequence[str], *, has_label: bool = False
) -> Iterator[Row | Fault]:
    """Yield the texts of each line, or a Fault; in an empty line of a table or of objects, all are empty.

    A field is a TSV column, counted from 1, or its name in the first line; or a JSON key, such as `translation.en`.
    With `has_label`, the value of the last key can also be a number, true or false.
    """
    columns: list[int] = []
    for number, line in enumerate(lines, 1):
        if isinstance(line, Fault):
            # Without its header, the columns of a table are unknown.
            yield replace(line, is_fatal=True) if form == "tsv" and not columns else line
        elif form == "text":
            yield Row(number, line, (line,))
        elif form == "jsonl":
            yield _object(name, number, line, fields, has_label=has_label)
        else:
            cells = line.split("\t")
            is_header = False
            if not columns:
                is_header, columns = find_columns(name, cells, fields)
            if is_header or not line:
                yield Row(number, line, ("",) * len(fields), is_header=is_header)
            elif max(columns) >= len(cells):
                detail = f"the line has {len(cells)} columns, but column {max(columns) + 1} is required. "
                yield Fault(name, number, "missing column", f"{detail}Columns are separated by tabs.")
            else:
                yield Row(number, line, tuple(cells[column] for column in columns))


def _object(name: str, number: int, line: str, fields: Sequence[str], *, has_label: bool) -> Row | Fault:
    if not line.strip():
        return Row(number, line, ("",) * len(fields))
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as wrong:
        example = ", ".join(f'"{printable(field)}": "…"' for field in fields)
        detail = f"not JSON: {wrong}. Each line must be one object, such as {{{example}}}."
        return Fault(name, number, "not JSON", detail)
    texts: list[str] = []
    for place, field in enumerate(fields, 1):
        text = json_text(data, field, is_label=has_label and place == len(fields))
        if isinstance(text, FieldFault):
            return Fault(name, number, text.reason, text.detail)
        texts.append(text)
    return Row(number, line, tuple(texts), data)


def find_columns(name: str, cells: list[str], columns: Sequence[str]) -> tuple[bool, list[int]]:
    """Return whether the first line is a header, and the indices of the requested columns."""
    if all(re.fullmatch("[1-9][0-9]{0,5}", field) for field in columns):
        return False, [int(field) - 1 for field in columns]
    header = [cell.strip() for cell in cells]
    missing = [field for field in columns if field not in header]
    if not missing:
        return True, [header.index(field) for field in columns]
    if set(columns) <= {"source", "target"}:  # default names and no header: use the first columns
        return False, list(range(len(columns)))
    shown = ", ".join(printable(cell[:40]) for cell in header[:10])
    raise DataError(
        f"{printable(name)}:1: there is no column '{printable(missing[0])}'.{did_you_mean(missing[0], header)} "
        f"The first line has: {shown}. Use a name from the first line, or a column number (counted from 1)."
    )


class FieldFault(NamedTuple):
    """Why a key has no text: a short reason, under which such lines are counted, and a sentence with the details."""

    reason: str
    detail: str


def json_text(data: Any, field: str, *, is_label: bool = False) -> str | FieldFault:
    """Return the text under a key of a JSON object; `translation.en` names a nested key.

    With `is_label`, the value can also be a number, true or false.
    """
    if not isinstance(data, dict):
        return FieldFault("not JSON", f"this is a JSON {_kind(data)}, but an object {{…}} is required.")
    value: Any = data
    for key in [field] if field in data else field.split("."):
        if not isinstance(value, dict) or key not in value:
            keys = ", ".join(printable(str(name)[:40]) for name in list(data)[:10]) or "none"
            near = closest_match(field, data)
            similar = "" if near is None else f", but '{printable(near)}' is similar: rename it, or give that name"
            return FieldFault("missing key", f"no key '{printable(field)}'{similar}. Keys: {keys}.")
        value = value[key]
    if is_label and isinstance(value, int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return FieldFault("not text", f"'{printable(field)}' is a JSON {_kind(value)}, but text is required.")
    unwritable = _UNWRITABLE.search(value)
    if unwritable is None:
        return value
    if unwritable[0] == "\0":
        return FieldFault("NUL byte", f"'{printable(field)}' contains a NUL character.")
    return FieldFault(
        "invalid UTF-8", f"'{printable(field)}' contains an unpaired surrogate, which is not a character."
    )


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "number")

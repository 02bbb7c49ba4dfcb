"""Find the text in a line: a TSV column by number or name, or a key of a JSON object."""

import json
import re
from typing import Any, NamedTuple

from clearhead.errors import DataError, closest_match, did_you_mean, printable

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def find_columns(name: str, cells: list[str], fields: tuple[str | None, str]) -> tuple[bool, list[int]]:
    """Return whether the first line is a header, and the indices of the requested columns."""
    columns = [field for field in fields if field is not None]
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

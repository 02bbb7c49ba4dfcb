"""Where the text of a line is: a column of TSV by its number or name, or a key of a JSON object."""

import json
import re
from typing import Any, NamedTuple

from clearhead.errors import DataError, did_you_mean, printable

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def find_columns(name: str, cells: list[str], fields: tuple[str | None, str]) -> tuple[bool, list[int]]:
    """Return whether the first line is a header, and where the columns are that are read."""
    columns = [field for field in fields if field is not None]
    if all(re.fullmatch("[1-9][0-9]{0,5}", field) for field in columns):
        return False, [int(field) - 1 for field in columns]
    header = [cell.strip() for cell in cells]
    missing = [field for field in columns if field not in header]
    if not missing:
        return True, [header.index(field) for field in columns]
    if set(columns) <= {"source", "target"}:  # no column was named, and the file has no header: the first columns
        return False, list(range(len(columns)))
    shown = ", ".join(printable(cell[:40]) for cell in header[:10])
    raise DataError(
        f"{printable(name)}:1: no column is called '{printable(missing[0])}'.{did_you_mean(missing[0], header)} "
        f"The first line has: {shown}. Say a name of the first line, or a column's number from 1."
    )


class FieldFault(NamedTuple):
    """Why there is no text under a key: a kind of fault, the same for every line that has it, and a sentence."""

    reason: str
    detail: str


def json_text(data: Any, field: str, *, is_label: bool = False) -> str | FieldFault:
    """Return the text under a key of a JSON object; `translation.en` is a key inside a key.

    A label may also be a number, or true or false.
    """
    if not isinstance(data, dict):
        return FieldFault("not JSON", f"a JSON {_kind(data)}, and an object {{…}} is needed.")
    value: Any = data
    for key in [field] if field in data else field.split("."):
        if not isinstance(value, dict) or key not in value:
            keys = ", ".join(printable(str(name)[:40]) for name in list(data)[:10]) or "none"
            return FieldFault("missing key", f"no key '{printable(field)}'.{did_you_mean(field, data)} Keys: {keys}.")
        value = value[key]
    if is_label and isinstance(value, int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        return FieldFault("not text", f"'{printable(field)}' is a JSON {_kind(value)}, and text is needed.")
    unwritable = _UNWRITABLE.search(value)
    if unwritable is None:
        return value
    if unwritable[0] == "\0":
        return FieldFault("NUL byte", f"a NUL character in '{printable(field)}'.")
    return FieldFault("invalid UTF-8", f"half a surrogate pair in '{printable(field)}', which is no character.")


def _kind(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "number")

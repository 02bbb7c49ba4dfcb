"""Read and write JSON files that contain one object."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.errors import CheckpointError, printable
from clearhead.files.reading import read_file
from clearhead.files.writing import FileWriter, bytes_writer


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or raise CheckpointError with the reason."""
    shown = printable(str(path))
    try:
        return parse_object(read_file(path))
    except UnicodeError as problem:
        raise CheckpointError(f"{shown} cannot be read: {problem}.") from None
    except ValueError as problem:
        raise CheckpointError(f"{shown} is not JSON: {problem}. Copy it again from its source.") from None
    except TypeError as problem:
        raise CheckpointError(f"{shown} {problem}.") from None


def parse_object(content: bytes) -> dict[str, Any]:
    """Return the object in a JSON text; raise ValueError if it is not JSON, TypeError if it is something else."""
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except RecursionError as problem:
        raise ValueError(str(problem)) from None
    if not isinstance(data, dict):
        raise TypeError(f"contains a {type(data).__name__}, but an object {{…}} is required")
    return data


def json_bytes(data: Mapping[str, Any]) -> bytes:
    """Return the data as JSON in the style of our files: indented, UTF-8, without NaN."""
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def json_writer(data: Mapping[str, Any]) -> FileWriter:
    """Return a function that writes the data as JSON."""
    return bytes_writer(json_bytes(data))

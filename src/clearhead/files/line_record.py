"""What is recorded about an output file: its settings, and hashes of the input lines and of the output.

A journal next to an unfinished file holds such a record; for finished files, records are in the user's cache.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

from clearhead.errors import printable
from clearhead.files.cache import user_cache
from clearhead.files.json_file import parse_object

_MAX_RECORDS = 1000  # in the cache; older ones are deleted
_MAX_BYTES = 2**26  # of a record: settings can contain a glossary
_MAX_NUMBER = 2**62
_MAX_SHOWN = 60  # characters of a value in a message
_MAX_DIFFERENCES = 5
_BLOCK = 2**20
_MISSING: Any = object()
# Settings that were removed, each with the value that changed nothing: earlier versions recorded them.
_RETIRED: Mapping[tuple[str, str], Any] = {
    ("search", "coverage_penalty"): 0.0,
    ("output", "alternatives"): None,
    ("output", "num_alternatives"): 5,
}


@dataclass(frozen=True)
class LineRecord:
    """How many lines of the input are done, how many bytes they gave, the hashes of both, and the settings."""

    num_lines: int
    num_bytes: int
    input_hash: str
    output_hash: str
    made_with: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """Return the record as JSON."""
        data = {
            "lines": self.num_lines,
            "bytes": self.num_bytes,
            "input": self.input_hash,
            "output": self.output_hash,
            "made_with": self.made_with,
        }
        return json.dumps(data).encode()

    @staticmethod
    def read(path: Path) -> "LineRecord":
        """Read a record; raise OSError if the file cannot be read, ValueError if it is damaged."""
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is not a file")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES // 2**20} MiB")
        try:
            data = parse_object(content)
        except TypeError as wrong:
            raise ValueError(str(wrong)) from None
        made_with = data.get("made_with")
        if not isinstance(made_with, dict):
            raise ValueError("'made_with' must be an object")
        num_lines, num_bytes = _count(data, "lines"), _count(data, "bytes")
        if num_bytes and not num_lines:
            raise ValueError(f"'bytes' is {num_bytes} although 'lines' is 0")
        return LineRecord(
            num_lines, num_bytes, _hash(data, "input"), _hash(data, "output"), _without_retired(made_with)
        )


def _count(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if type(value) is not int or not 0 <= value <= _MAX_NUMBER:
        raise ValueError(f"'{key}' must be a whole number from 0")
    return value


def _hash(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError(f"'{key}' must be a SHA-256 hash")
    return value


def _without_retired(made_with: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without those that were removed; one with another value stays, and differs from those of now."""
    current = dict(made_with)
    for (group, name), default in _RETIRED.items():
        settings = current.get(group)
        if isinstance(settings, Mapping) and settings.get(name, _MISSING) == default:
            current[group] = {key: value for key, value in settings.items() if key != name}
    return current


def plain_data(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they are read back from JSON, where a tuple is a list."""
    data: dict[str, Any] = json.loads(json.dumps(settings))
    return data


def describe_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return the settings that differ, `search.beam was 1 and is now 4; …`; empty if they are equal."""
    differences = list(_differences(before, now, ""))
    more = len(differences) - _MAX_DIFFERENCES
    return "; ".join([*differences[:_MAX_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])])


def _differences(before: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in {**before, **now}:
            inner = f"{path}.{name}" if path else str(name)
            yield from _differences(before.get(name, _MISSING), now.get(name, _MISSING), inner)
    elif before is _MISSING or now is _MISSING or before != now:
        old, new = _text(before), _text(now)
        pairs = zip(old, new, strict=False)
        start = next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))
        yield f"{printable(path)} was {_excerpt(old, start)} and is now {_excerpt(new, start)}"


def _text(value: Any) -> str:
    if value is _MISSING:
        return "not recorded"
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "a deeply nested value"


def _excerpt(text: str, start: int) -> str:
    """Return the text, or its part around `start`, where it differs from another, if it is long."""
    if len(text) <= _MAX_SHOWN:
        return printable(text)
    first = max(0, min(start - _MAX_SHOWN // 3, len(text) - _MAX_SHOWN))
    part = printable(text[first : first + _MAX_SHOWN])
    return f"{'…' if first else ''}{part}{'…' if first + _MAX_SHOWN < len(text) else ''}"


def start_hash(path: Path, num_bytes: int | None = None) -> "hashlib._Hash":
    """Return the SHA-256 of the first `num_bytes` bytes of a file, or of all; more can be added to it."""
    digest, num_left = hashlib.sha256(), num_bytes
    with path.open("rb") as file:
        while block := file.read(_BLOCK if num_left is None else min(_BLOCK, num_left)):
            digest.update(block)
            num_left = None if num_left is None else num_left - len(block)
    return digest


def save_finished(path: Path, record: LineRecord) -> None:
    """Keep the record of a finished file in the user's cache; without a cache, nothing is kept."""
    with suppress(OSError):
        place = _place(path)
        temporary = place.with_name(f".{place.name}.{token_hex(4)}")
        try:
            temporary.write_bytes(record.to_bytes())
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
        records = [(other.stat().st_mtime_ns, other) for other in place.parent.iterdir()]
        for _, other in sorted(records, reverse=True)[_MAX_RECORDS:]:
            other.unlink(missing_ok=True)


def load_finished(path: Path) -> LineRecord | None:
    """Return the record of a finished file from the user's cache, if there is one that can be read."""
    try:
        return LineRecord.read(_place(path))
    except (OSError, ValueError):
        return None


def _place(path: Path) -> Path:
    name = hashlib.sha256(os.path.realpath(path).encode(errors="surrogateescape")).hexdigest()
    return user_cache("outputs") / f"{name}.json"

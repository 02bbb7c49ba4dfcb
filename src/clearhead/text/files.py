"""Small files whole or not at all: written under a temporary name, and moved into place when they are complete."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from clearhead.errors import CheckpointError, printable


def write_whole(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder, all of them or none; a folder that is new appears with all of its files.

    The last one is what makes the others readable: in a folder that was there before, it is taken away first.
    """
    part = folder.parent / f".{folder.name}.{token_hex(4)}.part"
    try:
        part.mkdir(parents=True)
        for name, content in contents.items():
            with (part / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        if not folder.exists():
            part.rename(folder)
            return
        (folder / list(contents)[-1]).unlink(missing_ok=True)
        for name in contents:
            (part / name).replace(folder / name)
    except OSError as wrong:
        raise CheckpointError(
            f"{printable(str(folder))} could not be written: {wrong}. Choose a folder that can be written, "
            "on a disk with room."
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def read_whole(path: Path) -> bytes:
    """Return the bytes of a file, or say why not."""
    try:
        return path.read_bytes()
    except OSError as wrong:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {wrong.strerror}.") from None


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or say what is there instead."""
    try:
        data = json.loads(read_whole(path))
    except (ValueError, RecursionError) as wrong:
        raise CheckpointError(f"{printable(str(path))} is not JSON: {wrong}. Copy it again.") from None
    if not isinstance(data, dict):
        raise CheckpointError(f"{printable(str(path))} holds {type(data).__name__}, and an object {{…}} is needed.")
    return data

"""Small files whole or not at all: written under a temporary name, and moved into place when they are complete."""

import os
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from clearhead.errors import CheckpointError, printable


def write_whole(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write files into a folder; the last one is what makes the others readable, so it comes last."""
    written: dict[str, Path] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = written[name] = folder / f".{name}.{token_hex(4)}.part"
            with path.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        (folder / list(contents)[-1]).unlink(missing_ok=True)
        for name, path in written.items():
            path.replace(folder / name)
    except OSError as wrong:
        raise CheckpointError(
            f"{printable(str(folder))} could not be written: {wrong}. Choose a folder that can be written, "
            "on a disk with room."
        ) from None
    finally:
        for path in written.values():
            path.unlink(missing_ok=True)


def read_whole(path: Path) -> bytes:
    """Return the bytes of a file, or say why not."""
    try:
        return path.read_bytes()
    except OSError as wrong:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {wrong.strerror}.") from None

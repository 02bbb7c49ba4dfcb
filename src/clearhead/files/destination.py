"""Where an output goes: a file (links are followed), a device, a pipe, or an open descriptor such as /dev/stdout.

`check_outputs` raises an error, before any work is done, if an output cannot be written or would overwrite an input.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from clearhead.errors import RunError, printable
from clearhead.files.line_input import STANDARD_INPUT
from clearhead.files.standard_streams import CLOSED, ClosedOutput

try:
    import fcntl
except ImportError:  # Windows has no such call, nor descriptors with a path
    fcntl = None  # type: ignore[assignment]

_MAX_LINKS = 40  # as many as Linux follows
_DESCRIPTOR_FOLDERS = ("/proc/self/fd", "/proc/thread-self/fd", "/dev/fd")


@dataclass(frozen=True)
class Output:
    """An output as the user named it, the parameter that names it, and the suffixes of the files written next to it."""

    name: str | Path
    option: str = "output"
    companions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Destination:
    """What is behind the name of an output: the file to write, or an open descriptor."""

    path: Path
    descriptor: int | None = None

    @staticmethod
    def of(name: str | Path) -> "Destination":
        """Follow links to the file to write, which need not exist, or to a descriptor; raise OSError if it fails."""
        path = Path(name)
        if str(path) == STANDARD_INPUT:  # by the same convention, standard output
            return Destination(path, 1)
        for _ in range(_MAX_LINKS):
            place = Path(os.path.realpath(path.parent), path.name)
            if str(place.parent) in map(os.path.realpath, _DESCRIPTOR_FOLDERS) and place.name.isdecimal():
                return Destination(path, int(place.name))
            if not place.is_symlink():
                return Destination(path)
            path = place.parent / place.readlink()
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    @property
    def is_stream(self) -> bool:
        """Whether it is written directly, because it is a device, a pipe, a socket or an open descriptor."""
        if self.descriptor is not None:
            return True
        try:
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))

    def open_stream(self) -> BinaryIO:
        """Open a stream to write to; a descriptor is duplicated, so that a file behind it is not truncated."""
        if self.descriptor is None:
            return self.path.open("wb")
        for text in (sys.stdout, sys.stderr):  # what was printed before comes first
            if text is not None:
                text.flush()
        return os.fdopen(os.dup(self.descriptor), "wb")

    def status(self) -> os.stat_result | None:
        """Return the status of the file or descriptor; None if there is no such file."""
        try:
            return self.path.stat() if self.descriptor is None else os.fstat(self.descriptor)
        except OSError:
            return None


def check_outputs(
    outputs: Sequence[Output], inputs: Iterable[str | Path] = (), *, model_files: Iterable[Path] = ()
) -> None:
    """Raise RunError if an output cannot be written, is an input (`-` is standard input), or is named twice.

    `model_files` are those of a model or a run, which no output may overwrite either.
    """
    protected = _protected(model_files, "belongs to the model or its run") | _protected(inputs, "is read")
    options: dict[object, str] = {}
    for output in outputs:
        destination = find_destination(output.name, output.option)
        _refuse_input(str(output.name), destination, protected, output.option)
        for suffix in output.companions if not destination.is_stream else ():
            companion = destination.path.with_name(destination.path.name + suffix)
            _refuse_input(str(companion), Destination(companion), protected, output.option)
        for key in _keys(destination, output.companions):
            if options.setdefault(key, output.option) != output.option:
                raise RunError(
                    f"{printable(str(output.name))} is named for two outputs, and one would overwrite the other. "
                    "Choose another name for one of them.",
                    options=(options[key], output.option),
                )


def check_standard_output(inputs: Iterable[str | Path]) -> None:
    """Raise RunError if standard output is closed, or is redirected to one of the inputs."""
    if sys.stdout is None or sys.stdout.closed or isinstance(sys.stdout, ClosedOutput):
        raise RunError(CLOSED, options=("output",))
    try:
        identity = _identity(os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # not a file, as in a notebook
        return
    for name in inputs:
        if identity is not None and identity == _identity(_input_status(name)):
            raise RunError(
                f"standard output is the same file as {_shown(str(name))}, which is read. Write to another file.",
                options=("output",),
            )


def find_destination(name: str | Path, option: str = "output") -> Destination:
    """Return the destination of an output, or raise RunError if it cannot be written."""
    shown = printable(str(name))
    if not str(name):
        raise RunError("the name of the output is empty. Give the name of a file.", options=(option,))
    try:
        destination = Destination.of(name)
        if destination.descriptor is not None:
            _check_descriptor(shown, destination.descriptor, option)
        elif destination.path.is_dir():
            raise RunError(f"{shown} is a folder. Give the name of a file.", options=(option,))
        elif not destination.path.parent.is_dir():
            raise RunError(f"the folder of {shown} does not exist. Create it first.", options=(option,))
        elif (other := _unfinished(destination.path)) is not None:
            raise RunError(
                f"{shown} belongs to the output {printable(other)}, which is not finished. Choose another name.",
                options=(option,),
            )
        elif not destination.is_stream and not os.access(destination.path.parent, os.W_OK | os.X_OK):
            raise RunError(
                f"{shown} cannot be written: its folder is not writable. Choose another place.", options=(option,)
            )
    except (OSError, ValueError) as wrong:  # a name that is too long, or that contains a NUL character
        reason = wrong.strerror if isinstance(wrong, OSError) else wrong
        raise RunError(f"{shown} cannot be written: {reason}. Choose another place.", options=(option,)) from None
    return destination


def _unfinished(path: Path) -> str | None:
    """Return the name of the unfinished output that a file belongs to, as its part or its journal; otherwise None."""
    name = path.name.removesuffix(".json")
    has_both = all(path.with_name(file).is_file() for file in (name, f"{name}.json"))
    return name.removesuffix(".part") if name.endswith(".part") and has_both else None


def _check_descriptor(shown: str, descriptor: int, option: str) -> None:
    try:
        os.fstat(descriptor)
    except OSError:
        raise RunError(f"{shown} is not open. Give the name of a file.", options=(option,)) from None
    if fcntl is not None and fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise RunError(f"{shown} is closed, or only open to be read. Give the name of a file.", options=(option,))


def _protected(names: Iterable[str | Path], fact: str) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the name of each file, and the fact why it may not be overwritten, by what identifies it."""
    return {identity: (str(name), fact) for name in names if (identity := _identity(_input_status(name))) is not None}


def _refuse_input(
    name: str, destination: Destination, protected: dict[tuple[int, int], tuple[str, str]], option: str
) -> None:
    identity = _identity(destination.status())
    if identity is None or identity not in protected:
        return
    other, fact = protected[identity]
    if other not in (name, str(Path(name).absolute())):
        fact = f"is the same file as {_shown(other)}, which {fact}"
    raise RunError(
        f"{printable(name)} {fact}, and the output would overwrite it. Choose another name for the output.",
        options=(option,),
    )


def _keys(destination: Destination, companions: tuple[str, ...]) -> list[object]:
    """Return keys that two outputs share if one would overwrite the other; devices and pipes have none."""
    if destination.is_stream:
        identity = _identity(destination.status())
        return [] if identity is None else [identity]
    path = os.path.realpath(destination.path)
    identity = _identity(destination.status())
    return [*(path + suffix for suffix in ("", *companions)), *([identity] if identity is not None else [])]


def _input_status(name: str | Path) -> os.stat_result | None:
    try:
        if str(name) != STANDARD_INPUT:
            return Path(name).stat()
        return None if sys.stdin is None else os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):  # no such file, or standard input is not a file
        return None


def _identity(status: os.stat_result | None) -> tuple[int, int] | None:
    """Return what identifies a file under all its names; None for devices, which can be read and written at once."""
    if status is None or not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        return None
    return status.st_dev, status.st_ino


def _shown(name: str) -> str:
    return "standard input" if name == STANDARD_INPUT else printable(name)

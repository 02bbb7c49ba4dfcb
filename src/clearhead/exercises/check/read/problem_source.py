"""Load the problem of a working: one that the user gives can be any file, one that a working names cannot.

Workings come from other people. A name inside one is a gallery id or a file in the folder of the working, and no
message repeats the content of such a file, because messages go into reports and grades.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.errors import ProblemError, did_you_mean
from clearhead.files.reading import UnreadableFileError, missing_file_hint, read_bounded
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import MAX_BYTES, gallery, read_data


def load_given_problem(problem: Any) -> Mapping[str, Any]:
    """Return the data of a problem that the user gives: as data, by its gallery id, or from any file."""
    if isinstance(problem, Mapping):
        return problem
    name = _name(problem)
    path = Path(name)
    try:
        if name in gallery() and not path.exists():
            return read_data(gallery()[name].read_bytes())
        if not path.is_file():
            raise _no_such_problem(name, missing_file_hint(path))
        return read_data(_content(path))
    except OSError as wrong:
        raise ProblemError(f"problem {shorten(name)} cannot be read: {wrong.strerror}.") from None
    except ProblemError as wrong:
        raise wrong.located(f"problem {shorten(name)}") from None


def load_named_problem(problem: Any, folder: Path | None) -> Mapping[str, Any]:
    """Return the data of a problem that a working contains or names; a file must be in `folder` (None: no file)."""
    if isinstance(problem, Mapping):
        return problem
    name = _name(problem)
    shown = f"problem {shorten(name)}"
    if folder is None:
        return _gallery_problem(name, shown)
    path = folder / name
    try:
        if not _is_in_folder(path, name, folder):
            raise ProblemError(
                f"{shown} is outside the folder of the working. A working can name a gallery exercise or a problem "
                "file in its own folder. Give any other problem yourself.",
                options=("problem",),
            )
        if name in gallery() and not path.exists():
            return read_data(gallery()[name].read_bytes())
        if not path.is_file():
            raise _no_such_problem(name).located(shown)
        content = _content(path, f"{shown} ")
    except OSError as wrong:
        raise ProblemError(f"{shown} cannot be read: {wrong.strerror}.") from None
    except UnicodeEncodeError:
        raise ProblemError(f"{shown} is not the name of a file.") from None
    try:
        return read_data(content)
    except ProblemError:
        raise unusable_problem(shown) from None


def _gallery_problem(name: str, shown: str) -> Mapping[str, Any]:
    """Return the data of a gallery problem; there is no folder in which a file could be."""
    if name not in gallery():
        raise ProblemError(
            f"{shown} is not an exercise of the gallery.{did_you_mean(name[:100], gallery())} Give a gallery id, or "
            "the keys of the problem itself: a working that is not a file cannot name one."
        )
    return read_data(gallery()[name].read_bytes())


def unusable_problem(shown: str) -> ProblemError:
    """Return the error for a problem file with mistakes, without the mistakes: they would repeat its content."""
    return ProblemError(
        f"{shown} is not a usable problem file. Its mistakes are not repeated in a report: solve the file by itself to "
        "see them."
    )


def is_problem_file(problem: Any) -> bool:
    """Return whether a problem is the name of a file, rather than data or a gallery id."""
    return isinstance(problem, str | Path) and (str(problem) not in gallery() or Path(problem).exists())


def _name(problem: Any) -> str:
    if not isinstance(problem, str | Path) or not str(problem).strip() or "\0" in str(problem):
        raise ProblemError(f"problem = {shorten(problem)} is not a problem. Give a gallery id, a file, or its keys.")
    return str(problem)


def _is_in_folder(path: Path, name: str, folder: Path) -> bool:
    """Return whether a file is in the folder of the working: not by `..`, and not behind a link that leads out."""
    return ".." not in Path(name).parts and path.resolve().is_relative_to(folder.resolve())


def _content(path: Path, subject: str = "") -> bytes:
    try:
        return read_bounded(path, MAX_BYTES)
    except UnreadableFileError as wrong:
        raise ProblemError(f"{subject}{wrong}.") from None


def _no_such_problem(name: str, hint: str = "") -> ProblemError:
    near = did_you_mean(Path(name).stem[:100], gallery()) or hint
    return ProblemError(
        f"there is no such problem file and no gallery problem with that name.{near} "
        "List the gallery to see its names.",
        options=("list_gallery",),
    )

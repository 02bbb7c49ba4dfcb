"""Read a teacher's mark scheme from a YAML or JSON file; all its errors are reported together."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from clearhead.check.limits import MAX_SCHEME_BYTES, MAX_SCHEME_LINES
from clearhead.check.marks import LineScheme, Scheme
from clearhead.errors import ProblemError, did_you_mean
from clearhead.files.reading import UnreadableFileError, read_bounded
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import read_data

_EXAMPLE = "lines: {Q: {M: 1, A: 2}}"


def load_scheme(path: str | Path) -> Scheme:
    """Return the scheme in a file; the path of a problem is relative to the scheme."""
    path = Path(path)
    try:
        content = read_bounded(path, MAX_SCHEME_BYTES)
    except UnreadableFileError as wrong:
        raise ProblemError(f"{path} {wrong}. A scheme names the lines of one exercise.") from None
    except OSError as wrong:
        raise ProblemError(f"{path} cannot be read: {wrong.strerror}.") from None
    try:
        if not content.strip():
            raise ProblemError(f"is empty. Write the marks of lines into it, for example {_EXAMPLE}.")
        data = dict(read_data(content))
        lines = data.get("lines")
        if isinstance(lines, Mapping) and len(lines) > MAX_SCHEME_LINES:
            raise ProblemError(f"lines has {len(lines):,} names; the limit is {MAX_SCHEME_LINES:,}.")
        scheme = Scheme.model_validate(data)
    except ValidationError as wrong:
        mistakes = [_sentence(error["loc"], error["type"], error["input"]) for error in wrong.errors()]
        raise ProblemError(mistakes).located(str(path)) from None
    except ProblemError as wrong:
        raise wrong.located(str(path)) from None
    beside = path.parent / scheme.problem if isinstance(scheme.problem, str) else None
    if beside is not None and beside.is_file():
        return scheme.model_copy(update={"problem": str(beside)})
    return scheme


def _sentence(location: tuple[int | str, ...], kind: str, value: object) -> str:
    path, owner = ": ".join(str(part) for part in location), LineScheme if len(location) > 1 else Scheme
    if kind == "extra_forbidden":
        keys = list(owner.model_fields)
        near = did_you_mean(str(location[-1]), keys)
        of = "a line of a scheme" if owner is LineScheme else "a scheme"
        return f"{shorten(str(location[-1]))} is not a key of {of}.{near} Its keys: {', '.join(keys)}."
    if location[-1] == "[key]":
        return f"lines: {shorten(value)} must be the name of a line, in quotes if it is a number."
    return f"{path} = {shorten(value)} must be {_allowed(location)}."


def _allowed(location: tuple[int | str, ...]) -> str:
    """Return what is allowed at a place of a scheme."""
    if location == ("lines",):
        return f"names of lines with their marks, for example {_EXAMPLE}"
    if location == ("default",) or (len(location) == 2 and location[0] == "lines"):
        return "the marks of a line, for example {M: 1, A: 2}"
    if location == ("marks",):
        return "a number above 0 and at most 10000"
    return "a number from 0 to 1000" if location[-1] in LineScheme.model_fields else "true or false"

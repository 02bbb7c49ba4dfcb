"""Read a teacher's mark scheme from a YAML or JSON file; all its errors are reported together."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from clearhead.check.limits import MAX_SCHEME_BYTES, MAX_SCHEME_LINES
from clearhead.check.marks import LineScheme, Scheme
from clearhead.errors import ProblemError, did_you_mean
from clearhead.files.bounded import UnreadableFileError, read_bounded
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import read_data


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
        data = dict(read_data(content))
        lines = data.get("lines")
        if isinstance(lines, Mapping) and len(lines) > MAX_SCHEME_LINES:
            raise ProblemError(f"lines has {len(lines):,} names; the limit is {MAX_SCHEME_LINES:,}.")
        scheme = Scheme.model_validate(data)
    except ValidationError as wrong:
        mistakes = [_sentence(error["loc"], error["type"], error["msg"], error["input"]) for error in wrong.errors()]
        raise ProblemError(mistakes).located(str(path)) from None
    except ProblemError as wrong:
        raise wrong.located(str(path)) from None
    beside = path.parent / scheme.problem if isinstance(scheme.problem, str) else None
    if beside is not None and beside.is_file():
        return scheme.model_copy(update={"problem": str(beside)})
    return scheme


def _sentence(location: tuple[int | str, ...], kind: str, message: str, value: object) -> str:
    path, owner = ": ".join(str(part) for part in location), LineScheme if len(location) > 1 else Scheme
    if kind == "extra_forbidden":
        keys = list(owner.model_fields)
        near = did_you_mean(str(location[-1]), keys)
        of = "a line of a scheme" if owner is LineScheme else "a scheme"
        return f"{shorten(str(location[-1]))} is not a key of {of}.{near} Its keys: {', '.join(keys)}."
    return f"{path} = {shorten(value)}: {message[0].lower()}{message[1:]}."

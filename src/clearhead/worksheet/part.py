"""Extract one part of a worksheet, such as one head or one layer of a model's trace, as a separate worksheet.

Values from outside that the part uses become given values, with the symbol that they had.
"""

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from clearhead.errors import ClearheadError, ProblemError, TraceError, did_you_mean, printable
from clearhead.files.reading import UnreadableFileError, read_bounded
from clearhead.steps import Given, Record, Trace
from clearhead.worksheet.pen import in_rows, transpose_trace
from clearhead.worksheet.reference import replay
from clearhead.worksheet.view import Labels, encoder_or_decoder, place_name, propagate_names
from clearhead.worksheet.worksheet import Worksheet

MAX_TRACE_BYTES = 256 * 2**20
_MAX_NAMED = 12  # places that an error lists


def load_sheet(path: str | Path) -> Worksheet:
    """Load a worksheet or a saved trace from a JSON file."""
    path = Path(path)
    try:
        return _checked(Worksheet.from_json(read_bounded(path, MAX_TRACE_BYTES)))
    except UnreadableFileError as wrong:
        if wrong.size is None:
            raise ProblemError(f"{path} {wrong}.") from None
        raise ProblemError(
            f"{path} has {wrong.size / 2**20:.0f} MiB; a trace can have at most {MAX_TRACE_BYTES // 2**20}. "
            "Save only a part of it: model.trace(batch, only=['encoder.0'])."
        ) from None
    except OSError as wrong:
        raise ProblemError(f"{path} cannot be read: {wrong.strerror}. Give a file written by save_trace.") from None
    except ProblemError:
        raise
    except ClearheadError as wrong:
        raise ProblemError(
            f"{path} is not a trace file ({printable(str(wrong)).rstrip('.')}). Write one with "
            "clearhead.explain.trace_file.save_trace, or write a worksheet with Worksheet.to_json."
        ) from None


def _checked(sheet: Worksheet) -> Worksheet:
    """Return the sheet if each of its steps can be computed from its inputs and has a result of that shape."""
    for record in in_rows(sheet.trace):
        try:
            with np.errstate(all="ignore"):  # only the shape counts
                shape = np.shape(replay(record))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as wrong:
            raise TraceError(f"{record.where}: {record.symbol} cannot be computed from its inputs ({wrong}).") from None
        if shape != np.shape(record.value):
            raise TraceError(f"{record.where}: {record.symbol} has another shape than the result of its inputs.")
    return sheet


def part_of_sheet(sheet: Worksheet, where: str) -> Worksheet:
    """Return the steps of a part of the model; `where` is its path or a pattern (`decoder.*.head.0`)."""
    worked = in_rows(sheet.trace)
    inside = [record for record in worked if is_under(record.where, where)]
    if not inside:
        raise ProblemError(_no_such_place(where, places_of(worked)))
    part = Trace()
    part.givens = {given_input.name: given_input for given_input in _given_inputs(worked, inside)}
    part.records = inside
    place = where if "*" in where else place_name(where) or where
    others = {record.where for record in worked} - {record.where for record in inside}
    return replace(
        sheet,
        title=f"{sheet.title} ({place})" if sheet.title else place,
        trace=part if sheet.layout == "rows" else transpose_trace(part),
        warnings=tuple(warning for warning in sheet.warnings if warning.partition(": ")[0] not in others),
    )


def is_under(place: str, where: str) -> bool:
    """Return whether a place matches `where`, or is inside a place that does."""
    return fnmatchcase(place, where) or fnmatchcase(place, f"{where}.*")


def places_of(trace: Trace) -> list[str]:
    """Return every place that has steps, and the places that contain it, each once."""
    places: dict[str, None] = {}
    for record in trace:
        words = record.where.split(".")
        places |= dict.fromkeys(".".join(words[: end + 1]) for end in range(len(words)) if record.where)
    return list(places)


def _given_inputs(worked: Trace, inside: list[Record]) -> Iterator[Given]:
    """Yield the values that the part starts from, in the order in which they are used."""
    given_as = {id(given_input.value): given_input for given_input in worked.givens.values()}
    producers = {id(record.value): record for record in worked}
    names = _names_of_all(worked)
    done, own = {id(record.value) for record in inside}, {record.symbol for record in inside}
    paths = set()
    for record in inside:
        for value in _arrays(record):
            if id(value) in done:
                continue
            done.add(id(value))
            if id(value) in given_as:
                given_input = given_as[id(value)]
            else:
                producer = producers[id(value)]
                symbol = _outside_symbol(producer, record, own)
                given_input = Given(f"{producer.where}.{producer.symbol}".lstrip("."), symbol, value, *names[id(value)])
            path, number = given_input.name, 2
            while path in paths:
                path, number = f"{given_input.name} {number}", number + 1
            paths.add(path)
            yield replace(given_input, name=path)


def _outside_symbol(producer: Record, user: Record, own: set[str]) -> str:
    """Return the symbol of a value from outside the part, different from the symbols inside it."""
    half, home = encoder_or_decoder(user.where), encoder_or_decoder(producer.where)
    if half and home and half != home:
        return f"{producer.symbol} ({home})"
    return f"{producer.symbol} (before)" if producer.symbol in own else producer.symbol


def _names_of_all(worked: Trace) -> dict[int, tuple[Labels, Labels]]:
    names = {id(entry.value): (entry.rows, entry.columns) for entry in worked.givens.values()}
    for record in worked:
        names[id(record.value)] = propagate_names(record, names)
    return names


def _arrays(record: Record) -> Iterator[Any]:
    for value in record.inputs.values():
        for element in value if isinstance(value, tuple) else (value,):
            if isinstance(element, np.ndarray):
                yield element


def _no_such_place(where: str, places: list[str]) -> str:
    if not places:
        return f"this sheet has no parts, so '{where}' cannot be found. Remove it."
    # the longest prefix of `where` that exists decides which places are listed
    words, parent = where.split("."), ""
    while words and not parent:
        words.pop()
        parent = next((place for place in places if words and fnmatchcase(place, ".".join(words))), "")
    depth = len(words) + 1
    near = [
        place for place in places if len(place.split(".")) == depth and (not words or is_under(place, ".".join(words)))
    ]
    shown = near[:_MAX_NAMED] or places[:_MAX_NAMED]
    more = "" if len(near) <= _MAX_NAMED else f" and {len(near) - _MAX_NAMED} more"
    return (
        f"there is no part '{where}' in this trace.{did_you_mean(where, places)} "
        f"Parts{f' in {parent}' if parent else ''}: {', '.join(shown)}{more}."
    )

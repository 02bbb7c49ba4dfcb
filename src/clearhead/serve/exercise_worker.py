"""Solve exercises and mark workings, in a process of its own: texts come from strangers, and no file is opened.

A problem is a text, plain data, or the name of an exercise of the gallery; it is never the path of a file.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from clearhead.check.limits import MAX_WORKING_BYTES
from clearhead.check.marker import mark_all
from clearhead.check.marks import Scheme
from clearhead.check.render.html import to_html
from clearhead.check.time_limit import TimeUpError, time_limit
from clearhead.errors import ProblemError, did_you_mean
from clearhead.exercises.check.read.workings import read_workings
from clearhead.quiz.lookup import sheet_lookup
from clearhead.serve.api_errors import ApiError
from clearhead.serve.exercise_kinds import exercise_data
from clearhead.serve.quiz_worker import draw, mark_sheet, quiz_catalogue
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import gallery, parse_problem, read_data
from clearhead.worksheet.rounding import with_changes
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet

_MAX_RESULT = 16 * 2**20  # bytes of a sheet or a report
_NAME_LENGTH = 100  # characters; a longer text cannot be the name of an exercise
_ROUNDING = ("lines", "decimals", "significant", "ties")


def make_handler(options: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bytes]:
    """Return the function that answers requests; `seconds` is its time limit, `memory` the most bytes it may use."""
    _limit_memory(int(options["memory"]))
    calls = {"exercises": _exercises, "solve": _solve, "check": _check}
    calls |= {"kinds": quiz_catalogue, "draw": draw, "mark": mark_sheet}
    seconds = float(options["seconds"])

    def handle(request: Mapping[str, Any]) -> bytes:
        try:
            with time_limit(seconds):
                answer = calls[request["call"]](request)
        except TimeUpError:
            raise ApiError(504, f"the exercise took longer than the limit of {seconds:g} s. Send less.") from None
        if len(answer) > _MAX_RESULT:
            raise ProblemError(
                f"the result has {len(answer) / 2**20:.0f} MiB, and the limit is {_MAX_RESULT // 2**20}. Choose less "
                "detail, or give fewer tokens."
            )
        return answer

    return handle


def _limit_memory(num_bytes: int) -> None:
    """Limit the address space of this process, where the operating system can."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or most > num_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (num_bytes, most))


def _exercises(request: Mapping[str, Any]) -> bytes:
    return orjson.dumps(exercise_data())


def _solve(request: Mapping[str, Any]) -> bytes:
    data = problem_data(request["problem"])
    problem = parse_problem(data)
    sheet = solve(problem, with_changes(problem.rounding, **{name: request[name] for name in _ROUNDING}))
    form = request["format"]
    if request["blank"] and form == "json":
        raise ProblemError("cells cannot be left blank in JSON, which contains every value. Choose another format.")
    result = sheet.to_json() if form == "json" else _sheet_text(sheet, request)
    return _wrapped(form, result, **({"problem": data} if request["with_problem"] else {}))


def _sheet_text(sheet: Worksheet, request: Mapping[str, Any]) -> str:
    form, detail, blanks = request["format"], request["detail"], request["blank"]
    if form == "markdown":
        return sheet.to_markdown(detail, blanks)
    if form == "html":
        return sheet.to_html(detail, blanks)
    return sheet.to_latex(detail, blanks, fragment=form == "latex-fragment")


def _check(request: Mapping[str, Any]) -> bytes:
    problem = None if request["problem"] is None else problem_data(request["problem"])
    content = _content(request)
    try:
        workings = read_workings(content, f".{request['format']}", problem, sheet_lookup())
    except ProblemError as wrong:
        is_subject_missing = str(wrong).startswith("contains ")
        raise wrong.located("working") if is_subject_missing else wrong from None
    reports = mark_all(workings, Scheme(strict_rounding=request["strict_rounding"]))
    is_right = all(report.exit_code == 0 for report in reports)
    form = request["result_format"]
    if form == "json":
        parts = [report.to_json() for report in reports]
        result: bytes | str = parts[0] if len(parts) == 1 else b"[" + b",".join(parts) + b"]"
    elif form == "html":
        result = to_html(reports)
    else:
        result = "\n".join(report.to_markdown() for report in reports)
    return _wrapped(form, result, is_right=is_right)


def problem_data(problem: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data of a problem: the keys in a YAML or JSON text, plain data, or an exercise of the gallery."""
    if isinstance(problem, Mapping):
        return problem
    name = problem.strip()
    if name in gallery():
        return read_data(gallery()[name].read_bytes())
    try:
        return read_data(problem.encode())
    except ProblemError as wrong:
        if "\n" not in name and ":" not in name and 0 < len(name) <= _NAME_LENGTH:
            raise ProblemError(
                f"problem {shorten(name)} is neither an exercise of the gallery nor the text of one."
                f"{did_you_mean(name, gallery())} Files of the server cannot be named."
            ) from None
        raise wrong.located("problem") from None


def _content(request: Mapping[str, Any]) -> bytes:
    """Return the working as bytes; a spreadsheet is sent in base64."""
    if request["format"] != "xlsx":
        return str(request["working"]).encode()
    try:
        content = base64.b64decode(request["working"], validate=True)
    except (binascii.Error, ValueError):
        raise ProblemError("working is not base64, in which a spreadsheet is sent.") from None
    if len(content) > MAX_WORKING_BYTES:
        raise ProblemError(f"the spreadsheet has more than {MAX_WORKING_BYTES // 2**20} MiB. Send a smaller one.")
    return content


def _wrapped(form: str, result: bytes | str, **others: object) -> bytes:
    """Return the answer as JSON; a result that is JSON already keeps every digit."""
    raw = orjson.Fragment(result) if isinstance(result, bytes) else result
    return orjson.dumps({"format": form, "result": raw, **others}, option=orjson.OPT_NON_STR_KEYS)

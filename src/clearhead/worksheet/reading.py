"""Read problem files, YAML or JSON, safely and with size limits; every error is reported.

A YAML alias can repeat a matrix, but not so often that the file expands to gigabytes.
"""

import json
import re
import sys
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from clearhead.errors import Mistake, ProblemError, closest_match, did_you_mean
from clearhead.files.reading import UnreadableFileError, read_bounded, utf8_text
from clearhead.files.yaml_file import YamlFileError, YamlLimits, load_yaml
from clearhead.worksheet.kinds import KINDS
from clearhead.worksheet.kinds.parts import MAX_PARTS, part_data
from clearhead.worksheet.part_order import PartLinker
from clearhead.worksheet.problem import Problem, build_problem, shorten

MAX_BYTES = 32 * 2**20
_LIMITS = YamlLimits(max_depth=40, max_nodes=4 * 2**20, is_fast=True)
MAX_YAML_VALUES = 2**18  # in the text of a YAML file, before aliases are expanded; JSON is read ten times as fast
MAX_KEYS = 1_000  # at the first level
_KEY = re.compile(r"^[^\s#\[\]{},-][^:\n]{0,200}:", re.MULTILINE)
_TOO_MANY_DIGITS = "contains an integer with thousands of digits. Write it as 1.5e300, or give smaller numbers."


def load_problem(source: str | Path | Mapping[str, Any] | Problem) -> Problem:
    """Return a problem from a file, a gallery id, plain data or a Problem; `-` reads standard input."""
    if isinstance(source, Problem):
        return source
    if isinstance(source, Mapping):
        return parse_problem(source)
    name = str(source)
    if not name:
        raise ProblemError("the name of the exercise is empty. Give a file, a gallery id, or - for standard input.")
    if name == "-":
        if sys.stdin is None:
            raise ProblemError("standard input is closed. Give a file or a gallery id instead of -.")
        return _named("standard input", sys.stdin.buffer.read(MAX_BYTES + 1))
    try:
        if gallery_id(name):
            return _named(name, gallery()[name].read_bytes())
        return _named(name, _read_file(Path(name)))
    except OSError as problem:
        raise ProblemError(f"{shorten(name)} cannot be read: {problem.strerror}.") from None


def gallery_id(source: object) -> str:
    """Return the id if a source is that of a gallery exercise, and no file of that name is here; otherwise ""."""
    is_id = isinstance(source, str) and source in gallery() and not Path(source).exists()
    return str(source) if is_id else ""


def _read_file(path: Path) -> bytes:
    if path.is_dir():
        raise ProblemError(f"{path} is a folder. Name a problem file in it (YAML or JSON).")
    if not path.exists():
        stems = {neighbour.stem: neighbour.name for neighbour in _neighbours(path)} | {name: name for name in gallery()}
        match = closest_match(path.stem, stems)
        near = "" if match is None else f" Did you mean '{stems[match]}'?"
        raise ProblemError(
            f"{path}: there is no such file and no gallery exercise with this name.{near} "
            "List the gallery to see the names.",
            options=("list_gallery",),
        )
    try:
        return read_bounded(path, MAX_BYTES)
    except UnreadableFileError as wrong:
        raise ProblemError(_too_long(str(path), wrong.size) if wrong.size else f"{path} {wrong}.") from None


def _neighbours(path: Path) -> list[Path]:
    folder = path.parent
    paths = folder.iterdir() if folder.is_dir() else ()
    return [path for path in paths if path.suffix in (".yaml", ".yml", ".json")]


def _too_long(name: str, size: int) -> str:
    return (
        f"{name} has {size / 2**20:.0f} MiB; a problem file can have at most {MAX_BYTES // 2**20}, because a matrix of "
        "a worksheet can have about a million cells. Give fewer tokens."
    )


def _named(name: str, content: bytes) -> Problem:
    try:
        return parse_problem(read_data(content))
    except ProblemError as wrong:
        raise wrong.located(name) from None


def read_data(content: bytes, raw_key: str = "") -> Mapping[str, Any]:
    """Return the mapping in a YAML or JSON text; scalars under `raw_key` stay text, so that 0.50 keeps its last 0."""
    if len(content) > MAX_BYTES:
        raise ProblemError(_too_long("this input", len(content)))
    try:
        text = utf8_text(content)
    except ValueError as problem:
        raise ProblemError(str(problem)) from None
    if not text.strip():
        raise ProblemError(
            "is empty. Write an exercise into it: the kind, and the keys of that kind.", options={"fields": "all"}
        )
    if _num_keys(text) > MAX_KEYS:
        raise ProblemError(_too_many_keys())
    data = _read_json(text, raw_key) if text.lstrip().startswith("{") else _read_yaml(text, raw_key)
    if not isinstance(data, Mapping):
        raise ProblemError(
            f"contains {shorten(data)}, not an exercise. Write keys and values, such as 'kind: self-attention'."
        )
    if len(data) > MAX_KEYS:
        raise ProblemError(_too_many_keys())
    return data


def _num_keys(text: str) -> int:
    """Return the number of keys of a YAML text at the first level, one on each line, without reading it."""
    return sum(1 for _ in _KEY.finditer(text))


def _too_many_keys() -> str:
    return f"contains more than {MAX_KEYS:,} keys. An exercise has a few dozen at most."


def _read_json(text: str, raw_key: str) -> Any:
    try:
        data = json.loads(text, object_pairs_hook=_unique_keys)
        if raw_key and raw_key in data:
            raw = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
            data[raw_key] = raw[raw_key]
        return data
    except RecursionError:
        raise ProblemError(_too_deep()) from None
    except json.JSONDecodeError as problem:
        try:  # a YAML file can also start with a brace
            return _read_yaml(text, raw_key)
        except ProblemError:
            raise ProblemError(f"line {problem.lineno}, column {problem.colno} is not JSON: {problem.msg}.") from None
    except ValueError:
        raise ProblemError(_TOO_MANY_DIGITS) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys: set[str] = set()
    for key, _ in pairs:
        if key in keys:
            raise ProblemError(f"the key '{key}' is given twice. Remove one of them.")
        keys.add(key)
    return dict(pairs)


def _read_yaml(text: str, raw_key: str) -> Any:
    num_values = text.count(",") + text.count("\n")
    if num_values > MAX_YAML_VALUES:
        raise ProblemError(
            f"contains more than {MAX_YAML_VALUES:,} values, the limit of a YAML file. "
            "Give fewer tokens, or write JSON."
        )
    try:
        return load_yaml(text, _LIMITS, raw_key)
    except YamlFileError as fault:
        raise ProblemError(_yaml_sentence(fault)) from None


def _yaml_sentence(fault: YamlFileError) -> str:
    """Return a sentence that describes an error in the YAML of a problem."""
    if fault.repeated:
        key = fault.repeated[0]
        return f"line {key.line}: the key '{key.name}' is given twice. Remove one of them."
    line = "" if fault.line is None else f"line {fault.line}: "
    place = "" if fault.line is None else f"line {fault.line}, column {fault.column}: "
    is_long = "digits" in fault.problem
    sentences = {
        "empty": "contains only comments. Write keys and values, such as 'kind: self-attention'.",
        "depth": _too_deep(),
        "aliases": f"the aliases expand to more than {_LIMITS.max_nodes:,} values. Write the matrices out instead.",
        "key": f"{line}a list or a mapping cannot be a key. Keys are words.",
        "tag": f"{line}this cannot be read as an exercise: {fault.problem}. Write plain values.",
        "syntax": f"{place}this is not YAML: {fault.problem}.",
        "value": _TOO_MANY_DIGITS if is_long else "a YAML tag (!!…) does not fit the value after it.",
    }
    return sentences[fault.kind]


def _too_deep() -> str:
    return f"lists are nested more than {_LIMITS.max_depth} deep. A matrix is a list of rows, [[1, 2], [3, 4]]."


def parse_problem(data: Mapping[str, Any]) -> Problem:
    """Return the problem that the data describes, or raise ProblemError with all its errors."""
    kind = data.get("kind")
    if kind is None and "parts" in data:
        kind = "parts"
    if kind is None:
        raise ProblemError(f"kind is missing. Kinds: {', '.join(KINDS)}.")
    if not isinstance(kind, str) or kind not in KINDS:
        near = did_you_mean(str(kind), KINDS)
        raise ProblemError(f"kind = {shorten(kind)} is not a kind of exercise.{near} Kinds: {', '.join(KINDS)}.")
    wrong_keys = [f"{shorten(key)} is not a key. Keys are words." for key in data if not isinstance(key, str)]
    if wrong_keys:
        raise ProblemError(wrong_keys)
    return _parse_parts(data) if kind == "parts" else build_problem(KINDS[kind], data)


def _parse_parts(data: Mapping[str, Any]) -> Problem:
    parts: list[Problem] = []
    mistakes: list[Mistake] = []
    raw = data.get("parts")
    if isinstance(raw, list | tuple) and len(raw) > MAX_PARTS:
        raise ProblemError(f"parts has {len(raw):,} exercises; the limit is {MAX_PARTS:,}.")
    if not isinstance(raw, list | tuple) or not raw:
        raise ProblemError("parts must be a list of exercises, each with its own kind.")
    shared = data
    try:
        sheet = build_problem(KINDS["parts"], {**data, "kind": "parts", "parts": ()})
    except ProblemError as wrong:
        mistakes += wrong.details
        shared, sheet = {}, build_problem(KINDS["parts"], {"kind": "parts", "parts": ()})
    linker = PartLinker(raw, sheet)
    for number, part in enumerate(raw):
        if linker.is_blocked(number):  # its mistakes may be those of the part that it uses
            linker.leave_out(number)
            continue
        try:
            parts.append(_parse_part(linker, number, part, shared))
        except ProblemError as wrong:
            linker.leave_out(number)
            explained = ProblemError(linker.explained(number, wrong.details))
            mistakes += explained.located(f"part {number + 1}").details
    if mistakes:
        raise ProblemError(mistakes)
    return build_problem(KINDS["parts"], {**data, "kind": "parts", "parts": tuple(parts)})


def _parse_part(linker: PartLinker, number: int, part: Any, shared: Mapping[str, Any]) -> Problem:
    if not isinstance(part, Mapping) or part.get("kind") == "parts" or "parts" in part:
        raise ProblemError(f"{shorten(part)} is not an exercise. Each part needs its own kind (not parts).")
    alone = [key for key in ("layout", "rounding") if key in part]
    if alone:
        raise ProblemError(f"{alone[0]} is set once for the entire sheet. Move it to the same level as parts.")
    problem = parse_problem(part_data(shared, linker.linked(number, part)))
    linker.solve(number, problem)
    return problem


def gallery() -> dict[str, Traversable]:
    """Return the gallery: the problems that come with clearhead, by id."""
    folder = files("clearhead.worksheet") / "gallery"
    problems = {file.name.removesuffix(".yaml"): file for file in folder.iterdir() if file.name.endswith(".yaml")}
    return dict(sorted(problems.items()))


def gallery_titles() -> dict[str, tuple[str, str]]:
    """Return the kind and the title of every gallery problem, by id."""
    heads = {name: read_data(path.read_bytes()) for name, path in gallery().items()}
    return {name: (cast(str, data.get("kind", "parts")), str(data.get("title", ""))) for name, data in heads.items()}

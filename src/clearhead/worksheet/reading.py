"""Problem files in: YAML or JSON, read without running anything, within bounds, every mistake named.

A YAML alias may repeat a matrix, but not so often that the file unfolds into gigabytes.
"""

import json
import re
import sys
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

import yaml

from clearhead.errors import ProblemError, did_you_mean
from clearhead.worksheet.kinds import KINDS
from clearhead.worksheet.kinds.parts import part_data
from clearhead.worksheet.problem import Problem, build_problem, shorten

MAX_BYTES = 32 * 2**20
_MAX_NODES = 4 * 2**20  # of a YAML file once its aliases are unfolded
_MAX_VALUES = 2 * 2**20  # of a YAML file as it is written
_MAX_DEPTH = 40
_TOO_MANY_DIGITS = "holds a whole number of thousands of digits. Write it as 1.5e300, or give smaller numbers."
_OPENERS = re.compile(r"[\[{:?]|-\s")
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """SafeLoader, but `no`, `yes`, `on`, `off`, `007`, `12:30` and dates stay words: they may be tokens."""


# YAML 1.1 reads 010 as 8, 1:30 as 90 and `no` as false. Here only what looks like a number or true/false is one.
_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0].rpartition(":")[2] in ("null", "merge")]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}
for _tag, _pattern, _first in (
    ("bool", r"true|True|false|False", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), list(_first))


def load_problem(source: str | Path | Mapping[str, Any] | Problem) -> Problem:
    """Return a problem from a file, from a gallery id, from plain data, or as it is; `-` reads standard input."""
    if isinstance(source, Problem):
        return source
    if isinstance(source, Mapping):
        return parse_problem(source)
    name = str(source)
    if not name:
        raise ProblemError("the name of the problem is empty. Give a file, a gallery id, or - for standard input.")
    if name == "-":
        if sys.stdin is None:
            raise ProblemError("standard input is closed. Give a file or a gallery id instead of -.")
        return _named("standard input", sys.stdin.buffer.read(MAX_BYTES + 1))
    try:
        if name in gallery() and not Path(name).exists():
            return _named(name, gallery()[name].read_bytes())
        return _named(name, _read_file(Path(name)))
    except OSError as problem:
        raise ProblemError(f"{shorten(name)} cannot be read: {problem.strerror}.") from None


def _read_file(path: Path) -> bytes:
    if path.is_dir():
        raise ProblemError(f"{path} is a folder. Name a problem file in it (YAML or JSON).")
    if not path.exists():
        stems = {each.stem: each.name for each in _neighbours(path)} | {name: name for name in gallery()}
        near = did_you_mean(path.stem, stems)
        raise ProblemError(
            f"{path}: there is no such file, and no gallery problem of that name.{near} "
            "See 'clearhead solve --list' for the gallery."
        )
    if path.stat().st_size > MAX_BYTES:
        raise ProblemError(_too_long(str(path), path.stat().st_size))
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _neighbours(path: Path) -> list[Path]:
    folder = path.parent
    return [each for each in folder.iterdir() if each.suffix in (".yaml", ".yml", ".json")] if folder.is_dir() else []


def _too_long(name: str, size: int) -> str:
    return (
        f"{name} has {size / 2**20:.0f} MiB, and a problem file may have {MAX_BYTES // 2**20}: a matrix of a worksheet "
        "takes about a million cells. Give fewer tokens."
    )


def _named(name: str, content: bytes) -> Problem:
    try:
        return parse_problem(read_data(content))
    except ProblemError as wrong:
        raise wrong.located(name) from None


def read_data(content: bytes, raw_key: str = "") -> Mapping[str, Any]:
    """Return the mapping that a YAML or JSON text holds; under `raw_key` every scalar keeps its text, so 0.50 its 0."""
    if len(content) > MAX_BYTES:
        raise ProblemError(_too_long("this input", len(content)))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ProblemError(f"line {line} is not UTF-8 text. Save the file as UTF-8.") from None
    if not text.strip():
        raise ProblemError("is empty. Write a problem into it: see 'clearhead solve --fields all' for the kinds.")
    data = _read_json(text, raw_key) if text.lstrip().startswith("{") else _read_yaml(text, raw_key)
    if not isinstance(data, Mapping):
        raise ProblemError(
            f"holds {shorten(data)}, not a problem. Write keys and values, such as 'kind: self-attention'."
        )
    return data


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
        try:  # a YAML file may open with a brace too
            return _read_yaml(text, raw_key)
        except ProblemError:
            raise ProblemError(f"line {problem.lineno}, column {problem.colno} is not JSON: {problem.msg}.") from None
    except ValueError:
        raise ProblemError(_TOO_MANY_DIGITS) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ProblemError(f"the key '{key}' is written twice. Leave one out.")
        seen.add(key)
    return dict(pairs)


def _read_yaml(text: str, raw_key: str) -> Any:
    values = text.count(",") + text.count("\n")
    if values > _MAX_VALUES:
        raise ProblemError(f"holds more than {_MAX_VALUES:,} values. A worksheet takes fewer: give fewer tokens.")
    _check_depth(text)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise ProblemError(
                "holds no problem, only comments. Write keys and values, such as 'kind: self-attention'."
            )
        _check_nodes(node)
        raw = _take_raw(node, raw_key)
        data = loader.construct_document(node)
        return {**data, **raw} if raw else data
    except RecursionError:
        raise ProblemError(_too_deep()) from None
    except yaml.constructor.ConstructorError as problem:
        mark = problem.problem_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise ProblemError(f"{place}this cannot be read as a problem: {problem.problem}. Write plain values.") from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ProblemError(f"{place}this is not YAML: {problem.problem or problem.context}.") from None
    except yaml.YAMLError as problem:
        raise ProblemError(f"this is not YAML: {str(problem).splitlines()[0]}.") from None
    except (ValueError, LookupError, AttributeError, TypeError) as problem:
        is_long = "digits" in str(problem)
        raise ProblemError(
            _TOO_MANY_DIGITS if is_long else "a YAML tag (!!…) stands before what does not fit it."
        ) from None
    finally:
        loader.dispose()


def _take_raw(root: yaml.Node, raw_key: str) -> dict[str, Any]:
    """Take the pair of `raw_key` out of the mapping, and return it with every scalar as its text."""
    if not raw_key or not isinstance(root, yaml.MappingNode):
        return {}
    taken = [value for key, value in root.value if key.value == raw_key]
    root.value = [pair for pair in root.value if pair[0].value != raw_key]
    built: dict[int, Any] = {}  # a matrix that aliases repeat is built once

    def texts(node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag.endswith(":null") else node.value
        if id(node) not in built:
            if isinstance(node, yaml.MappingNode):
                built[id(node)] = {_key_text(key): texts(value) for key, value in node.value}
            else:
                built[id(node)] = [texts(child) for child in node.value]
        return built[id(node)]

    return {raw_key: texts(taken[0])} if taken else {}


def _key_text(key: yaml.Node) -> str:
    if isinstance(key, yaml.ScalarNode):
        return str(key.value)
    raise ProblemError(f"line {key.start_mark.line + 1}: a list or a mapping is not a key. Keys are words.")


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the parser, which nests with it and would overflow the stack."""
    if sum(1 for _ in _OPENERS.finditer(text)) < 2000:
        return  # every level needs an opener, and two thousand levels are harmless
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Base):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > _MAX_DEPTH:
                    raise ProblemError(_too_deep())
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # the loader will say what is wrong


def _too_deep() -> str:
    return f"lists are nested more than {_MAX_DEPTH} deep. A matrix is a list of rows, [[1, 2], [3, 4]]."


def _check_nodes(root: yaml.Node) -> None:
    """Refuse twice-written keys, cycles, deep nesting, and aliases that unfold without end."""
    sizes: dict[int, int] = {}

    def unfolded(node: yaml.Node, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise ProblemError(_too_deep())
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) not in sizes:
            children = node.value
            if isinstance(node, yaml.MappingNode):
                _check_keys(node)
                children = [child for pair in node.value for child in pair]
            sizes[id(node)] = 1 + sum(unfolded(child, depth + 1) for child in children)
        if sizes[id(node)] > _MAX_NODES:
            raise ProblemError(
                f"its aliases unfold into more than {_MAX_NODES:,} values. Write the matrices out instead."
            )
        return sizes[id(node)]

    unfolded(root, 0)


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in seen:
                line = key.start_mark.line + 1
                raise ProblemError(f"line {line}: the key '{key.value}' is written twice. Leave one out.")
            seen.add(key.value)


def parse_problem(data: Mapping[str, Any]) -> Problem:
    """Return the problem that the data describes, or raise ProblemError with every mistake in it."""
    kind = data.get("kind")
    if kind is None and "parts" in data:
        kind = "parts"
    if kind is None:
        raise ProblemError(f"kind is missing: what is to be worked? Kinds: {', '.join(KINDS)}.")
    if not isinstance(kind, str) or kind not in KINDS:
        near = did_you_mean(str(kind), KINDS)
        raise ProblemError(f"kind = {shorten(kind)} is not a kind of problem.{near} Kinds: {', '.join(KINDS)}.")
    wrong_keys = [f"{shorten(key)} is not a key. Keys are words." for key in data if not isinstance(key, str)]
    if wrong_keys:
        raise ProblemError(wrong_keys)
    return _parse_parts(data) if kind == "parts" else build_problem(KINDS[kind], data)


def _parse_parts(data: Mapping[str, Any]) -> Problem:
    parts: list[Problem] = []
    mistakes: list[str] = []
    raw = data.get("parts")
    if not isinstance(raw, list | tuple) or not raw:
        raise ProblemError("parts needs a list of problems, each with its own kind.")
    try:
        build_problem(KINDS["parts"], {**data, "kind": "parts", "parts": ()})
        shared = data
    except ProblemError as wrong:
        mistakes += wrong.mistakes
        shared = {}
    for number, part in enumerate(raw, 1):
        try:
            if not isinstance(part, Mapping) or part.get("kind") == "parts" or "parts" in part:
                raise ProblemError(f"{shorten(part)} is not a problem. Each part has its own kind (not parts).")
            alone = [key for key in ("layout", "rounding") if key in part]
            if alone:
                raise ProblemError(f"{alone[0]} is said once for the whole sheet. Move it up, beside parts.")
            parts.append(parse_problem(part_data(shared, part)))
        except ProblemError as wrong:
            mistakes += wrong.located(f"part {number}").mistakes
    if mistakes:
        raise ProblemError(mistakes)
    return build_problem(KINDS["parts"], {**data, "kind": "parts", "parts": tuple(parts)})


def gallery() -> dict[str, Traversable]:
    """Return the shipped problems by id."""
    folder = files("clearhead.worksheet") / "gallery"
    found = {each.name.removesuffix(".yaml"): each for each in folder.iterdir() if each.name.endswith(".yaml")}
    return dict(sorted(found.items()))


def gallery_titles() -> dict[str, tuple[str, str]]:
    """Return the kind and the title of every shipped problem by id."""
    heads = {name: read_data(path.read_bytes()) for name, path in gallery().items()}
    return {name: (cast(str, data.get("kind", "parts")), str(data.get("title", ""))) for name, data in heads.items()}

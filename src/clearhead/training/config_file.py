"""Config files in: YAML, read without running anything, within bounds, with every key once.

`1e-3` is a number here, and `no` a word, so that Norwegian is a language; a yes-or-no setting takes the word as well.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from clearhead.errors import ConfigError, did_you_mean, printable
from clearhead.settings import shown

_MAX_BYTES = 2**20
_MAX_NODES = 20_000  # of a file once its aliases are unfolded
_MAX_DEPTH = 20


class _Loader(yaml.SafeLoader):
    """SafeLoader, where only what looks like a number, true, false or null is one: YAML 1.1 reads 1:30 as 90."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0].rpartition(":")[2] in ("null", "merge")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
for _tag, _pattern, _first in (
    ("bool", r"true|True|false|False", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", "-+.0123456789"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), list(_first))


def _construct_float(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Return the mapping in a YAML file, or raise ConfigError that names the file and the line."""
    try:
        return parse_yaml(_read_file(path))
    except ConfigError as wrong:
        raise wrong.located(printable(str(path))) from None


def parse_yaml(content: bytes) -> Mapping[str, Any]:
    """Return the mapping that a YAML text holds."""
    if b"\0" in content:
        raise ConfigError("this is not a text file. Give a config in YAML, such as those in configs/.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ConfigError(f"line {line} is not UTF-8 text. Save the file as UTF-8.") from None
    data = _load(text)
    if data is None:
        raise ConfigError("holds no settings. Write some into it: see 'clearhead train --help-config'.")
    if not isinstance(data, Mapping):
        raise ConfigError(f"holds {shown(data)}, not settings. Write keys and values, such as 'preset: tiny'.")
    return data


def change(data: dict[str, Any], text: str) -> str:
    """Put a change such as `training.rate=3e-4` into the data, and return its path."""
    path, sign, written = text.partition("=")
    path = path.strip()
    parts = path.split(".")
    if not sign or not all(parts):
        raise ConfigError("this is not a change. Write path=value, such as training.rate=3e-4.")
    place: Any = data
    for index, part in enumerate(parts):
        so_far = ".".join(parts[:index])
        if not isinstance(place, dict | list):
            raise ConfigError(f"{so_far} = {shown(place)} has no settings in it.")
        key: Any = _entry(place, part, so_far) if isinstance(place, list) else part
        if index + 1 == len(parts):
            place[key] = _load(written)
        elif isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        place = place[key]
    return path


def _entry(entries: list[Any], part: str, path: str) -> int:
    if not part.isascii() or not part.isdigit() or int(part) >= len(entries):
        known = "0" if len(entries) == 1 else f"0 to {len(entries) - 1}"
        raise ConfigError(f"{path} is a list: name its entries by number, {known}, such as {path}.0.weight=2.")
    return int(part)


def _read_file(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise ConfigError(
                "this is a folder. Name a config file; to go on with a run: clearhead train --resume --run FOLDER."
            )
        if not path.exists():
            names = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
            raise ConfigError(f"there is no such file.{did_you_mean(path.name, names)}")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as problem:
        raise ConfigError(f"this cannot be read: {problem.strerror}.") from None
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"this has more than {_MAX_BYTES // 2**20} MiB, and is no config. Did you mean another file?")
    return content


def _load(text: str) -> Any:
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_nodes(node)
        return loader.construct_document(node)
    except RecursionError:
        raise ConfigError(_too_deep()) from None
    except yaml.MarkedYAMLError as problem:
        raise ConfigError(_not_yaml(problem)) from None
    except yaml.YAMLError as problem:
        raise ConfigError(f"this is not YAML: {printable(str(problem).splitlines()[0])}.") from None
    except (ValueError, LookupError, AttributeError, TypeError):
        raise ConfigError("a value does not fit its YAML tag (!!…), or has thousands of digits.") from None


def _not_yaml(problem: yaml.MarkedYAMLError) -> str:
    mark = problem.problem_mark or problem.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    said = problem.problem or problem.context or ""
    if r"'\t'" in said:
        return f"{place}a tab stands where YAML wants spaces. Indent with spaces."
    if "another document" in said:
        return f"{place}a second document begins here. Keep one."
    if isinstance(problem, yaml.constructor.ConstructorError):
        return f"{place}{printable(said)}. Write plain values, without tags."
    return f"{place}this is not YAML: {printable(said)}."


def _too_deep() -> str:
    return f"settings are nested more than {_MAX_DEPTH} deep."


def _check_nodes(root: yaml.Node) -> None:
    """Refuse twice-written keys, cycles, deep nesting, and aliases that unfold without end."""
    sizes: dict[int, int] = {}
    twice: dict[int, str] = {}

    def unfolded(node: yaml.Node, depth: int) -> int:
        if depth > _MAX_DEPTH:
            raise ConfigError(_too_deep())
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) not in sizes:
            children = node.value
            if isinstance(node, yaml.MappingNode):
                twice.update(_repeated(node))
                children = [child for pair in node.value for child in pair]
            sizes[id(node)] = 1 + sum(unfolded(child, depth + 1) for child in children)
        if sizes[id(node)] > _MAX_NODES:
            raise ConfigError(f"its aliases unfold into more than {_MAX_NODES:,} values.")
        return sizes[id(node)]

    unfolded(root, 0)
    if twice:
        raise ConfigError([twice[line] for line in sorted(twice)])


def _repeated(node: yaml.MappingNode) -> Iterator[tuple[int, str]]:
    """Yield the lines of a mapping where a key is written again, and say so."""
    first: dict[str, int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            line, name = key.start_mark.line + 1, key.value
            if name in first:
                told = f"'{printable(name)}' is written twice (first on line {first[name]}). Leave one out."
                yield line, f"line {line}: {told}"
            first.setdefault(name, line)

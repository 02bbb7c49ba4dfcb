"""Read YAML safely: no code is run, size and depth are limited, and repeated keys are errors.

Here `1e-3` is a number and `no` is text, as the code of Norwegian must be. (YAML 1.1 reads 010 as 8, 1:30 as 90 and
`no` as false.) Errors are raised as YamlFileError, which the caller turns into its own message.
"""

import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import yaml

FaultKind = Literal["empty", "depth", "aliases", "repeated", "key", "tag", "syntax", "value"]

_OPENERS = re.compile(r"[\[{:?]|-\s")
_SAFE_DEPTH = 2000  # levels that do not overflow the stack of the fast parser
_FAST_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SCALARS = (
    ("bool", r"true|True|false|False", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan", "-+.0123456789"),
)


@dataclass(frozen=True)
class YamlLimits:
    """The maximum nesting depth of a file, and the maximum number of values after its aliases are expanded."""

    max_depth: int
    max_nodes: int
    is_fast: bool = False  # use libyaml, for large files; the Python parser has better error messages


@dataclass(frozen=True)
class RepeatedKey:
    """A key that occurs twice in a mapping, with both line numbers."""

    name: str
    line: int
    first_line: int


class YamlFileError(Exception):
    """Why a text cannot be read: the kind of fault, its position (counted from 1), and the parser's message.

    empty     no value at all                      key     a list or a mapping as a key below `raw_key`
    depth     nested too deeply, or cyclic         tag     a tag, or a key, that cannot be constructed
    aliases   expand to too many values            syntax  not YAML
    repeated  keys that occur twice                value   a value that does not match its tag, or is too long
    """

    def __init__(self, kind: FaultKind, problem: str = "", line: int | None = None, column: int | None = None) -> None:
        super().__init__(kind, problem, line, column)
        self.kind, self.problem, self.line, self.column = kind, problem, line, column
        self.repeated: tuple[RepeatedKey, ...] = ()  # those found before the fault, in the order of the check


class _SmallLoader(yaml.SafeLoader):
    """The parser in Python: its messages say what was expected."""


class _FastLoader(_FAST_BASE):  # type: ignore[misc]
    """The parser in C, if PyYAML has it: about ten times as fast."""


def _construct_float(loader: _SmallLoader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).replace(".inf", "inf").replace(".nan", "nan"))


_SmallLoader.add_constructor("tag:yaml.org,2002:float", _construct_float)
for _loader in (_SmallLoader, _FastLoader):
    _loader.yaml_implicit_resolvers = {
        first: [resolver for resolver in resolvers if resolver[0].rpartition(":")[2] in ("null", "merge")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for _tag, _pattern, _first in _SCALARS:
        _loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^({_pattern})$"), list(_first))


def load_yaml(text: str, limits: YamlLimits, raw_key: str = "") -> Any:
    """Return the content of a YAML text, or raise YamlFileError; below `raw_key` scalars stay text, such as `0.50`."""
    if limits.is_fast:
        _check_depth(text, limits.max_depth)
    try:
        loader = (_FastLoader if limits.is_fast else _SmallLoader)(text)
        was_collecting = gc.isenabled()
        gc.disable()  # it would search the growing tree again and again, which doubles the time
        try:
            root = loader.get_single_node()
            if root is None:
                raise YamlFileError("empty")
            _check_nodes(root, limits)
            raw = _take_raw(root, raw_key)
            data = loader.construct_document(root)
            return {**data, **raw} if raw else data
        finally:
            loader.dispose()
            if was_collecting:
                gc.enable()
    except RecursionError:
        raise YamlFileError("depth") from None
    except yaml.MarkedYAMLError as problem:
        kind: FaultKind = "tag" if isinstance(problem, yaml.constructor.ConstructorError) else "syntax"
        mark = problem.problem_mark or problem.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise YamlFileError(kind, problem.problem or problem.context or "", *place) from None
    except yaml.YAMLError as problem:
        raise YamlFileError("syntax", str(problem).splitlines()[0]) from None
    except (ValueError, LookupError, AttributeError, TypeError) as problem:
        raise YamlFileError("value", str(problem)) from None


def _check_depth(text: str, max_depth: int) -> None:
    """Raise an error for deep nesting before the fast parser sees it: it is recursive and would overflow the stack."""
    if sum(1 for _ in _OPENERS.finditer(text)) < _SAFE_DEPTH:
        return  # every level needs an opener
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_FAST_BASE):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > max_depth:
                    raise YamlFileError("depth")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return  # the loader reports what is wrong


def _check_nodes(root: yaml.Node, limits: YamlLimits) -> None:
    """Raise an error for repeated keys, cycles, deep nesting, and aliases that expand to too many values."""
    sizes: dict[int, int] = {}
    repeated: list[RepeatedKey] = []

    def unfolded(node: yaml.Node, depth: int) -> int:
        if depth > limits.max_depth:
            raise YamlFileError("depth")
        if isinstance(node, yaml.ScalarNode):
            return 1
        if id(node) not in sizes:
            children = node.value
            if isinstance(node, yaml.MappingNode):
                repeated.extend(_repeated_keys(node))
                children = [child for pair in node.value for child in pair]
            sizes[id(node)] = 1 + sum(unfolded(child, depth + 1) for child in children)
        if sizes[id(node)] > limits.max_nodes:
            raise YamlFileError("aliases")
        return sizes[id(node)]

    try:
        unfolded(root, 0)
        if repeated:
            raise YamlFileError("repeated")
    except YamlFileError as fault:
        fault.repeated = tuple(repeated)
        raise


def _repeated_keys(node: yaml.MappingNode) -> Iterator[RepeatedKey]:
    first_lines: dict[str, int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            line = key.start_mark.line + 1
            if key.value in first_lines:
                yield RepeatedKey(key.value, line, first_lines[key.value])
            first_lines.setdefault(key.value, line)


def _take_raw(root: yaml.Node, raw_key: str) -> dict[str, Any]:
    """Remove `raw_key` from the mapping, and return its value with every scalar as text."""
    if not raw_key or not isinstance(root, yaml.MappingNode):
        return {}
    raw_values = [value for key, value in root.value if key.value == raw_key]
    root.value = [pair for pair in root.value if pair[0].value != raw_key]
    built: dict[int, Any] = {}  # a matrix that is repeated by aliases is built once

    def texts(node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag.endswith(":null") else node.value
        if id(node) not in built:
            if isinstance(node, yaml.MappingNode):
                built[id(node)] = {_key_text(key): texts(value) for key, value in node.value}
            else:
                built[id(node)] = [texts(child) for child in node.value]
        return built[id(node)]

    return {raw_key: texts(raw_values[0])} if raw_values else {}


def _key_text(key: yaml.Node) -> str:
    if isinstance(key, yaml.ScalarNode):
        return str(key.value)
    raise YamlFileError("key", line=key.start_mark.line + 1)

"""Reading of config files: YAML without tags, of limited size, in which every key can occur only once.

`1e-3` is a number here, and `no` is text, so that it can be a language code; true-or-false settings accept it too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clearhead.errors import ConfigError, printable
from clearhead.files.reading import missing_file_hint, utf8_text
from clearhead.files.yaml_file import YamlFileError, YamlLimits, load_yaml
from clearhead.settings import shown

_MAX_BYTES = 2**20
_LIMITS = YamlLimits(max_depth=20, max_nodes=20_000)


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Return the mapping in a YAML file, or raise ConfigError with the file and the line."""
    try:
        return parse_yaml(_read_file(path))
    except ConfigError as wrong:
        raise wrong.located(printable(str(path))) from None


def parse_yaml(content: bytes) -> Mapping[str, Any]:
    """Return the mapping in a YAML text."""
    if b"\0" in content:
        raise ConfigError("this is not a text file. Give a config in YAML, such as those in configs/.")
    try:
        text = utf8_text(content)
    except ValueError as problem:
        raise ConfigError(str(problem)) from None
    data = _load(text)
    if data is None:
        raise ConfigError(
            "contains no settings. Add some: the help of the config describes them all.",
            options=("help_config",),
        )
    if not isinstance(data, Mapping):
        raise ConfigError(f"contains {shown(data)} instead of settings. Write keys and values, such as 'preset: tiny'.")
    return data


def change(data: dict[str, Any], text: str, example: str = "training.rate=3e-4") -> str:
    """Apply a change such as `training.rate=3e-4` to the data, and return its path; an error shows the example."""
    path, sign, value = text.partition("=")
    path = path.strip()
    parts = path.split(".")
    if not sign or not all(parts):
        raise ConfigError(f"this is not a change of a setting. Write path=value, such as {example}.")
    place: Any = data
    for index, part in enumerate(parts):
        so_far = ".".join(parts[:index])
        if not isinstance(place, dict | list):
            raise ConfigError(f"{so_far} = {shown(place)} is not a group of settings.")
        key: Any = _entry(place, part, so_far) if isinstance(place, list) else part
        if index + 1 == len(parts):
            place[key] = _load(value)
        elif isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        place = place[key]
    return path


def _entry(entries: list[Any], part: str, path: str) -> int:
    if not part.isascii() or not part.isdigit() or int(part) >= len(entries):
        numbers = "0" if len(entries) == 1 else f"0 to {len(entries) - 1}"
        raise ConfigError(f"{path} is a list: give the number of an entry, {numbers}, such as {path}.0.weight=2.")
    return int(part)


def _read_file(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise ConfigError(
                "this is a folder. Give a config file, or resume the run in that folder.",
                options={"resume": "", "run": printable(str(path))},
            )
        if not path.exists():
            raise ConfigError(f"there is no such file.{missing_file_hint(path)}")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as problem:
        raise ConfigError(f"this cannot be read: {problem.strerror}.") from None
    if len(content) > _MAX_BYTES:
        raise ConfigError(
            f"this is larger than {_MAX_BYTES // 2**20} MiB, so it is not a config. Did you mean another file?"
        )
    return content


def _load(text: str) -> Any:
    try:
        return load_yaml(text, _LIMITS)
    except YamlFileError as fault:
        if fault.kind == "empty":
            return None
        raise ConfigError(_yaml_sentences(fault)) from None


def _yaml_sentences(fault: YamlFileError) -> list[str]:
    """Return the errors in the YAML of a config, as sentences."""
    if fault.kind == "repeated":
        by_line = {key.line: key for key in fault.repeated}
        return [
            f"line {line}: '{printable(key.name)}' occurs twice (first on line {key.first_line}). Remove one of them."
            for line, key in sorted(by_line.items())
        ]
    if fault.kind in ("tag", "syntax"):
        return [_not_yaml(fault)]
    if fault.kind == "depth":
        return [f"settings are nested more than {_LIMITS.max_depth} deep."]
    if fault.kind == "aliases":
        return [f"its aliases expand to more than {_LIMITS.max_nodes:,} values."]
    return ["a value does not fit its YAML tag (!!…), or has thousands of digits."]


def _not_yaml(fault: YamlFileError) -> str:
    place = "" if fault.line is None else f"line {fault.line}, column {fault.column}: "
    if r"'\t'" in fault.problem:
        return f"{place}a tab is used where YAML requires spaces. Indent with spaces."
    if "another document" in fault.problem:
        return f"{place}a second YAML document starts here. Keep only one."
    if fault.kind == "tag":
        return f"{place}{printable(fault.problem)}. Write plain values, without tags."
    return f"{place}this is not YAML: {printable(fault.problem)}."

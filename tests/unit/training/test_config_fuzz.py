"""Whatever a config contains, it is read or all its errors are reported."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.errors import ConfigError
from clearhead.settings import models_in
from clearhead.training.config import RunConfig, check_run_config
from clearhead.training.config_file import change, parse_yaml
from clearhead.training.config_help import config_fields

PATHS = [field.path.split(".") for field in config_fields()]
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=7), st.sampled_from(["1e-3", "auto", "no"]),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=5) | st.integers(), st.integers(), max_size=2),
)  # fmt: skip


def put(data: Any, path: list[str], value: Any) -> None:
    """Put a value at a path, unless an earlier value blocks it."""
    for index, part in enumerate(path[:-1]):
        if isinstance(data, list):
            data = data[0]
        elif isinstance(data, dict):
            data = data.setdefault(part, [{}] if path[index + 1] == "0" else {})
        if not data or not isinstance(data, dict | list):
            return
    if isinstance(data, dict):
        data[path[-1]] = value


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), VALUES), max_size=7))
def test_any_value_anywhere_is_accepted_or_reported(changes: list[tuple[list[str], Any]]) -> None:
    data: dict[str, Any] = {"data": {"train": [{"built_in": "copy"}]}, "training": {"steps": 7}}
    for path, value in changes:
        put(data, path, value)
    config, mistakes = check_run_config(data)
    for mistake in mistakes:
        assert mistake.sentence.endswith((".", "?"))
        assert "\n" not in mistake.sentence
    if not mistakes:
        assert config is not None
        assert check_run_config(config.model_dump(mode="json"))[0] == config


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=40) | st.text("ab:{}[]-&*!?|>'\"#%@\n\t 019e.", max_size=40).map(str.encode))
def test_any_text_is_read_or_reported(content: bytes) -> None:
    mistakes: tuple[str, ...] = ()
    try:
        assert isinstance(parse_yaml(content), dict)
    except ConfigError as wrong:
        mistakes = wrong.mistakes
    assert all(mistake.endswith((".", "?")) for mistake in mistakes)


@settings(max_examples=200, deadline=None)
@given(st.text("adt.01=[]{}:x ", max_size=15))
def test_any_change_is_made_or_reported(text: str) -> None:
    data: dict[str, Any] = {"a": {"d": 3}, "t": [{"x": 5}]}
    mistakes: tuple[str, ...] = ()
    try:
        assert change(data, text) == text.partition("=")[0].strip()
    except ConfigError as wrong:
        mistakes = wrong.mistakes
    assert all(mistake.endswith((".", "?")) for mistake in mistakes)


def test_every_group_of_a_config_is_a_model() -> None:
    assert {name for name, field in RunConfig.model_fields.items() if models_in(field.annotation)} == {
        *("data", "text", "training", "validation")
    }

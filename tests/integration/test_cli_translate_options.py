"""Every setting of a search is an option of `clearhead translate`, named by one rule, and its value is passed on."""

import io
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from typer.testing import CliRunner

from clearhead.cli.main import app
from clearhead.cli.translate_options import EngineOptions, LineOptions, Stopping
from clearhead.decoding.engines.engine import EngineNeeds
from clearhead.decoding.search.settings import SearchSettings

# a non-default value for each setting; settings that need others have them too
VALUES: dict[str, dict[str, Any]] = {
    "beam": {"beam": 3},
    "n_best": {"n_best": 2, "beam": 3},
    "length_penalty": {"length_penalty": 0.25},
    "stopping": {"stopping": "proved"},
    "min_length": {"min_length": 3},
    "max_length": {"max_length": 77},
    "max_ratio": {"max_ratio": 3.5},
    "max_extra": {"max_extra": 5},
    "no_repeat": {"no_repeat": 3},
    "temperature": {"temperature": 0.75},
    "top_k": {"top_k": 7, "temperature": 1.0},
    "top_p": {"top_p": 0.5, "temperature": 1.0},
    "seed": {"seed": 17},
    "batch_tokens": {"batch_tokens": 99},
}


def option_of(field: str) -> str:
    """Return the option of a setting: no_repeat is --no-repeat."""
    return f"--{field.replace('_', '-')}"


def options() -> dict[str, Any]:
    command = typer.main.get_command(app).commands["translate"]  # type: ignore[attr-defined]
    return {name: option for option in command.params for name in option.opts}


@pytest.mark.parametrize("field", SearchSettings.model_fields)
def test_every_setting_of_a_search_is_an_option(field: str) -> None:
    option = options().get(option_of(field))
    assert option is not None, f"clearhead translate has no {option_of(field)}"
    assert option.default is None, "the default lives in the setting"


@pytest.mark.parametrize(("name", "expected"), [("a.txt", 12), ("a.txt.gz", None), ("none.txt", None), (".", None)])
def test_the_length_of_the_input_is_that_of_the_file(name: str, expected: int | None, tmp_path: Path) -> None:
    for file in ("a.txt", "a.txt.gz"):
        (tmp_path / file).write_text("the red cat\n")
    assert LineOptions(input=str(tmp_path / name)).num_characters([]) == expected
    assert LineOptions().num_characters(["the", "cat"]) == 6


def test_the_length_of_standard_input_is_known_if_it_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("the red cat\n")
    with (tmp_path / "a.txt").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert LineOptions().num_characters([]) == LineOptions(input="-").num_characters([]) == 12
    monkeypatch.setattr("sys.stdin", io.StringIO("the red cat\n"))
    assert LineOptions().num_characters([]) is None


def test_the_stopping_rules_are_the_choices_of_their_option() -> None:
    assert [rule.value for rule in Stopping] == list(get_args(SearchSettings.model_fields["stopping"].annotation))


@pytest.mark.parametrize("field", SearchSettings.model_fields)
def test_the_value_of_an_option_is_passed_to_its_setting(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[SearchSettings] = []

    class Stop(Exception):
        pass

    def load(self: EngineOptions, model: Path, needs: EngineNeeds) -> None:
        searches.append(needs.settings)
        raise Stop

    monkeypatch.setattr(EngineOptions, "load", load)
    arguments = [part for name, value in VALUES[field].items() for part in (option_of(name), str(value))]
    outcome = CliRunner().invoke(app, ["translate", "-m", "model", "text", *arguments])
    assert isinstance(outcome.exception, Stop), outcome.output
    assert searches == [SearchSettings(**VALUES[field])]
    assert getattr(searches[0], field) == VALUES[field][field] != getattr(SearchSettings(), field)

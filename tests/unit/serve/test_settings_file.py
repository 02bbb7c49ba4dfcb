"""Settings of a server: defaults < file < changes and options, and all mistakes with their place."""

from pathlib import Path

import pytest
import yaml

from clearhead.errors import ConfigError
from clearhead.serve.settings import ServeSettings
from clearhead.serve.settings_file import load_settings, settings_page
from tests.command import run


def test_a_file_changes_defaults_and_options_change_the_file(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text("port: 7001\nqueue: {max_batch: 17, collect_ms: 5}\nlog: off\n")
    settings = load_settings(path, ["queue.max_batch=19"], {"port": 7003, "keys.rate": 5})
    assert (settings.port, settings.host, settings.log) == (7003, "127.0.0.1", "off")
    assert (settings.queue.max_batch, settings.queue.collect_ms) == (19, 5)
    assert settings.keys.rate == 5


def test_all_mistakes_of_a_file_are_reported_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text("prot: 7001\nqueue: {max_batch: 0}\n")
    with pytest.raises(ConfigError) as wrong:
        load_settings(path)
    assert "serve.yaml: prot is not a setting. Did you mean 'port'?" in str(wrong.value)
    assert "serve.yaml: queue.max_batch = 0 is not a whole number from 1 to 4096" in str(wrong.value)
    with pytest.raises(ConfigError, match="set max_batch: this is not a change of a setting."):
        load_settings(None, ["max_batch"])


def test_the_page_of_settings_is_a_file_of_the_defaults(tmp_path: Path) -> None:
    page = settings_page()
    assert yaml.safe_load(page)["queue"]["max_batch"] == 128
    path = tmp_path / "serve.yaml"
    path.write_text(page)
    assert load_settings(path) == ServeSettings()
    assert (
        "# run folders, OPUS-MT folders or names of built-in models; empty: the built-in models (a list of texts)"
        in page
    )
    assert run("serve", "--show-config").stdout == page


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["runs/none"], "runs/none does not exist"),
        (["--set", "queue.max_batch=0"], "queue.max_batch = 0 is not a whole number from 1 to 4096"),
        (["--config", "none.yaml"], "none.yaml: there is no such file."),
        (["--host", "999.1.1.1"], "host = '999.1.1.1' is not an address of this machine: "),
        (["--set", "port"], "Write path=value, such as queue.max_batch=32."),
        (["tatoeba=en"], "tatoeba=en: 'en' is not a direction. Write two languages, such as tatoeba=en-es."),
        (["--require-key"], "Add a key to a file, and name this file (--keys, --add-key)."),
    ],
)
def test_the_command_line_says_what_is_wrong_before_it_serves(arguments: list[str], sentence: str) -> None:
    result = run("serve", *arguments)
    assert result.returncode == 2
    assert sentence in result.stderr

"""The files in deploy/: their commands and settings are those that the server has."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clearhead.serve.settings_file import load_settings
from tests.command import run

DEPLOY = Path(__file__).parents[3] / "deploy"


def test_the_settings_are_valid_also_those_that_are_commented_out(tmp_path: Path) -> None:
    text = (DEPLOY / "serve.yaml").read_text()
    settings = load_settings(DEPLOY / "serve.yaml")
    assert (settings.host, settings.port, settings.models) == ("127.0.0.1", 5000, ())
    (tmp_path / "all.yaml").write_text(re.sub(r"^# (?=models|keys)", "", text, flags=re.MULTILINE))
    settings = load_settings(tmp_path / "all.yaml")
    assert settings.models == ("/srv/models/my-run", "en-es")
    assert settings.keys.is_required
    assert settings.keys.file == "/var/lib/clearhead/keys.sqlite"


def test_the_commands_use_options_that_exist() -> None:
    unit, container = (DEPLOY / "clearhead.service").read_text(), (DEPLOY / "Containerfile").read_text()
    command = re.findall(r"^ExecStart=\S+/clearhead serve (.*)$", unit, re.MULTILINE)
    assert command == ["--config /etc/clearhead/serve.yaml"]
    assert '"/opt/clearhead/bin/clearhead", "serve", "--host", "0.0.0.0"]' in container
    help_text = run("serve", "--help").stdout
    assert "--config" in help_text
    assert "--host" in help_text


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_no_fault_in_the_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "clearhead.service").read_text()
    (tmp_path / "clearhead.service").write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", unit))
    command = ["systemd-analyze", "verify", str(tmp_path / "clearhead.service")]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    faults = [line for line in process.stderr.splitlines() if "clearhead.service" in line]
    assert not faults

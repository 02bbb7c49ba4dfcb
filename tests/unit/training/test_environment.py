"""The environment of a run: what is recorded, also where something cannot be found out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead import __version__
from clearhead.training import environment
from clearhead.training.environment import describe_environment

ROOT = Path(__file__).parents[3]


def test_versions_seed_and_command_are_plain_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["clearhead", "train", "my.yaml"])
    described = describe_environment(17)
    assert json.loads(json.dumps(described)) == described
    assert (described["clearhead"], described["seed"]) == (__version__, 17)
    assert described["command"] == ["train", "my.yaml"]
    assert described["packages"]["numpy"].count(".") >= 1
    assert described["python"] == ".".join(map(str, sys.version_info[:3]))


def test_the_commit_is_that_of_the_checkout_with_a_plus_if_files_were_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        author = ("-c", "user.name=a", "-c", "user.email=a@b")
        command = ["git", "-C", str(tmp_path), *author, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    (tmp_path / "environment.py").write_text("one")
    git("init", "--quiet")
    assert environment._commit(tmp_path) is None, "the file is not of this checkout"
    git("add", "environment.py")
    git("commit", "--quiet", "-m", "first")
    assert environment._commit(tmp_path) == git("rev-parse", "HEAD")
    (tmp_path / "environment.py").write_text("two")
    assert environment._commit(tmp_path) == git("rev-parse", "HEAD") + "+"


def test_what_cannot_be_found_out_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_PACKAGES", ("torch", "no-such-package"))
    monkeypatch.setenv("PATH", "")
    described = describe_environment(1)
    assert described["packages"]["no-such-package"] is None
    assert described["packages"]["torch"]
    assert described["commit"] is None, "there is no git to ask"
    assert described["processor"]

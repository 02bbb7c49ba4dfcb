"""The cache is where the user or the system wants it, and only the user can read it."""

import stat
from pathlib import Path

import pytest

from clearhead.files.cache import VARIABLE, user_cache


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "new" / "mine"))
    cache = tmp_path / "new" / "mine"
    assert user_cache("kind") == cache / "kind"
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (cache, cache / "kind")] == [0o700, 0o700]


def test_the_variable_can_refer_to_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "~/mine")
    assert user_cache("kind") == tmp_path / "mine" / "kind"


def test_a_relative_xdg_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert user_cache("kind") == tmp_path / ".cache" / "clearhead" / "kind"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert user_cache("kind") == tmp_path / "xdg" / "clearhead" / "kind"


def test_without_a_home_folder_there_is_an_oserror(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", home)
    with pytest.raises(OSError, match="no home folder"):
        user_cache("kind")

"""`clearhead serve`: its options become settings, and a missing package is one sentence."""

import sys

import pytest

import clearhead.serve
from clearhead.cli.serve import AddressOptions, ApiKeyOptions, LoadingOptions, _flags
from tests.command import run


def test_only_given_options_change_the_settings() -> None:
    assert _flags(None, AddressOptions(), LoadingOptions(), ApiKeyOptions()) == {}
    options = _flags(["m"], AddressOptions(port=0), LoadingOptions(preload=False), ApiKeyOptions(rate=7))
    assert options == {"models": ["m"], "port": 0, "loading.preload": False, "keys.rate": 7}


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    # importing the package again replaces it as an attribute of clearhead, where other tests look for its modules
    monkeypatch.setattr(clearhead, "serve", clearhead.serve)
    for name in [name for name in sys.modules if name.startswith(("clearhead.serve", "fastapi"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = run("serve")
    assert result.returncode == 2
    assert "serve needs fastapi, which is not installed. Run pip install '.[serve]'" in result.stderr

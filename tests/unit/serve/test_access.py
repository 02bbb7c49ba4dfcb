"""API keys, rates, and what a request without the right to be sent is answered."""

import sqlite3
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.requests import Request

from clearhead.errors import ConfigError
from clearhead.serve.access import Access, RateBucket, client_of, header_key
from clearhead.serve.api_keys import KeyFile
from clearhead.serve.server import Server
from clearhead.serve.settings import KeySettings, ServeSettings
from tests.command import run
from tests.unit.serve.small_app import served

EMPTY = {"q": " ", "source": "en", "target": "es"}  # needs no model


def status(client: TestClient, **fields: str) -> int:
    return client.post("/translate", json={**EMPTY, **fields}).status_code


def test_only_the_hash_of_a_key_is_stored(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.sqlite")
    key = file.add("Asha", 17)
    assert key.split("-", 2)[2].encode() not in file.path.read_bytes()  # a secret may have a - of its own
    found = file.find(key)
    assert found is not None
    assert (found.name, found.rate) == ("Asha", 17)
    for wrong in (key[:-1], key + "x", "", "clearhead", "clearhead--", key.replace("clearhead", "other"), "\ud800"):
        assert file.find(wrong) is None


def test_a_name_is_used_once_and_a_key_can_be_removed(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.sqlite")
    key = file.add("Ben")
    with pytest.raises(ConfigError, match="there is a key with the name 'Ben'. Use another name, or remove it."):
        file.add("Ben")
    with pytest.raises(ConfigError, match="'' is not a name for a key. Use 1 to 100 printable characters."):
        file.add("")
    file.remove("Ben")
    assert file.find(key) is None
    with pytest.raises(ConfigError, match="there is no key with the name 'Ben'."):
        file.remove("Ben")


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"not a database, but long enough to be one" * 100)
    with pytest.raises(ConfigError, match="keys cannot be used: file is not a database."):
        KeyFile(tmp_path / "keys").add("a")
    with pytest.raises(ConfigError, match="does not exist, so there are no keys. Add one first."):
        KeyFile(tmp_path / "none").keys()


def test_a_client_is_a_key_or_else_an_address(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "k")
    keys = [file.add("a"), file.add("b")]

    def name_of(*headers: tuple[bytes, bytes]) -> str:
        scope = {"type": "http", "headers": headers, "client": ("10.0.0.7", 1), "query_string": b""}
        request = Request(scope)
        access.check(request, header_key(request))
        return client_of(request).name

    access = Access(KeySettings(file=str(file.path), rate=100))
    names = [name_of((b"x-api-key", key.encode())) for key in (*keys, keys[0])]
    assert names[0] == names[2] != names[1]
    assert name_of() == "address 10.0.0.7"


def test_a_key_can_be_in_the_body_the_query_or_a_header(tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "k").add("a")
    with served({"keys": {"file": str(tmp_path / "k"), "is_required": True}}) as client:
        assert status(client, api_key=key) == 200
        assert client.post("/translate", params={**EMPTY, "api_key": key}).status_code == 200
        for headers in ({"Authorization": f"Bearer {key}"}, {"X-API-Key": key}):
            assert client.post("/translate", json=EMPTY, headers=headers).status_code == 200
            assert client.post("/v1/translate", json={"text": " "}, headers=headers).status_code == 200


def test_a_missing_key_is_answered_as_libretranslate_does_and_ours_by_401(tmp_path: Path) -> None:
    KeyFile(tmp_path / "k").add("a")
    with served({"keys": {"file": str(tmp_path / "k"), "is_required": True}}) as client:
        answer = client.post("/translate", json=EMPTY)
        sentence = "Please contact the server operator to get an API key"
        assert (answer.status_code, answer.json()) == (400, {"error": sentence})
        assert client.post("/translate", json={**EMPTY, "api_key": "x"}).json() == {"error": "Invalid API key"}
        assert status(client, api_key="x") == 403
        answer = client.post("/v1/translate", json={"text": " "})
        assert answer.status_code == 401
        assert answer.json()["error"].startswith("an API key is required: send it as api_key, or as ")
        assert client.get("/languages").json() == {"error": sentence}
        assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_a_removed_file_of_keys_is_503_and_does_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / "k"
    key = KeyFile(path).add("a")
    with served({"keys": {"file": str(path)}}) as client:
        path.unlink()
        answer = client.post("/translate", json={**EMPTY, "api_key": key})
        assert (answer.status_code, answer.json()) == (
            503,
            {"error": "the API keys cannot be read at present. Try again later."},
        )
    assert not path.exists()


def test_the_rate_of_a_key_and_of_an_address_is_limited(tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "k").add("a", rate=3)
    with served({"keys": {"file": str(tmp_path / "k"), "rate": 2}}) as client:
        assert [status(client, api_key=key) for _ in range(4)] == [200, 200, 200, 429]
        assert [status(client) for _ in range(3)] == [200, 200, 429]
        answer = client.post("/translate", json=EMPTY)
        assert answer.json()["error"].startswith("Slowdown: 2 requests per minute are allowed. Try again in ")
        assert 1 <= int(answer.headers["retry-after"]) <= 30


def test_a_bucket_fills_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("clearhead.serve.access.time.monotonic", lambda: now)
    bucket = RateBucket(30)
    assert [bucket.take() for _ in range(31)] == [None] * 30 + [2]
    now += 4
    assert [bucket.take() for _ in range(3)] == [None, None, 2]
    now += 1000
    assert [bucket.take() for _ in range(31)][-2:] == [None, 2]


def test_settings_of_keys_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="keys.is_required = true, but there is no keys.file. Add a key to a file"):
        Server(ServeSettings(keys=KeySettings(is_required=True)))
    with pytest.raises(ConfigError, match="does not exist. Add a key first, or leave it out."):
        Server(ServeSettings(keys=KeySettings(file=str(tmp_path / "none"))))


def test_the_command_line_adds_lists_and_removes_keys(tmp_path: Path) -> None:
    path = str(tmp_path / "k")
    added = run("serve", "--keys", path, "--add-key", "Asha", "--rate", "60")
    assert KeyFile(path).find(added.stdout.strip()) is not None
    assert "only its hash is stored" in added.stderr
    run("serve", "--keys", path, "--add-key", "Ben")
    assert run("serve", "--keys", path, "--list-keys").stdout == "Asha\t60 per minute\nBen\tno limit\n"
    assert run("serve", "--keys", path, "--remove-key", "Asha").returncode == 0
    assert run("serve", "--keys", path, "--list-keys").stdout == "Ben\tno limit\n"
    missing = run("serve", "--list-keys")
    assert missing.returncode == 2
    assert "need the file of the keys. Name it with --keys FILE." in missing.stderr
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM api_keys").fetchone() == (1,)
    connection.close()

"""JSON files in and out: an object, or a message that describes what was found instead."""

from pathlib import Path

import pytest

from clearhead.errors import CheckpointError
from clearhead.files.json_file import json_bytes, json_writer, parse_object, read_json
from clearhead.files.reading import read_file


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    data = {"name": "Ünï", "sizes": [2, 3, 5]}
    json_writer(data)(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_bytes() == json_bytes(data)
    assert json_bytes(data) == b'{\n  "name": "\xc3\x9cn\xc3\xaf",\n  "sizes": [\n    2,\n    3,\n    5\n  ]\n}\n'
    assert read_json(tmp_path / "a.json") == data


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    assert parse_object(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_nan_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes({"loss": float("nan")})


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes: .* Copy it again from its source."),
        (b"", "is not JSON: Expecting value"),
        (b"[" * 100_000, "is not JSON: maximum recursion depth exceeded"),
        (b"[1]", r"contains a list, but an object \{…\} is required\.$"),
        (b"null", r"contains a NoneType, but an object \{…\} is required\.$"),
        (b"\xff\xfe{\x00", "cannot be read: 'utf-8' codec can't decode"),
    ],
)
def test_a_file_without_an_object_is_reported(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(CheckpointError, match=rf"a\.json {sentence}"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("confg.json", "does not exist. Did you mean 'config.json'?"),
        ("none", "does not exist."),
        ("", "cannot be read: Is a directory."),
    ],
)
def test_the_reason_why_a_file_cannot_be_read_is_reported(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    for reader in (read_file, read_json):
        with pytest.raises(CheckpointError) as error:
            reader(tmp_path / name)
        assert str(error.value) == f"{tmp_path / name} {reason}"

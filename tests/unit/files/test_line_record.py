"""Records of output files: damaged ones are refused, differences are named, and the cache stays small."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clearhead.files import line_record
from clearhead.files.line_record import (
    LineRecord,
    describe_differences,
    load_finished,
    plain_data,
    save_finished,
    start_hash,
)

HASH = "0123456789abcdef" * 4
RECORD = LineRecord(3, 17, HASH, HASH[::-1], {"beam": 5, "phrase": "\udcff é"})


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "record").write_bytes(RECORD.to_bytes())
    assert LineRecord.read(tmp_path / "record") == RECORD


def test_a_removed_setting_at_its_default_is_not_read_and_another_value_differs(tmp_path: Path) -> None:
    now = {"search": {"beam": 4}, "output": {"scores": True}}
    for weight, word, number, differences in (
        (0.0, None, 5, ""),
        (0.2, None, 5, "search.coverage_penalty was 0.2 and is now not recorded"),
        (0.0, 4, 5, "output.alternatives was 4 and is now not recorded"),
        (0.0, None, 3, "output.num_alternatives was 3 and is now not recorded"),
    ):
        output = {"scores": True, "alternatives": word, "num_alternatives": number}
        before = {"search": {"beam": 4, "coverage_penalty": weight}, "output": output}
        (tmp_path / "record").write_bytes(replace(RECORD, made_with=before).to_bytes())
        assert describe_differences(LineRecord.read(tmp_path / "record").made_with, now) == differences


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"[]", "contains a list"),
        (b"[" * 100_000, "recursion"),
        (b"\xff", "utf-8"),
        (b"1" * 5000, "4300 digits"),
        ({"lines": -1}, "'lines' must be a whole number from 0"),
        ({"lines": 2.5}, "'lines' must be"),
        ({"lines": True}, "'lines' must be"),
        ({"lines": "3"}, "'lines' must be"),
        ({"bytes": 10**30}, "'bytes' must be"),
        ({"bytes": float("nan")}, "'bytes' must be"),
        ({"lines": 0}, "'bytes' is 17 although 'lines' is 0"),
        ({"input": "abc"}, "'input' must be a SHA-256 hash"),
        ({"output": None}, "'output' must be a SHA-256 hash"),
        ({"made_with": [["beam", 5]]}, "'made_with' must be an object"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, content: bytes | dict[str, Any], reason: str) -> None:
    path = tmp_path / "record"
    changed = content if isinstance(content, bytes) else json.dumps(json.loads(RECORD.to_bytes()) | content).encode()
    path.write_bytes(changed)
    with pytest.raises(ValueError, match=reason):
        LineRecord.read(path)


def test_a_record_that_is_no_file_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="it is not a file"):
        LineRecord.read(tmp_path / "pipe")
    monkeypatch.setattr(line_record, "_MAX_BYTES", 2**20)
    (tmp_path / "record").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(ValueError, match="it has more than 1 MiB"):
        LineRecord.read(tmp_path / "record")


@pytest.mark.parametrize(
    ("before", "now", "sentence"),
    [
        ({"a": 1}, {"a": 1}, ""),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, "a.c was 2 and is now 3"),
        ({"a": 1}, {"b": 2}, "a was 1 and is now not recorded; b was not recorded and is now 2"),
        (
            {"a": "x" * 90 + "old"},
            {"a": "x" * 90 + "new"},
            f'a was …{"x" * 56}old" and is now …{"x" * 56}new"',
        ),
        ({"a": "p" + "x" * 90}, {"a": "q" + "x" * 90}, f'a was "p{"x" * 58}… and is now "q{"x" * 58}…'),
        ({"\x1b[31m": 1}, {}, "\\x1b[31m was 1 and is now not recorded"),
        (dict.fromkeys("abcdefg", 1), dict.fromkeys("abcdefg", 2), "; and 2 more"),
    ],
)  # fmt: skip
def test_the_difference_is_shown_also_in_long_values(
    before: dict[str, Any], now: dict[str, Any], sentence: str
) -> None:
    described = describe_differences(before, now)
    assert described.endswith(sentence) if sentence.startswith(";") else described == sentence


def test_tuples_are_lists_in_a_record() -> None:
    assert describe_differences(plain_data({"a": ("x", ("y",))}), plain_data({"a": ["x", ["y"]]})) == ""


def test_the_start_of_a_file_is_hashed_and_can_be_continued(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abcdefg")
    digest = start_hash(tmp_path / "file", 3)
    digest.update(b"defg")
    assert digest.hexdigest() == start_hash(tmp_path / "file").hexdigest()


def test_records_of_finished_files_are_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARHEAD_CACHE", str(tmp_path / "cache"))
    assert load_finished(tmp_path / "out") is None
    save_finished(tmp_path / "out", RECORD)
    (tmp_path / "link").symlink_to("out")
    assert load_finished(tmp_path / "link") == RECORD
    monkeypatch.setattr(line_record, "_MAX_RECORDS", 3)
    places = tmp_path / "cache" / "outputs"
    for number, path in enumerate(places.iterdir()):
        os.utime(path, (number, number))
    for number in range(4):
        save_finished(tmp_path / f"{number}", RECORD)
        for path in places.iterdir():
            os.utime(path, (path.stat().st_mtime - 100, path.stat().st_mtime - 100))
    assert [load_finished(tmp_path / name) is not None for name in ("out", "0", "1", "2", "3")] == [False] * 2 + [
        True
    ] * 3
    assert len(list(places.iterdir())) == 3


def test_a_cache_that_cannot_be_written_or_read_is_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("CLEARHEAD_CACHE", str(tmp_path / "file"))
    save_finished(tmp_path / "out", RECORD)
    assert load_finished(tmp_path / "out") is None
    monkeypatch.setenv("CLEARHEAD_CACHE", str(tmp_path / "cache"))
    save_finished(tmp_path / "out", RECORD)
    (damaged,) = (tmp_path / "cache" / "outputs").iterdir()
    damaged.write_bytes(b"{")
    assert load_finished(tmp_path / "out") is None

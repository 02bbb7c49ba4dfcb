"""Text that is measured: lines of a file or a pipe, up to the first fault."""

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from clearhead.errors import DataError
from clearhead.files import lines
from clearhead.files.input import input_lines, whole_input


def pipe_in(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content), closed=False))


@pytest.mark.parametrize("content", [b"a\r\nb\xe2\x80\xa8c\n\n d", b"\xef\xbb\xbfa\r\nb\xe2\x80\xa8c\n\n d\n"])
def test_a_pipe_and_a_file_give_the_same_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes) -> None:
    pipe_in(monkeypatch, content)
    (tmp_path / "text").write_bytes(content)
    expected = ["a", "b\u2028c", "", " d"]
    assert list(input_lines("-")) == expected
    assert list(input_lines(str(tmp_path / "text"))) == expected


def test_lines_before_a_fault_are_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b"one\ntwo\nb\xffd\n")
    lines_read = input_lines("-")
    assert [next(lines_read), next(lines_read)] == ["one", "two"]
    with pytest.raises(DataError, match="standard input:3: not UTF-8: byte 0xff at byte 2. Convert"):
        next(lines_read)


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_MAX_LINE", 7)
    pipe_in(monkeypatch, b"short\n" + b"x" * 20)
    with pytest.raises(DataError, match="standard input:2: the line is longer than"):
        list(input_lines("-"))


def test_empty_input_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pipe_in(monkeypatch, b"")
    with pytest.raises(DataError, match="standard input is empty. Give at least one sentence."):
        whole_input("-")
    (tmp_path / "nothing").write_bytes(b"")
    with pytest.raises(DataError, match="nothing is empty. Give at least one sentence."):
        whole_input(str(tmp_path / "nothing"))
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input is closed. Give a file."):
        whole_input("-")


def test_a_fifo_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        writer = os.open(path, os.O_WRONLY)
        lines_read = input_lines(str(path))
        os.write(writer, b"one\ntwo\n")
        assert next(lines_read) == "one"
        os.close(writer)
        assert list(lines_read) == ["two"]
    finally:
        os.close(reader)

"""Lines to translate: from files, pipes and arguments, with the other columns and keys of their lines."""

import gzip
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clearhead.errors import DataError
from clearhead.files import lines
from clearhead.files.line_input import Form, InputLine, LineSource, input_lines, is_interactive, whole_input


def texts(source: LineSource) -> list[str]:
    return [record.text for record in source.records()]


def test_a_line_ends_at_a_newline_and_nowhere_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffone\r\ntwo\u2028still two\x0b\n\n \nlast".encode())
    assert texts(LineSource(str(path))) == ["one", "two\u2028still two\x0b", "", " ", "last"]


def test_compressed_files_and_pipes_are_read(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as file:
        file.write("1\tone\n")
    assert texts(LineSource.of(str(tmp_path / "a.tsv.gz"), None, "2", None)) == ["one"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("one\ntwo\n"))
    writer.start()
    assert texts(LineSource(str(pipe))) == ["one", "two"]
    writer.join()


def test_a_sentence_of_the_command_line_is_a_line() -> None:
    assert texts(LineSource.of(None, None, None, "one")) == ["one"]
    assert texts(LineSource.of(None, None, None, "one\ntwo\n")) == ["one", "two"]
    assert texts(LineSource.of(None, None, None, "")) == [""]


def test_columns_are_found_by_name_and_by_number(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\tsource\n7\tone\n\n8\ttwo\n")
    records = list(LineSource.of(str(path), None, None, None).records())
    assert records[0] == InputLine(1, "id\tsource", "", is_header=True)
    assert [record.text for record in records] == ["", "one", "", "two"]
    assert texts(LineSource.of(str(path), None, "1", None)) == ["id", "7", "", "8"]
    path.write_text("7\tone\n8\n")
    with pytest.raises(DataError, match=r"a\.tsv:2: the line has 1 columns, but column 2 is required"):
        texts(LineSource.of(str(path), "tsv", "2", None))


def test_keys_of_jsonl_are_found_inside_keys(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"t": {"en": "one"}}\n\n{"t": {"de": "zwei"}}\n')
    records = LineSource.of(str(path), None, "t.en", None).records()
    assert next(records).text == "one"
    assert next(records) == InputLine(2, "", "")
    with pytest.raises(DataError, match=r"a\.jsonl:3: no key 't\.en'"):
        next(records)
    path.write_text("[1]\n")
    with pytest.raises(DataError, match=r"a\.jsonl:1: this is a JSON array, but an object"):
        texts(LineSource.of(str(path), None, None, None))
    path.write_text("nonsense\n")
    with pytest.raises(DataError, match=r"a\.jsonl:1: not JSON"):
        texts(LineSource.of(str(path), None, None, None))


def test_an_empty_name_is_not_standard_input() -> None:
    with pytest.raises(
        DataError, match=r"the name of the input is empty\. Give a file, or - for standard input\."
    ) as no:
        LineSource.of("", None, None, None)
    assert no.value.options == ("input",)


def test_a_column_of_plain_text_is_refused() -> None:
    with pytest.raises(DataError, match="column = b selects a part of a TSV or JSONL line") as error:
        LineSource.of("a.txt", None, "b", None)
    assert error.value.options == ("form",)


def test_input_that_is_not_text_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\xff\n")
    with pytest.raises(DataError, match=r"a\.txt:2: not UTF-8: byte 0xff at byte 1"):
        texts(LineSource(str(path)))
    with pytest.raises(DataError, match=r"the sentence:1: not UTF-8"):
        texts(LineSource.of(None, None, None, "a\udcff"))
    with pytest.raises(DataError, match="does not exist"):
        texts(LineSource(str(tmp_path / "none.txt")))


def test_lines_that_cannot_be_read_are_skipped_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n\xff\ntwo\nx\0\n")
    with pytest.raises(
        DataError, match=r"a\.txt:2: .*Convert the file to UTF-8\. Such lines can be skipped\.$"
    ) as error:
        texts(LineSource(str(path)))
    assert error.value.options == {"on_fault": "skip"}
    records = list(LineSource(str(path), on_fault="skip").records())
    assert [(line.number, line.text) for line in records] == [(1, "one"), (2, ""), (3, "two"), (4, "")]
    assert [line.fault and line.fault.reason for line in records] == [None, "invalid UTF-8", None, "NUL byte"]
    assert all("\0" in line.line for line in records if line.fault), "no line that can be read has this text"


@pytest.mark.parametrize(
    ("form", "content", "reasons"),
    [
        ("tsv", b"id\tsource\n1\tone\n2\n\xff\n", [None, None, "missing column", "invalid UTF-8"]),
        (
            "jsonl",
            b'{"source": "one"}\n{"sauce": "one"}\n\n{"source": 7}\n{\n[]\n\0\n',
            [None, "missing key", None, "not text", "not JSON", "not JSON", "NUL byte"],
        ),
    ],
)
def test_rows_and_objects_that_cannot_be_read_are_skipped_on_request(
    tmp_path: Path, form: Form, content: bytes, reasons: list[str | None]
) -> None:
    (tmp_path / "lines").write_bytes(content)
    source = LineSource(str(tmp_path / "lines"), form, on_fault="skip")
    assert [line.fault and line.fault.reason for line in source.records()] == reasons


@pytest.mark.parametrize(("form", "content"), [("text", b"a\n" + b"x" * (2**24 + 2**20)), ("tsv", b"\xff\na\n")])
def test_a_file_that_cannot_be_read_is_never_skipped(tmp_path: Path, form: Form, content: bytes) -> None:
    (tmp_path / "lines").write_bytes(content)
    with pytest.raises(DataError, match=r"lines:\d: (the line is longer than 16 MB|not UTF-8)"):
        list(LineSource(str(tmp_path / "lines"), form, on_fault="skip").records())


def test_a_closed_standard_input_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match=r"^standard input is closed\. Give a file\.$") as error:
        texts(LineSource())
    assert error.value.options == ("input",)
    assert not is_interactive()


@pytest.fixture
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Return a function that makes standard input a pipe with this content."""
    with ExitStack() as stack:

        def replace_input(content: bytes) -> None:
            reader, writer = os.pipe()
            os.write(writer, content)
            os.close(writer)
            monkeypatch.setattr("sys.stdin", stack.enter_context(os.fdopen(reader)))

        yield replace_input


@pytest.mark.parametrize("content", [b"a\r\nb\xe2\x80\xa8c\n\n d", b"\xef\xbb\xbfa\r\nb\xe2\x80\xa8c\n\n d\n"])
def test_a_pipe_and_a_file_give_the_same_lines(
    pipe_in: Callable[[bytes], None], tmp_path: Path, content: bytes
) -> None:
    pipe_in(content)
    (tmp_path / "text").write_bytes(content)
    expected = ["a", "b\u2028c", "", " d"]
    assert list(input_lines("-")) == expected
    assert list(input_lines(str(tmp_path / "text"))) == expected


def test_lines_before_a_fault_are_returned(pipe_in: Callable[[bytes], None]) -> None:
    pipe_in(b"one\ntwo\nb\xffd\n")
    lines_read = input_lines("-")
    assert [next(lines_read), next(lines_read)] == ["one", "two"]
    with pytest.raises(DataError, match="standard input:3: not UTF-8: byte 0xff at byte 2. Convert"):
        next(lines_read)


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch, pipe_in: Callable[[bytes], None]) -> None:
    monkeypatch.setattr(lines, "_MAX_LINE", 7)
    pipe_in(b"short\n" + b"x" * 20)
    with pytest.raises(DataError, match="standard input:2: the line is longer than"):
        list(input_lines("-"))


def test_empty_input_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pipe_in: Callable[[bytes], None]
) -> None:
    pipe_in(b"")
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

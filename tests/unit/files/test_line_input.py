"""Lines to translate: from files, pipes and arguments, with the other columns and keys of their lines."""

import gzip
import os
import threading
from pathlib import Path

import pytest

from clearhead.errors import DataError
from clearhead.files.line_input import InputLine, LineSource


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
    lines = list(LineSource.of(str(path), None, None, None).records())
    assert lines[0] == InputLine(1, "id\tsource", "", ("id", "source"), is_header=True)
    assert [record.text for record in lines] == ["", "one", "", "two"]
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

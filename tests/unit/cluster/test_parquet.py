"""Columns of Parquet files: read as lines, written with columns added, and files that cannot be used."""

from pathlib import Path

import pytest

from clearhead.cluster.inputs import InputFile, InputRequest, read_input
from clearhead.cluster.outputs import ParquetOutput
from clearhead.cluster.parquet import add_columns, read_made_with, refuse_columns
from clearhead.errors import DataError, RunError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "in.parquet"
    columns = {"source": ["one", None, "two\nlines"], "id": [7, 5, 3], "zero": ["a\0b", "", "c"]}
    parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_cells_are_lines_and_a_missing_cell_is_an_empty_line(table: Path) -> None:
    lines = list(read_input(InputRequest(None).source(str(table))))
    assert [(line.number, line.text) for line in lines] == [(1, "one"), (2, ""), (3, "two\nlines")]


def test_a_nul_character_is_refused_or_skipped(table: Path) -> None:
    with pytest.raises(DataError, match=r"in\.parquet:1: a NUL character in the cell\. Remove it\. Such rows can be"):
        list(read_input(InputRequest(None, column="zero").source(str(table))))
    lines = list(read_input(InputRequest(None, column="zero", on_fault="skip").source(str(table))))
    assert [line.fault is not None for line in lines] == [True, False, False]


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("sorce", r"has no column 'sorce'\. Did you mean 'source'\? It has: source, id, zero\.$"),
        ("id", r"column 'id' has the type int64, but text \(string\) is required\.$"),
    ],
)
def test_columns_that_cannot_be_read_are_one_sentence(table: Path, column: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        list(read_input(InputRequest(None, column=column).source(str(table))))


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing more")
    with pytest.raises(
        DataError, match=r"bad\.parquet cannot be read as Parquet: .*\. Copy it again from its source\.$"
    ):
        list(read_input(InputRequest(None).source(str(tmp_path / "bad.parquet"))))


def test_columns_are_added_and_the_file_says_how_it_was_made(table: Path, tmp_path: Path) -> None:
    lines, output = tmp_path / "lines", tmp_path / "out.parquet"
    lines.write_text("uno\t-1.5\n\ndos\t-2\n")
    add_columns(str(table), lines, ["translation", "score"], output, {"beam": 4})
    copy = parquet.read_table(output)
    assert copy.column_names == ["source", "id", "zero", "translation", "score"]
    assert copy["translation"].to_pylist() == ["uno", "", "dos"]
    assert copy["score"].to_pylist() == ["-1.5", "", "-2"]
    assert copy["id"].to_pylist() == [7, 5, 3]
    assert read_made_with(output) == {"beam": 4}
    assert read_made_with(table) is None
    with pytest.raises(DataError, match=r"already has a column 'translation'"):
        refuse_columns(str(output), ["translation"])


def test_an_output_is_resumed_and_a_complete_one_is_recognised(table: Path, tmp_path: Path) -> None:
    file = InputFile(InputRequest(None).source(str(table)), tmp_path / "out.parquet")
    lines = [line.line for line in read_input(file.source)]
    with ParquetOutput(file, ["translation"], {"beam": 1}, resume=False) as first:
        first.write(b"uno\n\n", lines[:2], 2)
    with ParquetOutput(file, ["translation"], {"beam": 1}, resume=True) as second:
        assert second.num_done == 2
        second.skip(lines[:2])
        second.write(b"dos\n", lines[2:], 1)
        second.finish()
    assert parquet.read_table(tmp_path / "out.parquet")["translation"].to_pylist() == ["uno", "", "dos"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet", "out.parquet"]
    assert ParquetOutput(file, ["translation"], {"beam": 1}, resume=True).is_finished
    with pytest.raises(RunError, match=r"made in another way: beam was 1 and is now 4\. Run without resuming"):
        ParquetOutput(file, ["translation"], {"beam": 4}, resume=True)
    parquet.write_table(pyarrow.table({"source": ["other"]}), table)
    with pytest.raises(RunError, match=r"made in another way: input was "):
        ParquetOutput(file, ["translation"], {"beam": 1}, resume=True)

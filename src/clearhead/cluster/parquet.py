"""Read a text column of a Parquet file as lines, and write a copy with columns added, both in constant memory."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.errors import DataError, RunError, did_you_mean, printable
from clearhead.files.line_input import InputLine, LineSource
from clearhead.files.lines import Fault, check_file
from clearhead.files.writing import sync_file, sync_folder, temporary_beside

if TYPE_CHECKING:
    import pyarrow

PARQUET = ".parquet"
_ROWS = 1024  # that are decoded at once
_KEY = b"clearhead"  # of the metadata that say how a file was made


def read_column(source: LineSource) -> Iterator[InputLine]:
    """Yield the cells of one column, of type string; an empty cell is an empty line."""
    with _opened(source.name) as file:
        _check_column(source, file)
        number = 0
        for batch in file.iter_batches(batch_size=_ROWS, columns=[source.column]):
            for cell in batch.column(0):
                number += 1
                yield _line(source, number, cell.as_py() or "")


def _line(source: LineSource, number: int, text: str) -> InputLine:
    if "\0" not in text:
        return InputLine(number, text, text)
    fault = Fault(source.name, number, "NUL character", "a NUL character in the cell. Remove it.")
    if source.on_fault == "refuse":
        raise DataError(f"{fault} Such rows can be skipped.", options={"on_fault": "skip"})
    return InputLine(number, f"\0{fault.detail}", "", fault=fault)


@contextmanager
def _opened(name: str) -> Iterator[Any]:
    """Open a Parquet file; errors of the library become a sentence."""
    import pyarrow
    from pyarrow import parquet

    path = check_file(name)
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as wrong:
        reason = printable(str(wrong).strip().split("\n")[0].rstrip("."))
        raise DataError(
            f"{printable(name)} cannot be read as Parquet: {reason}. Copy it again from its source."
        ) from None


def _check_column(source: LineSource, file: Any) -> None:
    import pyarrow

    schema, shown = file.schema_arrow, printable(source.name)
    if source.column not in schema.names:
        near = did_you_mean(source.column, schema.names)
        names = ", ".join(printable(name) for name in schema.names)
        raise DataError(
            f"{shown} has no column '{printable(source.column)}'.{near} It has: {names}.", options=("column",)
        )
    kind = schema.field(source.column).type
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise DataError(
            f"{shown}: column '{printable(source.column)}' has the type {kind}, but text (string) is required.",
            options=("column",),
        )


def refuse_columns(name: str, headings: Sequence[str]) -> None:
    """Raise DataError if a Parquet file already has one of the columns that are to be added."""
    with _opened(name) as file:
        present = [heading for heading in headings if heading in file.schema_arrow.names]
    if present:
        raise DataError(
            f"{printable(name)} already has a column '{present[0]}'. Write lines instead: give an output without "
            f"{PARQUET}.",
            options=("output",),
        )


def add_columns(name: str, lines: Path, headings: Sequence[str], output: Path, made_with: Mapping[str, Any]) -> None:
    """Write a copy of a Parquet file with columns added, whose cells are separated by tabs in a file of lines.

    `made_with` is kept in its metadata. The file appears when it is complete.
    """
    from pyarrow import parquet

    temporary = temporary_beside(output)
    try:
        with _opened(name) as file, lines.open(encoding="utf-8", newline="\n") as rows:
            schema = _schema(file.schema_arrow, headings, made_with)
            try:
                with parquet.ParquetWriter(temporary, schema) as writer:
                    for batch in file.iter_batches(batch_size=_ROWS):
                        cells = [row.rstrip("\n").split("\t") for row in islice(rows, batch.num_rows)]
                        writer.write_table(_table(batch, cells, schema))
                sync_file(temporary)
                temporary.replace(output)
                sync_folder(output.parent)
            except OSError as wrong:
                raise RunError(
                    f"{printable(str(output))} cannot be written: {wrong.strerror or wrong}. All lines are done and "
                    "saved. Free some space, then resume.",
                    options=("resume",),
                ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _schema(schema: "pyarrow.Schema", headings: Sequence[str], made_with: Mapping[str, Any]) -> "pyarrow.Schema":
    import pyarrow

    for heading in headings:
        schema = schema.append(pyarrow.field(heading, pyarrow.string()))
    metadata = {**(schema.metadata or {}), _KEY: json.dumps(made_with).encode()}
    return schema.with_metadata(metadata)


def _table(batch: "pyarrow.RecordBatch", rows: Sequence[Sequence[str]], schema: "pyarrow.Schema") -> "pyarrow.Table":
    import pyarrow

    num_added = len(schema.names) - batch.num_columns
    # a skipped line is empty, so that its other cells are missing
    added = [[row[place] if place < len(row) else "" for row in rows] for place in range(num_added)]
    columns = [*batch.columns, *(pyarrow.array(cells, pyarrow.string()) for cells in added)]
    return pyarrow.Table.from_arrays(columns, schema=schema)


def read_made_with(path: Path) -> dict[str, Any] | None:
    """Return what the metadata of a Parquet file say about how it was made; None if it is not one of ours."""
    with _opened(str(path)) as file:
        content = (file.schema_arrow.metadata or {}).get(_KEY)
    try:
        data = json.loads(content) if content is not None else None
    except ValueError:
        return None
    return data if isinstance(data, dict) else None

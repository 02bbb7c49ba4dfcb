"""The inputs of a job on a cluster: a file of lines, a column of a Parquet file, or every file of a folder."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clearhead.cluster.parquet import PARQUET, read_column
from clearhead.errors import DataError, RunError, printable
from clearhead.files.line_input import Form, InputLine, LineSource, OnFault
from clearhead.files.line_output import COMPANIONS

_PACKED = (".gz", ".xz")


@dataclass(frozen=True)
class InputRequest:
    """The input as the user named it: a file or a folder, or the text itself; without a form, each name decides."""

    name: str | None
    form: Form | None = None
    column: str | None = None
    text: str | None = None
    on_fault: OnFault = "refuse"

    def source(self, name: str | None) -> LineSource:
        """Return the source of one file, or of the text."""
        if name is not None and is_parquet(name) and self.form is None:
            return LineSource(name, "text", self.column or "source", None, self.on_fault)
        return LineSource.of(name, self.form, self.column, self.text, self.on_fault)


@dataclass(frozen=True)
class InputFile:
    """A source of lines, and the file that its output is written to; None is standard output."""

    source: LineSource
    output: Path | None = None


def is_parquet(name: str | Path) -> bool:
    """Return whether a file is a Parquet file, by its name."""
    return Path(name).suffix == PARQUET


def read_input(source: LineSource) -> Iterator[InputLine]:
    """Yield the lines of a source; those of a Parquet file are the cells of its column."""
    is_column = source.text is None and source.form == "text" and is_parquet(source.name)
    return read_column(source) if is_column else source.records()


def find_inputs(request: InputRequest, output: Path | None) -> list[InputFile]:
    """Return the named input, or each file of a folder with the file of the same name in the folder `output`."""
    if request.text is None and request.name in (None, "-"):
        raise DataError(
            "standard input cannot be read on a cluster. Save it as a file, and name the file.", options=("input",)
        )
    name = request.name or ""
    if request.text is not None or not Path(name).is_dir():
        source = request.source(request.name)
        if output is not None and is_parquet(output) and not is_parquet(name):
            raise RunError(
                f"{printable(str(output))} is the name of a Parquet file, which needs a Parquet file as input. "
                "Choose another name.",
                options=("output",),
            )
        return [InputFile(source, output)]
    folder = Path(name)
    _check_folders(folder, output)
    assert output is not None
    names = sorted(path.relative_to(folder) for path in folder.rglob("*") if _is_input(path, folder))
    if not names:
        raise DataError(f"{printable(name)} contains no files. Give a folder with files of lines.", options=("input",))
    files = [InputFile(request.source(str(folder / name)), output / _output_name(name)) for name in names]
    _refuse_same_outputs(name, files)
    return files


def _check_folders(folder: Path, output: Path | None) -> None:
    shown = printable(str(folder))
    if output is None:
        raise RunError(f"{shown} is a folder, so the output must be a folder too. Name it.", options=("output",))
    place = printable(str(output))
    if output.exists() and not output.is_dir():
        raise RunError(f"{place} is a file, but {shown} is a folder. Name a folder.", options=("output",))
    if folder.resolve() in (output.resolve(), *output.resolve().parents):
        raise RunError(f"{place} is in the folder of the input. Name another folder.", options=("output",))


def _is_input(path: Path, folder: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return path.is_file() and not is_hidden and not path.name.endswith(COMPANIONS)


def _output_name(name: Path) -> Path:
    """Return the name of an output, which is never compressed."""
    return name.with_suffix("") if name.suffix in _PACKED else name


def _refuse_same_outputs(name: str, files: list[InputFile]) -> None:
    inputs: dict[Path | None, str] = {}
    for file in files:
        other = inputs.setdefault(file.output, file.source.name)
        if other != file.source.name:
            raise DataError(
                f"{printable(other)} and {printable(file.source.name)} would both be written to "
                f"{printable(str(file.output))}. Rename one of them.",
                options=("input",),
            )

"""`clearhead translate -i page.md -o page.es.md`: documents, which keep their form."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.progress_bar import progress_bar
from clearhead.errors import ClearheadError, DataError, printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clearhead.cli.model_option import ModelChoice
    from clearhead.cli.translate_options import EngineOptions, LineOptions
    from clearhead.decoding.annotation import SentenceAligner
    from clearhead.decoding.pipeline import TranslationOptions
    from clearhead.decoding.search.settings import SearchSettings

# Not .txt, which is translated line by line unless --document is given.
_BY_EXTENSION = (".md", ".markdown", ".html", ".htm", ".srt", ".vtt", ".docx")


@dataclass(frozen=True)
class DocumentFlags:
    """How documents are translated."""

    document: Annotated[
        bool | None,
        typer.Option(
            "--document/--no-document",
            help="Translate the input file as a document that keeps its form, instead of line by line. "
            "\\[default: by its extension: .md, .html, .srt, .vtt and .docx are documents]",
        ),
    ] = None

    def is_document(self, name: str | None) -> bool:
        """Return whether the input is translated as a document."""
        if self.document is not False and name is not None:
            _refuse_other_format(name)
        if self.document is None:
            return name is not None and Path(name).suffix.lower() in _BY_EXTENSION
        return self.document


def _refuse_other_format(name: str) -> None:
    """Raise an error for a PDF and the like; clearhead.documents is not imported for lines without an extension."""
    if Path(name).suffix.lower() not in ("", ".txt", *_BY_EXTENSION):
        from clearhead.documents import refuse_other_format

        refuse_other_format(name)


def document_name(lines: "LineOptions", options: "Mapping[str, bool]", *, has_texts: bool) -> str:
    """Return the name of the input, or raise an error if it cannot be a document or if an option needs lines.

    `options` are those that only apply to lines, with whether they are given.
    """
    from clearhead.documents import SUPPORTED_FORMATS, is_document

    name = lines.input
    if has_texts or name is None or name == "-":
        raise ClearheadError("--document needs a file, whose extension states its format. Name it with --input FILE.")
    if not is_document(name):
        raise ClearheadError(
            f"'{printable(name)}' has no extension of a document: {', '.join(SUPPORTED_FORMATS)}. Rename it, or remove "
            "--document to translate its lines."
        )
    for option, is_given in options.items():
        if is_given:
            raise ClearheadError(
                f"{option} only applies to lines, but {printable(name)} is translated as a document. Remove {option}, "
                "or add --no-document to translate the lines of the file."
            )
    _check_extension(name, lines.output)
    return name


def _check_extension(name: str, output: Path | None) -> None:
    """Raise an error if the extension of the output is that of another format."""
    from clearhead.documents import SUPPORTED_FORMATS

    extension = Path(name).suffix.lower()
    if output is None:
        if extension == ".docx" and sys.stdout.isatty():
            raise ClearheadError("a Word document cannot be shown in a terminal. Name a file with --output FILE.docx.")
        return
    other = output.suffix.lower()
    if other in SUPPORTED_FORMATS and SUPPORTED_FORMATS[other] != SUPPORTED_FORMATS[extension]:
        raise ClearheadError(
            f"the output {printable(str(output))} is named as {_with_article(SUPPORTED_FORMATS[other])}, but the "
            f"translation keeps the format of {printable(name)}. Use the extension {extension}."
        )


def _with_article(noun: str) -> str:
    return f"a {noun}" if noun == "Word document" else noun


@dataclass(frozen=True)
class DocumentTask:
    """The document to translate, where its translation goes, and what is said about it."""

    name: str
    output: Path | None
    is_quiet: bool = False


def run_document(
    task: DocumentTask,
    chosen: "ModelChoice",
    search: "SearchSettings",
    options: "TranslationOptions",
    engine: "EngineOptions",
) -> None:
    """Translate a document to a file, which appears when it is complete, or to standard output."""
    from clearhead.decoding.annotation import SentenceAligner
    from clearhead.decoding.engines.engine import EngineNeeds
    from clearhead.documents import DocumentOptions, translate_document
    from clearhead.files.writing import write_file

    content = _read(task.name)
    with progress_bar() as show:
        uses = (*options.constraints.uses, "alignment")
        translator = engine.load(chosen.path, EngineNeeds(search, uses, len(content)))
        for note in translator.notes:
            typer.echo(f"clearhead: {note}", err=True)
        aligner = SentenceAligner(translator, chosen.path, search, options)
        languages = DocumentOptions(translator.statistics.source_language or None, aligner.pipeline.options.language)
        notes: list[str] = []
        translation = translate_document(
            content,
            task.name,
            aligner,
            lambda num_done, total: show("sentences", num_done, total),
            languages,
            notes.append,
        )
    _print_remarks(aligner, notes, is_quiet=task.is_quiet)
    if task.output is None:
        sys.stdout.buffer.write(translation)
    else:
        write_file(task.output, translation)


def _print_remarks(aligner: "SentenceAligner", notes: "Sequence[str]", *, is_quiet: bool) -> None:
    """Print notes about the document, and what the pipeline has to say about its sentences, which it calls lines."""
    remarks = [*notes, *(remark.sentence for remark in aligner.pipeline.remarks)]
    if not is_quiet:
        summary = aligner.pipeline.unfamiliar.summary()
        remarks += [text.replace(" lines:", " sentences:").replace(" in line ", " in sentence ") for text in summary]
    for sentence in dict.fromkeys(remarks):
        typer.echo(f"clearhead: {sentence}", err=True)


def _read(name: str) -> bytes:
    """Return the bytes of a document, or raise DataError with the reason why it cannot be read."""
    from clearhead.documents import MAX_BYTES
    from clearhead.files.reading import UnreadableFileError, missing_file_hint, read_bounded

    path, shown = Path(name), printable(name)
    try:
        return read_bounded(path, MAX_BYTES)
    except UnreadableFileError as reason:
        raise DataError(f"{shown} {reason}. Split the document." if reason.size else f"{shown} {reason}.") from None
    except FileNotFoundError:
        raise DataError(f"{shown} does not exist.{missing_file_hint(path)}") from None
    except OSError as problem:
        raise DataError(f"{shown} cannot be read: {problem.strerror}.") from None

"""Translate the lines of a file to a stream or a file: as text, as columns or as JSON, with annotations.

An interrupted job can be resumed from its unfinished output file; no line is lost or written twice.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from clearhead.decoding.alignment_text import render_alignment
from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.pipeline import WINDOW, Remark, SourceLine, TranslationOptions, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.errors import ClearheadError, DataError, RunError, printable
from clearhead.files.line_input import InputLine, LineSource
from clearhead.files.line_output import LineOutput

if TYPE_CHECKING:
    from clearhead.decoding.annotation import Annotator


class Explainer(Protocol):
    """Adds an explanation of the search to each translation."""

    def explain(self, translation: Translation) -> Translation:
        """Return the translation with its explanation."""

    def text_lines(self, translation: Translation) -> list[str]:
        """Return the lines to show below an explained translation."""

    def finish(self) -> None:
        """Write the collected explanations."""


@dataclass(frozen=True)
class JobOutput:
    """What is written for each line."""

    scores: bool = False
    align: bool = False
    draw: bool = False
    alternatives: int | None = None  # at this word, counted from 1
    num_alternatives: int = 5
    as_json: bool = False


@dataclass(frozen=True)
class JobHooks:
    """Optional parts of a job: annotate or explain each translation, and receive remarks and progress.

    `progress` gets the number of lines that this run has translated so far, `resumed` the number of lines of an earlier
    run.
    """

    annotator: "Annotator | None" = None
    explainer: Explainer | None = None
    remark: Callable[[Remark], None] = lambda remark: None
    progress: Callable[[int], None] = lambda num_lines: None
    resumed: Callable[[int], None] = lambda num_lines: None


class JobInterrupted(KeyboardInterrupt):  # not an Exception: nobody should catch it as an error
    """Ctrl-C while a file was being written: `num_done` lines of the input are finished and saved."""

    def __init__(self, num_done: int) -> None:
        super().__init__()
        self.num_done = num_done


class TranslationJob:
    """Translates the lines of one source with one translator."""

    def __init__(
        self,
        translator: Translator,
        source: LineSource,
        search: SearchSettings = SearchSettings(),
        options: TranslationOptions = TranslationOptions(),
        output: JobOutput = JobOutput(),
        hooks: JobHooks = JobHooks(),
    ) -> None:
        self.translator, self.source, self.output, self.hooks = translator, source, output, hooks
        self.pipeline = translator.pipeline(search, options)
        self.num_lines = 0
        self.columns = OutputColumns(
            n_best=search.n_best > 1,
            scores=output.scores,
            alignment=output.align,
            alternatives=output.alternatives is not None,
        )
        if source.form == "tsv" and not output.as_json and (self.columns.n_best or self.columns.alternatives):
            raise ClearheadError(
                "n-best translations and alternatives need several lines for each row of a TSV file. Write JSON.",
                options=("as_json",),
            )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that affects the output; resuming a file requires the same settings."""
        options, annotator = self.pipeline.options, self.hooks.annotator
        return {
            "model": self.translator.fingerprint,
            "engine": self.translator.engine.described,
            "search": self.pipeline.search.model_dump(),
            "phrases": asdict(options.constraints),
            "language": options.language,
            "paragraphs": options.is_paragraphs,
            "long": options.long,
            "max_source": options.max_source,
            "form": self.source.form,
            "column": self.source.column,
            "output": asdict(self.output),
            "alignment": None if annotator is None else asdict(annotator.rule),
        }

    def run(self, output: Path | None = None, *, window: int = WINDOW, resume: bool = False) -> None:
        """Translate all lines to standard output, a device, a pipe, or a file that gets its name when complete."""
        if output is None:
            self.to_stream(sys.stdout.buffer, window)
        elif output.exists() and not output.is_file() and not output.is_dir():
            with output.open("wb") as stream:
                self.to_stream(stream, window)
        else:
            settings = {**self.settings, "window": window}
            self.to_file(LineOutput.open(output, settings, resume=resume), window)

    def to_stream(self, stream: BinaryIO, window: int) -> None:
        """Write each window of lines as soon as it is translated."""
        for lines in windows(self.source.records(), window):
            stream.write(self.translated(lines))
            stream.flush()
        self._finish()

    def to_file(self, output: LineOutput, window: int) -> None:
        """Write to a file that gets its name when complete; lines translated by an earlier run are skipped."""
        records = self.source.records()
        with output:
            try:
                output.skip(record.line for record in _first(records, output.num_done))
                self.hooks.resumed(output.num_done)
                for lines in windows(records, window):
                    content = self.translated(lines)
                    output.write(content, [line.line for line in lines], len(lines))
                output.finish()
            except KeyboardInterrupt:
                raise JobInterrupted(output.num_done) from None
            except DataError as wrong:
                if not output.num_done:
                    raise
                raise DataError(
                    f"{wrong} The first {output.num_done:,} lines are translated and saved. Correct the input, then "
                    "resume.",
                    options=("resume",),
                ) from None
        self._finish()

    def _finish(self) -> None:
        if self.hooks.explainer is not None:
            self.hooks.explainer.finish()

    def translated(self, window: Sequence[InputLine]) -> bytes:
        """Translate one window of lines; return the bytes to write."""
        translations = self.pipeline.translate([SourceLine(line.number, line.text) for line in window])
        output_lines: list[str] = []
        for line, translation in zip(window, translations, strict=True):
            output_lines += self._written_lines(line, translation)
        for remark in self.pipeline.remarks:
            self.hooks.remark(remark)
        self.pipeline.remarks.clear()
        self.num_lines += len(window)
        self.hooks.progress(self.num_lines)
        return "".join(line + "\n" for line in output_lines).encode(errors="replace")

    def _written_lines(self, line: InputLine, translation: Translation) -> list[str]:
        if line.is_header:
            return [] if self.output.as_json else ["\t".join([line.line, *self.columns.headings])]
        translation = self._annotated(translation)
        if self.output.as_json:
            return [_json(self._record(translation))]
        if self.source.form == "jsonl":
            return [self._completed_object(line, translation)]
        lines = to_lines(translation, self.columns)
        if self.source.form == "tsv":
            return [f"{line.line}\t{lines[0]}"]
        return [*lines, *self._drawn(translation)]

    def _annotated(self, translation: Translation) -> Translation:
        if self.hooks.explainer is not None:
            translation = self.hooks.explainer.explain(translation)
        if self.hooks.annotator is None:
            return translation
        if self.output.align or self.output.draw:
            translation = self.hooks.annotator.aligned(translation)
        if self.output.alternatives is not None:
            word, number = self.output.alternatives, self.output.num_alternatives
            translation = self.hooks.annotator.with_alternatives(translation, word, number)
        return translation

    def _drawn(self, translation: Translation) -> list[str]:
        lines = []
        if self.output.draw and translation.alignment is not None:
            lines += render_alignment(translation.alignment).split("\n")[:-1]
        if self.hooks.explainer is not None:
            lines += self.hooks.explainer.text_lines(translation)
        return lines

    def _record(self, translation: Translation) -> dict[str, Any]:
        target = self.translator.vocabularies.target
        tokens = [token for hypothesis in translation.hypotheses_of(0) for token in hypothesis.tokens]
        return to_record(translation, self.columns, target.pieces(tokens) if self.columns.scores else ())

    def _completed_object(self, line: InputLine, translation: Translation) -> str:
        """Return the JSON object of an input line with the translation added."""
        if line.data is None:
            return ""
        is_plain = not (self.columns.scores or self.columns.n_best)
        omitted = {"line", "source", "has_ended", "parts", *({"score", "log_prob"} if is_plain else ())}
        new_values = {name: value for name, value in self._record(translation).items() if name not in omitted}
        conflicts = [name for name in new_values if name in line.data]
        if conflicts:
            raise DataError(
                f"{printable(self.source.name)}:{line.number}: the object already has a key '{conflicts[0]}'. "
                "Write separate JSON records.",
                options=("as_json",),
            )
        return _json({**line.data, **new_values})


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _first(lines: Iterator[InputLine], number: int) -> Iterator[InputLine]:
    """Yield the first `number` lines; raise RunError if there are fewer."""
    count = 0
    for line in islice(lines, number):
        count += 1
        yield line
    if count < number:
        raise RunError(
            f"the input has {count:,} lines, but {number:,} lines were already translated. Give the same input."
        )

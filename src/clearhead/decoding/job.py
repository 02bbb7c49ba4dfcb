"""Lines of a file through a translator to a stream or a file: annotated, written as text, columns or JSON.

A file in the making survives a kill: the job goes on with it later, with nothing twice and nothing lost.
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
    """Adds to a translation how it was found."""

    def explain(self, translation: Translation) -> Translation:
        """Return the translation with an explanation."""

    def text_lines(self, translation: Translation) -> list[str]:
        """Return what is shown below an explained translation."""

    def finish(self) -> None:
        """Write what was collected."""


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
    """What takes part in a job: who annotates and explains each translation, and who hears of remarks and progress."""

    annotator: "Annotator | None" = None
    explainer: Explainer | None = None
    remark: Callable[[Remark], None] = lambda remark: None
    progress: Callable[[int], None] = lambda num_lines: None


class JobInterrupted(KeyboardInterrupt):  # it is a KeyboardInterrupt, and no error
    """Ctrl-C while a file was written: `num_done` lines of the input are done and kept."""

    def __init__(self, num_done: int) -> None:
        super().__init__()
        self.num_done = num_done


class TranslationJob:
    """Lines of one source through one translator."""

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
                "n-best translations and alternatives are several lines for one row of a TSV. Write JSON.",
                options=("as_json",),
            )

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what is written: a later call must use the same to go on with a file."""
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
        """Write to standard output, to a device or a pipe, or to a file, which gets its name when it is complete."""
        if output is None:
            self.to_stream(sys.stdout.buffer, window)
        elif output.exists() and not output.is_file() and not output.is_dir():
            with output.open("wb") as stream:
                self.to_stream(stream, window)
        else:
            settings = {**self.settings, "window": window}
            self.to_file(LineOutput.open(output, settings, resume=resume), window)

    def to_stream(self, stream: BinaryIO, window: int) -> None:
        """Write every window of lines as soon as it is done."""
        for lines in windows(self.source.records(), window):
            stream.write(self.translated(lines))
            stream.flush()
        self._finish()

    def to_file(self, output: LineOutput, window: int) -> None:
        """Write to a file, which gets its name when it is complete; lines that are done already are skipped."""
        records = self.source.records()
        with output:
            try:
                output.skip(record.line for record in _first(records, output.num_done))
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
                    f"{wrong} {output.num_done:,} lines are done and kept: mend the input, and resume.",
                    options=("resume",),
                ) from None
        self._finish()

    def _finish(self) -> None:
        if self.hooks.explainer is not None:
            self.hooks.explainer.finish()

    def translated(self, window: Sequence[InputLine]) -> bytes:
        """Return what is written for a window of the input."""
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
        """Return the JSON object of a line with its translation added."""
        if line.data is None:
            return ""
        is_plain = not (self.columns.scores or self.columns.n_best)
        omitted = {"line", "source", "has_ended", "parts", *({"score", "log_prob"} if is_plain else ())}
        new_values = {name: value for name, value in self._record(translation).items() if name not in omitted}
        conflicts = [name for name in new_values if name in line.data]
        if conflicts:
            raise DataError(
                f"{printable(self.source.name)}:{line.number}: there is a key '{conflicts[0]}' already. "
                "Write plain JSON records.",
                options=("as_json",),
            )
        return _json({**line.data, **new_values})


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)


def _first(lines: Iterator[InputLine], number: int) -> Iterator[InputLine]:
    """Yield `number` lines, or say that there are fewer."""
    count = 0
    for line in islice(lines, number):
        count += 1
        yield line
    if count < number:
        raise RunError(f"the input has {count:,} lines, and {number:,} were translated before. Give the same input.")

"""Translate the lines of a file to a stream or a file: as text, as columns or as JSON, with annotations.

An interrupted job can be resumed from its unfinished output file; no line is lost or written twice.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from clearhead.decoding.alignment_text import render_alignment
from clearhead.decoding.output import OutputColumns, to_lines, to_record
from clearhead.decoding.pipeline import WINDOW, Remark, SourceLine, TranslationOptions, windows
from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translation import Translation
from clearhead.decoding.translator import Translator
from clearhead.decoding.windowed_job import WindowedJob
from clearhead.errors import ClearheadError, DataError, printable
from clearhead.files.destination import Output, check_outputs, check_standard_output
from clearhead.files.line_input import InputLine, LineSource
from clearhead.files.line_output import COMPANIONS
from clearhead.files.lines import Fault

if TYPE_CHECKING:
    from clearhead.decoding.annotation import Annotator

_MAX_LISTED = 5  # skipped lines that are named in the message; the others are counted


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


class TranslationJob(WindowedJob[InputLine]):
    """Translates the lines of one source with one translator."""

    done = "translated"

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
        self.num_skipped = 0
        self.skipped: list[Fault] = []  # of the first lines that were skipped
        self.columns = OutputColumns(
            n_best=search.n_best > 1,
            scores=output.scores,
            alignment=output.align,
        )
        if source.form == "tsv" and not output.as_json and self.columns.n_best:
            raise ClearheadError(
                "n-best translations need several lines for each row of a TSV file. Write JSON.",
                options=("as_json",),
            )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that affects the output except the window; resuming a file requires the same settings."""
        options, annotator = self.pipeline.options, self.hooks.annotator
        return {
            "model": self.translator.fingerprint,
            "vocabulary": self.translator.vocabularies.digest,
            "engine": self.translator.engine.described,
            "search": self.pipeline.search.model_dump(),
            "phrases": asdict(options.constraints),
            "language": options.language,
            "paragraphs": self.pipeline.splits_lines,
            "long": options.long,
            "max_source": options.max_source,
            "form": self.source.form,
            "column": self.source.column,
            "output": asdict(self.output),
            "alignment": None if annotator is None or annotator.rule is None else asdict(annotator.rule),
        }

    def run(self, output: Path | None = None, *, window: int = WINDOW, resume: bool = False) -> None:
        """Translate all lines to standard output, a device, a pipe, or a file that gets its name when complete.

        An output that is the input or a file of the model is an error. Resuming a complete file checks that the same
        settings and input made it.
        """
        inputs: list[str | Path] = [*self.translator.files, *([self.source.name] if self.source.text is None else [])]
        if output is None:
            check_standard_output(inputs)
        else:
            check_outputs([Output(output, companions=COMPANIONS)], inputs)
        records, settings = self.source.records(), {**self.settings, "window": window}
        if not self.write(records, windows(records, window), output, settings, resume=resume):
            self.hooks.remark(Remark(f"{printable(str(output))} is already complete."))

    def resume_after(self, num_items: int) -> None:
        """Report how many lines an earlier run has translated."""
        self.hooks.resumed(num_items)

    def input_line(self, item: InputLine) -> str:
        """Return the line as it was read."""
        return item.line

    def earlier_line(self, item: InputLine) -> str:
        """Return the line as it was read, and note its fault if an earlier run skipped it."""
        if self.source.on_fault == "skip" and (fault := self._fault(item)) is not None:
            self._skip([fault])
        return item.line

    def _skip(self, faults: Sequence[Fault]) -> None:
        self.num_skipped += len(faults)
        self.skipped += faults[: _MAX_LISTED - len(self.skipped)]

    def finish(self) -> None:
        """Finish the explanations, and remark on unfamiliar text and on lines that were skipped."""
        if self.hooks.explainer is not None:
            self.hooks.explainer.finish()
        for sentence in self.pipeline.unfamiliar.summary():
            self.hooks.remark(Remark(sentence, is_advice=True))
        if self.skipped:
            self.hooks.remark(Remark(skipped_sentence(self.skipped, self.num_skipped)))

    def content(self, window: Sequence[InputLine]) -> bytes:
        """Translate one window of lines; return the bytes to write."""
        output_lines: list[str] = []
        for line, translation in zip(window, self._translations(window), strict=True):
            if isinstance(translation, Fault):
                output_lines.append(self._skipped_line(line, translation))
            else:
                output_lines += self._written_lines(line, translation)
        for remark in self.pipeline.remarks:
            self.hooks.remark(remark)
        self.pipeline.remarks.clear()
        self.num_lines += len(window)
        self.hooks.progress(self.num_lines)
        return "".join(line + "\n" for line in output_lines).encode(errors="replace")

    def _translations(self, window: Sequence[InputLine]) -> list[Translation | Fault]:
        """Return the translation of each line, or why it was skipped."""
        faults = {line.number: line.fault for line in window if line.fault is not None}
        while True:
            lines = [SourceLine(line.number, line.text) for line in window if line.number not in faults]
            try:
                translations = iter(self.pipeline.translate(lines))
                break
            except DataError:
                if self.source.on_fault == "refuse":
                    raise
                all_faults = {line.number: fault for line in window if (fault := self._fault(line)) is not None}
                if len(all_faults) == len(faults):
                    raise
                faults = all_faults
        self._skip([faults[number] for number in sorted(faults)])
        return [faults[line.number] if line.number in faults else next(translations) for line in window]

    def _fault(self, line: InputLine) -> Fault | None:
        """Return why a line cannot be read or translated."""
        if line.fault is not None:
            return line.fault
        detail = self.pipeline.fault(SourceLine(line.number, line.text))
        return None if detail is None else Fault(self.source.shown, line.number, "cannot be translated", detail)

    def _skipped_line(self, line: InputLine, fault: Fault) -> str:
        """Return the output of a skipped line: a record with the error, or an empty line."""
        if self.output.as_json or self.source.form == "jsonl":
            return _json({"line": line.number, "error": fault.detail or fault.reason})
        return ""

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
        """Return the JSON object of an input line with the translation added; the rest is copied byte for byte."""
        if line.data is None:
            return ""
        is_plain = not (self.columns.scores or self.columns.n_best)
        omitted = {"line", "source", "has_ended", "notes", "parts", *({"score", "log_prob"} if is_plain else ())}
        new_values = {name: value for name, value in self._record(translation).items() if name not in omitted}
        conflicts = [name for name in new_values if name in line.data]
        if conflicts:
            raise DataError(
                f"{printable(self.source.name)}:{line.number}: the object already has a key '{conflicts[0]}'. "
                "Write separate JSON records.",
                options=("as_json",),
            )
        return f"{line.line.rstrip().removesuffix('}').rstrip()}, {_json(new_values)[1:]}"


def skipped_sentence(faults: Sequence[Fault], number: int) -> str:
    """Return how many lines were skipped, with the numbers of the first ones and their reasons."""
    places = ", ".join(f"{fault.line} ({fault.reason})" for fault in faults)
    more = f" and {number - len(faults):,} more" if number > len(faults) else ""
    count = "1 line was skipped: line" if number == 1 else f"{number:,} lines were skipped: lines"
    return f"{printable(faults[0].file)}: {count} {places}{more}."


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)

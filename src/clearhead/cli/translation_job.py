"""One call of `clearhead translate`: windows of lines in, the bytes that are written for them out."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clearhead.errors import ClearheadError, DataError, printable

if TYPE_CHECKING:
    from clearhead.cli.translating import Looks
    from clearhead.decoding.alignment import Reading
    from clearhead.decoding.line_result import LineResult
    from clearhead.decoding.lines import LineOptions
    from clearhead.decoding.translator import Translator
    from clearhead.files.line_input import InputLine, LineSource

_MAX_EXPLAINED = 100  # lines: each search is some hundred numbers a step
_SECONDS = 2  # a terminal is told nothing of what takes less


@dataclass
class Job:
    """One call of the command: lines in, bytes out."""

    translator: "Translator"
    options: "LineOptions"
    looks: "Looks"
    source: "LineSource"
    reading: "Reading | None" = None  # off the usual head
    explained: list[dict[str, Any]] = field(default_factory=list)
    num_lines: int = 0

    def __post_init__(self) -> None:
        from clearhead.decoding.line_result import Shown
        from clearhead.decoding.lines import LineTranslator

        self._lines = LineTranslator(self.translator, self.options)
        self._shown = Shown(
            n_best=self.options.settings.n_best > 1,
            scores=self.looks.scores,
            alignment=self.looks.align,
            choices=self.looks.alternatives is not None,
        )
        if self.source.form == "tsv" and not self.looks.as_json and (self._shown.n_best or self._shown.choices):
            raise ClearheadError("--n-best and --alternatives give several lines for one row of a TSV. Use --json.")
        self._looker = None
        if self.looks.needs_model:
            from clearhead.decoding.annotation import Annotator
            from clearhead.explain.explainer import SearchExplainer

            head = None if self.reading is None else self.reading.head
            is_shifted = self.looks.shift is not False if self.reading is None else self.reading.is_shifted
            self._looker = Annotator(self.translator, self.options.settings, head, is_shifted=is_shifted)
            self._explainer = SearchExplainer(self.translator, self.options.settings, head)
        self._started = time.monotonic()

    @property
    def made_with(self) -> dict[str, Any]:
        """All that decides what is written."""
        options, looks = self.options, asdict(self.looks)
        return {
            "engine": self.translator.engine.described,
            "search": options.settings.model_dump(),
            "phrases": asdict(options.phrases),
            "language": options.language,
            "paragraphs": options.is_paragraphs,
            "long": options.long,
            "max_source": options.max_source,
            "form": self.source.form,
            "column": self.source.column,
            "looks": looks,
            "reading": None if self.reading is None else asdict(self.reading),
        }

    def translated(self, window: "Sequence[InputLine]") -> bytes:
        """Return what is written for a window of the input."""
        from clearhead.decoding.lines import Line

        results = self._lines.translate([Line(record.number, record.text) for record in window])
        made: list[str] = []
        for record, result in zip(window, results, strict=True):
            made += self._written(record, result)
        for note in self._lines.notes:
            typer.echo(f"clearhead: {note}", err=True)
        self._lines.notes.clear()
        self.num_lines += len(window)
        self._tell()
        return "".join(line + "\n" for line in made).encode(errors="replace")

    def _written(self, record: "InputLine", result: "LineResult") -> list[str]:
        from clearhead.decoding.line_result import to_lines

        if record.is_header:
            return [] if self.looks.as_json else ["\t".join([record.line, *self._headings()])]
        result = self._looked(result)
        if self.looks.as_json:
            return [self._json(self._record(result))]
        if self.source.form == "jsonl":
            return [self._added(record, result)]
        lines = to_lines(result, self._shown)
        if self.source.form == "tsv":
            return [f"{record.line}\t{lines[0]}"]
        return [*lines, *self._drawn(result)]

    def _looked(self, result: "LineResult") -> "LineResult":
        if self._looker is None:
            return result
        if self.looks.explain is not None:
            result = self._explainer.explained(result, all_heads=self.looks.all_heads)
            self._keep(result)
        if self.looks.align or self.looks.draw:
            result = self._looker.aligned(result)
        if self.looks.alternatives is not None:
            result = self._looker.with_choices(result, self.looks.alternatives, self.looks.choices)
        return result

    def _keep(self, result: "LineResult") -> None:
        if self.looks.explain == "-":
            return
        if len(self.explained) == _MAX_EXPLAINED:
            raise DataError(f"--explain writes at most {_MAX_EXPLAINED} lines. Choose those that you want to look at.")
        parts = [part.explanation for part in result.parts if part.explanation is not None]
        told = {"line": result.number, "source": result.source, "translation": result.text}
        self.explained.append({**told, "parts": parts})

    def _drawn(self, result: "LineResult") -> list[str]:
        from clearhead.decoding.alignment_text import render_alignment
        from clearhead.explain.search_text import render_explanation

        made = []
        if self.looks.draw and result.alignment is not None:
            made += render_alignment(result.alignment).split("\n")[:-1]
        if self.looks.explain == "-":
            for part in result.parts:
                made += render_explanation(part.explanation).split("\n")[:-1] if part.explanation else []
        return made

    def _headings(self) -> list[str]:
        scores = ["score", "log_probs"] if self._shown.scores else []
        return ["translation", *scores, *(["alignment"] if self._shown.alignment else [])]

    def _record(self, result: "LineResult") -> dict[str, Any]:
        from clearhead.decoding.line_result import to_record

        target = self.translator.vocabularies.target
        tokens = [token for each in result.hypotheses_of(0) for token in each.tokens]
        return to_record(result, self._shown, target.pieces(tokens) if self._shown.scores else ())

    def _added(self, record: "InputLine", result: "LineResult") -> str:
        if record.data is None:
            return ""
        full = self._record(result)
        is_plain = not (self._shown.scores or self._shown.n_best)
        left_out = {"line", "source", "has_ended", "parts", *({"score", "log_prob"} if is_plain else ())}
        added = {name: value for name, value in full.items() if name not in left_out}
        taken = [name for name in added if name in record.data]
        if taken:
            raise DataError(
                f"{printable(self.source.name)}:{record.number}: there is a key '{taken[0]}' already. "
                "Write plain records with --json."
            )
        return self._json({**record.data, **added})

    @staticmethod
    def _json(data: Mapping[str, Any]) -> str:
        import json

        return json.dumps(data, ensure_ascii=False)

    def _tell(self) -> None:
        seconds = time.monotonic() - self._started
        if sys.stderr.isatty() and not sys.stdout.isatty() and seconds > _SECONDS:
            sys.stderr.write(f"\r{self.num_lines:,} lines, {self.num_lines / seconds:,.0f} a second ")
            sys.stderr.flush()

    def finish(self) -> None:
        """Write the searches that were explained."""
        if sys.stderr.isatty() and not sys.stdout.isatty() and time.monotonic() - self._started > _SECONDS:
            sys.stderr.write("\n")
        if self.looks.explain not in (None, "-"):
            from clearhead.files.writing import write_file

            settings = self.options.settings.model_dump()
            data = {"clearhead_explanation": 1, "settings": settings, "lines": self.explained}
            write_file(Path(str(self.looks.explain)), self._json(data).encode() + b"\n")

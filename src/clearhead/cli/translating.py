"""What `clearhead translate` does once its options are read: lines to windows, windows to results, results to lines."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clearhead.errors import ClearheadError, ConfigError, DataError, printable

if TYPE_CHECKING:
    from clearhead.data.line_input import Form, LineSource, Record
    from clearhead.data.line_output import LineOutput
    from clearhead.decoding.alignment import Reading
    from clearhead.decoding.engine import DeviceName, EngineName, Precision
    from clearhead.decoding.line_result import LineResult
    from clearhead.decoding.lines import LineOptions
    from clearhead.decoding.settings import SearchSettings
    from clearhead.decoding.translator import Translator

_MAX_EXPLAINED = 100  # lines: each search is some hundred numbers a step
_SECONDS = 2  # a terminal is told nothing of what takes less


@dataclass(frozen=True)
class Engines:
    """Which model, and what computes it."""

    model: Path
    engine: "EngineName"
    device: "DeviceName"
    precision: "Precision"


@dataclass(frozen=True)
class Feed:
    """Where lines come from, where they go, and how they are cut."""

    text: str | None
    source: str | None
    output: Path | None
    resume: bool
    form: "Form | None" = None
    column: str | None = None
    window: int | None = None
    is_paragraphs: bool = False
    long: Any = "split"
    max_source: int | None = None


@dataclass(frozen=True)
class Words:
    """What the translations are to be in, and to hold."""

    language: str | None
    prefix: str | None
    forbid: tuple[str, ...]
    require: tuple[str, ...]
    glossary: Path | None


@dataclass(frozen=True)
class Looks:
    """What is shown beside the translations."""

    scores: bool
    align: bool
    draw: bool
    head: str | None
    shift: bool | None
    alternatives: int | None
    choices: int
    explain: str | None
    all_heads: bool
    as_json: bool

    @property
    def needs_model(self) -> bool:
        """Whether the model itself is looked into."""
        return self.reads_attention or self.alternatives is not None

    @property
    def reads_attention(self) -> bool:
        """Whether something is shown of what the model attended to."""
        return self.align or self.draw or self.explain is not None


def translate_all(engines: Engines, feed: Feed, search: Mapping[str, Any], words: Words, looks: Looks) -> None:
    """Translate everything that is asked for."""
    from clearhead.data.line_input import LineSource
    from clearhead.data.line_output import LineOutput
    from clearhead.decoding.engine import Asked
    from clearhead.decoding.loading import find_model, fingerprint, open_translator
    from clearhead.decoding.settings import SearchSettings
    from clearhead.settings import read_settings

    _check(feed, looks)
    source = LineSource.of(feed.source, feed.form, feed.column, feed.text)
    options = _options(feed, read_settings(SearchSettings, search), words)
    if feed.resume and feed.output is not None and LineOutput.is_complete(feed.output):
        typer.echo(f"clearhead: {printable(str(feed.output))} is complete already.", err=True)
        return
    asked = Asked(options.settings, (*options.phrases.uses, *_uses(looks)))
    translator = open_translator(
        engines.model, engine=engines.engine, device=engines.device, precision=engines.precision, asked=asked
    )
    for note in translator.notes:
        typer.echo(f"clearhead: {note}", err=True)
    job = Job(translator, options, looks, source, _reading(engines.model, looks))
    size = _window(feed)
    if feed.output is None or (feed.output.exists() and not feed.output.is_file() and not feed.output.is_dir()):
        _to_stream(job, size, feed.output)
    else:
        made_with = {"model": fingerprint(find_model(engines.model).folder), **job.made_with, "window": size}
        _to_file(job, size, LineOutput.open(feed.output, made_with, resume=feed.resume))
    job.finish()


def _check(feed: Feed, looks: Looks) -> None:
    if feed.text is not None and feed.source is not None:
        raise ClearheadError("a sentence and a file (--input) are given. Choose one of them.")
    if feed.resume and feed.output is None:
        raise ClearheadError("--resume goes on with an output file. Name it with --output FILE.")
    if looks.explain is not None and feed.resume:
        raise ClearheadError("--explain writes one file at the end, and --resume would leave out its beginning.")
    if looks.all_heads and looks.explain is None:
        raise ClearheadError("--all-heads is about --explain FILE. Give both, or neither.")


def _uses(looks: Looks) -> list[Any]:
    named = {
        "alignment": looks.align or looks.draw,
        "alternatives": looks.alternatives is not None,
        "explain": looks.explain is not None,
        "token_scores": looks.scores,
    }
    return [use for use, is_asked in named.items() if is_asked]


def _options(feed: Feed, settings: "SearchSettings", words: Words) -> "LineOptions":
    from clearhead.decoding.lines import LineOptions
    from clearhead.decoding.phrases import Phrases, read_glossary

    glossary = {} if words.glossary is None else read_glossary(words.glossary)
    phrases = Phrases(words.prefix or "", words.forbid, words.require, glossary)
    return LineOptions(settings, phrases, words.language, feed.is_paragraphs, feed.long, feed.max_source)


def _reading(model: Path, looks: Looks) -> "Reading | None":
    """Return the head and the row that are asked for, else those that were chosen for this model, if any were."""
    if not looks.reads_attention:
        if looks.head is not None or looks.shift is not None:
            raise ConfigError(
                f"{'--head' if looks.head is not None else '--shift'} is about --align, --draw and --explain. "
                "Give one of them too."
            )
        return None
    from clearhead.decoding.alignment import Reading
    from clearhead.decoding.head_choice import read_choice
    from clearhead.decoding.looking import read_head

    if looks.head is not None:
        return Reading(read_head(looks.head), looks.shift is not False)
    chosen = read_choice(model)
    if chosen is None:
        return None
    reading = chosen.reading if looks.shift is None else replace(chosen.reading, is_shifted=looks.shift)
    typer.echo(
        f"clearhead: alignments are read off {reading}, as chosen by {printable(chosen.chosen_by)} "
        f"(AER {chosen.error:.2f}).",
        err=True,
    )
    return reading


def _window(feed: Feed) -> int:
    """Return how many lines are sorted together: one, where someone types them."""
    from clearhead.data.line_input import is_interactive
    from clearhead.decoding.lines import WINDOW

    if feed.window is not None:
        return feed.window
    if feed.text is None and feed.source in (None, "-") and is_interactive():
        typer.echo("clearhead: type a sentence and press Enter; Ctrl-D ends.", err=True)
        return 1
    return WINDOW


@dataclass
class Job:
    """One call of the command: lines in, bytes out."""

    translator: "Translator"
    options: "LineOptions"
    looks: Looks
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
            from clearhead.decoding.looking import Looker

            head = None if self.reading is None else self.reading.head
            is_shifted = self.looks.shift is not False if self.reading is None else self.reading.is_shifted
            self._looker = Looker(self.translator, self.options.settings, head, is_shifted=is_shifted)
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

    def translated(self, window: "Sequence[Record]") -> bytes:
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

    def _written(self, record: "Record", result: "LineResult") -> list[str]:
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
            result = self._looker.explained(result, all_heads=self.looks.all_heads)
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
        from clearhead.decoding.render_explain import render_alignment, render_explanation

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

    def _added(self, record: "Record", result: "LineResult") -> str:
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
            from clearhead.worksheet.writing import write_whole

            settings = self.options.settings.model_dump()
            data = {"clearhead_explanation": 1, "settings": settings, "lines": self.explained}
            write_whole(Path(str(self.looks.explain)), self._json(data).encode() + b"\n")


def _to_stream(job: Job, size: int, output: Path | None) -> None:
    """Write every window as soon as it is done, to standard output or to something that is not a plain file."""
    from clearhead.decoding.lines import windows

    with ExitStack() as stack:
        stream = sys.stdout.buffer if output is None else stack.enter_context(output.open("wb"))
        for window in windows(job.source.records(), size):
            stream.write(job.translated(window))
            stream.flush()


def _to_file(job: Job, size: int, output: "LineOutput") -> None:
    from clearhead.decoding.lines import windows

    records = job.source.records()
    with output:
        try:
            output.skip(record.line for record in _first(records, output.num_done))
            for window in windows(records, size):
                content = job.translated(window)
                output.write(content, [record.line for record in window], len(window))
            output.finish()
        except KeyboardInterrupt:
            _stop(output)
        except DataError as wrong:
            if not output.num_done:
                raise
            raise DataError(f"{wrong} {output.num_done:,} lines are done and kept: go on with --resume.") from None


def _first(records: "Iterator[Record]", number: int) -> "Iterator[Record]":
    """Yield so many records, or say that there are fewer."""
    count = 0
    for record in islice(records, number):
        count += 1
        yield record
    if count < number:
        raise DataError(f"the input has {count:,} lines, and {number:,} were translated before. Give the same input.")


def _stop(output: "LineOutput") -> None:
    kept = f" {output.num_done:,} lines are done. To go on: the same command with --resume." if output.num_done else ""
    typer.echo(f"clearhead: interrupted.{kept}", err=True)
    raise typer.Exit(130)

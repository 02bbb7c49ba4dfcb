"""What `clearhead translate` does once its options are read: windows of lines go through a job to a stream or file."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clearhead.cli.translation_job import Job
from clearhead.errors import ClearheadError, ConfigError, DataError, printable

if TYPE_CHECKING:
    from clearhead.decoding.alignment import Reading
    from clearhead.decoding.engines.engine import DeviceName, EngineName, Precision
    from clearhead.decoding.lines import LineOptions
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.files.line_input import Form, InputLine
    from clearhead.files.line_output import LineOutput


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
    from clearhead.decoding.engines.engine import EngineNeeds
    from clearhead.decoding.loading import find_model, fingerprint, open_translator
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.files.line_input import LineSource
    from clearhead.files.line_output import LineOutput
    from clearhead.settings import read_settings

    _check(feed, looks)
    source = LineSource.of(feed.source, feed.form, feed.column, feed.text)
    options = _options(feed, read_settings(SearchSettings, search), words)
    options = replace(options, has_scores=looks.scores or looks.as_json or options.settings.n_best > 1)
    if feed.resume and feed.output is not None and LineOutput.is_complete(feed.output):
        typer.echo(f"clearhead: {printable(str(feed.output))} is complete already.", err=True)
        return
    needs = EngineNeeds(options.settings, (*options.phrases.uses, *_uses(looks)))
    translator = open_translator(
        engines.model, engine=engines.engine, device=engines.device, precision=engines.precision, needs=needs
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
    from clearhead.decoding.phrases import PhraseConstraints, read_glossary

    glossary = {} if words.glossary is None else read_glossary(words.glossary)
    phrases = PhraseConstraints(words.prefix or "", words.forbid, words.require, glossary)
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
    from clearhead.decoding.annotation import read_head
    from clearhead.decoding.head_choice import read_choice

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
    from clearhead.decoding.lines import WINDOW
    from clearhead.files.line_input import is_interactive

    if feed.window is not None:
        return feed.window
    if feed.text is None and feed.source in (None, "-") and is_interactive():
        typer.echo("clearhead: type a sentence and press Enter; Ctrl-D ends.", err=True)
        return 1
    return WINDOW


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


def _first(records: "Iterator[InputLine]", number: int) -> "Iterator[InputLine]":
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

"""The options of `clearhead translate`, in typed groups; each group returns what the library takes."""

from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.model_option import Device
from clearhead.errors import ClearheadError, ConfigError

if TYPE_CHECKING:
    from clearhead.decoding.engines.engine import EngineNeeds, Use
    from clearhead.decoding.phrase_constraints import PhraseConstraints
    from clearhead.decoding.pipeline import TranslationOptions
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.decoding.translator import Translator
    from clearhead.files.line_input import LineSource


class EngineName(StrEnum):
    """What computes."""

    auto = "auto"
    torch = "torch"
    ctranslate2 = "ctranslate2"


class EnginePrecision(StrEnum):
    """How exactly."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"
    int8 = "int8"


class LineForm(StrEnum):
    """What the lines of the input are."""

    text = "text"
    tsv = "tsv"
    jsonl = "jsonl"


class LongLines(StrEnum):
    """What becomes of a line that is too long for the model."""

    splits = "split"
    refuses = "refuse"


class Stopping(StrEnum):
    """When a beam search stops."""

    first = "first"
    likely = "likely"
    proved = "proved"


@dataclass(frozen=True)
class LineOptions:
    """Where lines come from, where they go, and how they are split."""

    input: Annotated[
        str | None, typer.Option("--input", "-i", help="Read this file (also .gz, .xz). \\[default: standard input]")
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file, which appears when it is whole.")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an output file that was not finished.")] = False
    form: Annotated[
        LineForm | None, typer.Option(help="What the lines are. \\[default: by the file's name, else text]")
    ] = None
    column: Annotated[
        str | None, typer.Option(help="Column (name or number) or key to translate. \\[default: source]")
    ] = None
    language: Annotated[
        str | None, typer.Option("--to", help="Language to translate into, of a model that has several.")
    ] = None
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Split each line into sentences, and join their translations.")
    ] = False
    long: Annotated[LongLines, typer.Option(help="Split a line that is too long for the model, or refuse it.")] = (
        LongLines.splits
    )
    max_source: Annotated[
        int | None, typer.Option(min=2, help="Most tokens read at once. \\[default: what the model has positions for]")
    ] = None
    window: Annotated[
        int | None,
        typer.Option(min=1, help="Lines sorted by length together; 1 answers at once. \\[default: 1024]"),
    ] = None

    def source(self, texts: list[str]) -> "LineSource":
        """Return where lines come from."""
        from clearhead.files.line_input import LineSource

        if texts and self.input is not None:
            raise ClearheadError("a sentence and a file (--input) are given. Choose one of them.")
        text = "\n".join(text.removesuffix("\n") for text in texts) if texts else None
        return LineSource.of(self.input, None if self.form is None else self.form.value, self.column, text)

    def options(self, phrases: "PhraseOptions", *, has_scores: bool) -> "TranslationOptions":
        """Return how lines become what a model reads, and what their translations must obey."""
        from clearhead.decoding.pipeline import TranslationOptions

        return TranslationOptions(
            phrases.constraints(), self.language, self.paragraphs, self.long.value, self.max_source, has_scores
        )

    def window_size(self, has_texts: bool) -> int:
        """Return how many lines are sorted together: one, where someone types them."""
        from clearhead.decoding.pipeline import WINDOW
        from clearhead.files.line_input import is_interactive

        if self.window is not None:
            return self.window
        if not has_texts and self.input in (None, "-") and is_interactive():
            typer.echo("clearhead: type a sentence and press Enter; Ctrl-D ends.", err=True)
            return 1
        return WINDOW


@dataclass(frozen=True)
class SearchOptions:
    """The settings of a search; what is not given has the default of its setting."""

    beam: Annotated[int | None, typer.Option(help="Hypotheses kept at each step. \\[default: 1, greedy]")] = None
    n_best: Annotated[int | None, typer.Option(help="Translations of each line, with their scores.")] = None
    length_penalty: Annotated[float | None, typer.Option(help="Power of the length in a score; 0 is off.")] = None
    coverage_penalty: Annotated[
        float | None, typer.Option(help="Weight of source tokens that were hardly attended to.")
    ] = None
    stopping: Annotated[
        Stopping | None,
        typer.Option(help="Stop at as many ends as the beam is wide, or when nothing better comes. \\[default: first]"),
    ] = None
    min_length: Annotated[int | None, typer.Option(help="Shortest translation in tokens.")] = None
    max_length: Annotated[int | None, typer.Option(help="Longest translation in tokens.")] = None
    max_ratio: Annotated[float | None, typer.Option(help="Longest translation, in tokens for each of the source.")] = (
        None
    )
    max_extra: Annotated[int | None, typer.Option(help="Tokens that it may have beyond that.")] = None
    no_repeat: Annotated[int | None, typer.Option(help="Forbid repeated n-grams of this size.")] = None
    temperature: Annotated[float | None, typer.Option(help="Draw tokens at random: 1 as the model says.")] = None
    top_k: Annotated[int | None, typer.Option(help="Draw from this number of likeliest tokens.")] = None
    top_p: Annotated[float | None, typer.Option(help="Draw from the likeliest that make up this share.")] = None
    seed: Annotated[int | None, typer.Option(help="Where the draws start.")] = None
    batch_tokens: Annotated[
        int | None, typer.Option(help="Source tokens in one batch; if left out: 1,024 (a GPU: 16,384).")
    ] = None

    def settings(self) -> "SearchSettings":
        """Return the settings of the search."""
        from clearhead.decoding.search.settings import SearchSettings
        from clearhead.settings import read_settings

        values = {option.name: getattr(self, option.name) for option in fields(self)}
        if self.stopping is not None:
            values["stopping"] = self.stopping.value
        try:
            return read_settings(SearchSettings, {name: value for name, value in values.items() if value is not None})
        except ConfigError as wrong:
            names = dict.fromkeys(path for mistake in wrong.details for path in mistake.paths if path)
            raise ConfigError(wrong.details, options=tuple(names)) from None


@dataclass(frozen=True)
class PhraseOptions:
    """Phrases that translations must or must not hold."""

    prefix: Annotated[str | None, typer.Option(help="Every translation begins with this.")] = None
    forbidden: Annotated[
        list[str] | None, typer.Option("--forbid", help="A phrase that no translation may hold. May be repeated.")
    ] = None
    required: Annotated[
        list[str] | None, typer.Option("--require", help="A phrase that every translation must hold. May be repeated.")
    ] = None
    glossary: Annotated[
        Path | None, typer.Option(help="Terms and what they must become: term, tab, translation on each line.")
    ] = None

    def constraints(self) -> "PhraseConstraints":
        """Return the constraints on every translation."""
        from clearhead.decoding.phrase_constraints import PhraseConstraints, read_glossary

        glossary = {} if self.glossary is None else read_glossary(self.glossary)
        return PhraseConstraints(self.prefix or "", tuple(self.forbidden or ()), tuple(self.required or ()), glossary)


@dataclass(frozen=True)
class ShownOptions:
    """What is shown beside the translations."""

    alternatives: Annotated[
        int | None, typer.Option(min=1, metavar="WORD", help="What else could stand at this word, counted from 1.")
    ] = None
    choices: Annotated[int, typer.Option(min=1, help="With --alternatives: how many of them.")] = 5
    scores: Annotated[
        bool, typer.Option("--scores", help="The score of each translation, and the log-probability of each token.")
    ] = False
    align: Annotated[
        bool, typer.Option("--align", help="Which source word each target word came from: 0-0 1-2 (Pharaoh).")
    ] = False
    draw: Annotated[bool, typer.Option("--draw", help="Draw the alignment below each translation.")] = False
    head: Annotated[
        str | None,
        typer.Option(
            help="Block and head that alignments are read off: 1.3. "
            "\\[default: by `evaluate --choose-head`, else the last block but one]"
        ),
    ] = None
    shift: Annotated[
        bool | None,
        typer.Option(
            "--shift/--no-shift",
            help="Read the alignment of a token off the row that reads it, or else that writes it. "
            "\\[default: as was chosen, else shift]",
        ),
    ] = None
    explain: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write every beam at every step as JSON; - shows it in the terminal."),
    ] = None
    all_heads: Annotated[
        bool, typer.Option("--all-heads", help="With --explain: the attention of every block and head.")
    ] = False

    @property
    def reads_attention(self) -> bool:
        """Whether something is shown of what the model attended to."""
        return self.align or self.draw or self.explain is not None

    @property
    def uses(self) -> "list[Use]":
        """Return what an engine must be able to do."""
        is_used: dict[Use, bool] = {
            "alignment": self.align or self.draw,
            "alternatives": self.alternatives is not None,
            "explain": self.explain is not None,
            "token_scores": self.scores,
        }
        return [use for use, is_on in is_used.items() if is_on]

    def check(self, lines: LineOptions) -> None:
        """Raise an error for options that do not fit each other."""
        if lines.resume and lines.output is None:
            raise ClearheadError("--resume goes on with an output file. Name it with --output FILE.")
        if self.explain is not None and lines.resume:
            raise ClearheadError("--explain writes one file at the end, and --resume would leave out its beginning.")
        if self.all_heads and self.explain is None:
            raise ClearheadError("--all-heads is about --explain FILE. Give both, or neither.")
        if not self.reads_attention and (self.head is not None or self.shift is not None):
            raise ConfigError(
                f"{'--head' if self.head is not None else '--shift'} is about --align, --draw and --explain. "
                "Give one of them too."
            )


@dataclass(frozen=True)
class EngineOptions:
    """What computes."""

    engine: Annotated[EngineName, typer.Option(help="What computes.")] = EngineName.auto
    device: Annotated[Device, typer.Option(help="Where it is computed.")] = Device.auto
    precision: Annotated[EnginePrecision, typer.Option(help="How exactly.")] = EnginePrecision.auto

    def load(self, model: Path, needs: "EngineNeeds") -> "Translator":
        """Load a model with an engine that can do what is needed."""
        from clearhead.decoding.translator import Translator

        return Translator.load(
            model, engine=self.engine.value, device=self.device.value, precision=self.precision.value, needs=needs
        )

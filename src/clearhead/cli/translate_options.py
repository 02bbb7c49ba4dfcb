"""The options of `clearhead translate`, in typed groups; each group returns the arguments of a library function."""

import os
import stat
import sys
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.model_option import Device, DeviceOption, SourceLanguage, TargetLanguage
from clearhead.errors import ClearheadError, ConfigError
from clearhead.files.output_format import format_of_file

if TYPE_CHECKING:
    from clearhead.decoding.alignment import AlignmentRule
    from clearhead.decoding.engines.engine import EngineNeeds, Use
    from clearhead.decoding.phrase_constraints import PhraseConstraints
    from clearhead.decoding.pipeline import TranslationOptions
    from clearhead.decoding.search.settings import SearchSettings
    from clearhead.decoding.translator import Translator
    from clearhead.files.line_input import LineSource
    from clearhead.formats.model_folder import ModelFolder


_NUMPY_WINDOW = 128  # lines: about a second, so that progress is visible


class EngineName(StrEnum):
    """The engine that runs the model."""

    auto = "auto"
    torch = "torch"
    ctranslate2 = "ctranslate2"
    numpy = "numpy"


class EnginePrecision(StrEnum):
    """The number type that the engine computes in."""

    auto = "auto"
    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"
    int8 = "int8"


class LineForm(StrEnum):
    """The format of the input lines."""

    text = "text"
    tsv = "tsv"
    jsonl = "jsonl"


class LongLines(StrEnum):
    """How to handle a line that is too long for the model."""

    splits = "split"
    refuses = "refuse"


class FaultyLines(StrEnum):
    """How to handle a line that cannot be read."""

    refuse = "refuse"
    skip = "skip"


class Stopping(StrEnum):
    """When a beam search stops."""

    first = "first"
    likely = "likely"
    proved = "proved"


# Options of sampling, which `clearhead generate` has too
Temperature = Annotated[
    float | None, typer.Option(help="Sample tokens at this temperature instead of searching. \\[default: off]")
]
TopK = Annotated[int | None, typer.Option(help="Sample only from this number of most likely tokens. \\[default: all]")]
TopP = Annotated[
    float | None,
    typer.Option(help="Sample only from the most likely tokens that have this total probability. \\[default: all]"),
]
SamplingSeed = Annotated[int | None, typer.Option(help="Random seed for sampling. \\[default: 1]")]


@dataclass(frozen=True)
class LineOptions:
    """Input, output, and how lines are split."""

    input: Annotated[
        str | None, typer.Option("--input", "-i", help="Input file, also .gz or .xz. \\[default: standard input]")
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Output file; FILE.part until it is complete.")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue an unfinished output file.")] = False
    form: Annotated[
        LineForm | None, typer.Option(help="Format of the input. \\[default: from the file name, otherwise text]")
    ] = None
    column: Annotated[
        str | None, typer.Option(help="Column (name or number) or key to translate. \\[default: source]")
    ] = None
    on_fault: Annotated[
        FaultyLines,
        typer.Option(
            help="For lines with invalid UTF-8, NUL bytes or missing fields: stop with an error (refuse), or skip and "
            "count them; the translation of a skipped line is an empty line."
        ),
    ] = FaultyLines.refuse
    source_language: SourceLanguage = None
    language: TargetLanguage = None
    paragraphs: Annotated[
        bool | None,
        typer.Option(
            "--paragraphs/--no-paragraphs",
            help="Split each line into sentences and join their translations. "
            "\\[default: unless the model was trained on lines of several sentences]",
        ),
    ] = None
    long: Annotated[
        LongLines, typer.Option(help="Split a line that is too long for the model, or stop with an error (refuse).")
    ] = LongLines.splits
    max_source: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Maximum number of source tokens; longer lines are split. \\[default: the limit of the model]",
        ),
    ] = None
    window: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of lines to translate together; 1 translates and writes each line immediately. "
            "\\[default: 1024, with NumPy 128]",
        ),
    ] = None

    def source(self, texts: list[str]) -> "LineSource":
        """Return the source of the lines."""
        from clearhead.files.line_input import LineSource

        if texts and self.input is not None:
            raise ClearheadError("both a sentence and a file (--input) are given. Give only one of them.")
        text = "\n".join(text.removesuffix("\n") for text in texts) if texts else None
        return LineSource.of(
            self.input, None if self.form is None else self.form.value, self.column, text, self.on_fault.value
        )

    def num_characters(self, texts: list[str]) -> int | None:
        """Return the length of the input, at most one character per byte of a file; None if it is not known."""
        if texts:
            return sum(map(len, texts))
        name = self.input or "-"
        if name.endswith((".gz", ".xz")):
            return None
        try:
            status = os.fstat(sys.stdin.fileno()) if name == "-" else Path(name).stat()
        except (OSError, ValueError):  # a file that does not exist is reported when it is read
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def options(self, phrases: "PhraseOptions", language: str | None, *, has_scores: bool) -> "TranslationOptions":
        """Return the options of the translation pipeline."""
        from clearhead.decoding.pipeline import TranslationOptions

        return TranslationOptions(
            phrases.constraints(), language, self.paragraphs, self.long.value, self.max_source, has_scores
        )

    def is_typed(self, has_texts: bool) -> bool:
        """Return whether lines are read from a terminal."""
        from clearhead.files.line_input import is_interactive

        return not has_texts and self.input in (None, "-") and is_interactive()

    def window_size(self, engine: str, *, is_typed: bool) -> int:
        """Return the number of lines to translate together: one if they are typed in a terminal, few with NumPy."""
        from clearhead.decoding.pipeline import WINDOW

        if self.window is not None:
            return self.window
        if is_typed:
            typer.echo("clearhead: type a sentence and press Enter; Ctrl-D ends.", err=True)
            return 1
        return _NUMPY_WINDOW if engine == "numpy" else WINDOW


@dataclass(frozen=True)
class SearchOptions:
    """The settings of the search; an option that is not given has the default of its setting."""

    beam: Annotated[
        int | None, typer.Option(help="Number of hypotheses kept at each step. \\[default: 1, greedy search]")
    ] = None
    n_best: Annotated[
        int | None, typer.Option(help="Number of translations to print for each line, with scores. \\[default: 1]")
    ] = None
    length_penalty: Annotated[
        float | None, typer.Option(help="Exponent p of the score log P / length^p; 0 is off. \\[default: 1]")
    ] = None
    stopping: Annotated[
        Stopping | None,
        typer.Option(
            help="Stop when as many hypotheses as the beam size have finished (first), when a better one is unlikely "
            "(likely), or when a better one is impossible (proved). \\[default: first]"
        ),
    ] = None
    min_length: Annotated[
        int | None, typer.Option(help="Minimum length of a translation in tokens. \\[default: 0]")
    ] = None
    max_length: Annotated[
        int | None, typer.Option(help="Maximum length of a translation in tokens. \\[default: 512]")
    ] = None
    max_ratio: Annotated[
        float | None, typer.Option(help="Maximum number of target tokens per source token. \\[default: 2]")
    ] = None
    max_extra: Annotated[
        int | None, typer.Option(help="Number of tokens allowed in addition to --max-ratio. \\[default: 8]")
    ] = None
    no_repeat: Annotated[int | None, typer.Option(help="Forbid repeated n-grams of this size. \\[default: off]")] = None
    temperature: Temperature = None
    top_k: TopK = None
    top_p: TopP = None
    seed: SamplingSeed = None
    batch_tokens: Annotated[
        int | None, typer.Option(help="Number of source tokens in a batch. \\[default: 1024, on a GPU 16384]")
    ] = None

    def settings(self) -> "SearchSettings":
        """Return the search settings."""
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
    """Phrases that translations must contain or must not contain."""

    prefix: Annotated[str | None, typer.Option(help="Start every translation with this text.")] = None
    forbidden: Annotated[
        list[str] | None, typer.Option("--forbid", help="A phrase to exclude from translations. Can be repeated.")
    ] = None
    required: Annotated[
        list[str] | None, typer.Option("--require", help="A phrase to include in translations. Can be repeated.")
    ] = None
    glossary: Annotated[
        Path | None, typer.Option(help="File of required translations; each line has a term, a tab, a translation.")
    ] = None

    def constraints(self) -> "PhraseConstraints":
        """Return the constraints on every translation."""
        from clearhead.decoding.phrase_constraints import PhraseConstraints, read_glossary

        glossary = {} if self.glossary is None else read_glossary(self.glossary)
        return PhraseConstraints(self.prefix or "", tuple(self.forbidden or ()), tuple(self.required or ()), glossary)


@dataclass(frozen=True)
class ShownOptions:
    """What to show in addition to the translations."""

    scores: Annotated[
        bool, typer.Option("--scores", help="Show the score of each translation and the log-probability of each token.")
    ] = False
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Do not warn about input that is unlike the training text of the model.")
    ] = False
    align: Annotated[bool, typer.Option("--align", help="Show the word alignment in Pharaoh format: 0-0 1-2.")] = False
    draw: Annotated[bool, typer.Option("--draw", help="Draw the alignment below each translation.")] = False
    head: Annotated[
        str | None,
        typer.Option(
            help="Decoder layer and head to read alignments from, counted from 0: 1.3 is layer 2, head 4. "
            "\\[default: as chosen by `evaluate --choose-head`, otherwise the mean of the second-to-last layer]"
        ),
    ] = None
    shift: Annotated[
        bool | None,
        typer.Option(
            "--shift/--no-shift",
            help="Read the alignment of a token from the decoder position where the token is the input (--shift), or "
            "from the position where it is predicted (--no-shift). "
            "\\[default: as chosen by `evaluate --choose-head`, otherwise --shift]",
        ),
    ] = None
    explain: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write every step of the search as JSON; - prints it as text."),
    ] = None
    all_heads: Annotated[
        bool, typer.Option("--all-heads", help="With --explain: include the attention of every layer and head.")
    ] = False

    @property
    def reads_attention(self) -> bool:
        """Whether the output shows attention."""
        return self.align or self.draw or self.explain is not None

    @property
    def uses(self) -> "list[Use]":
        """Return the features that the engine must support."""
        is_used: dict[Use, bool] = {
            "alignment": self.align or self.draw,
            "explain": self.explain is not None,
            "token_scores": self.scores,
        }
        return [use for use, is_on in is_used.items() if is_on]

    def check(self, lines: LineOptions) -> None:
        """Raise an error if options contradict each other, or the name of the file of --explain its format."""
        format_of_file(self.explain, ["json"], default="json", option="explain")
        if lines.resume and lines.output is None:
            raise ClearheadError("--resume continues an output file. Name the file with --output FILE.")
        if self.explain is not None and lines.resume:
            raise ClearheadError(
                "--explain cannot be used with --resume: it writes one file at the end, and the lines translated "
                "earlier would be missing."
            )
        if self.all_heads and self.explain is None:
            raise ClearheadError("--all-heads only applies to --explain FILE. Give both, or neither.")
        if not self.reads_attention and (self.head is not None or self.shift is not None):
            raise ConfigError(
                f"{'--head' if self.head is not None else '--shift'} only applies to --align, --draw and --explain. "
                "Give one of them too."
            )


@dataclass(frozen=True)
class EngineOptions:
    """The engine, its device and its precision."""

    engine: Annotated[EngineName, typer.Option(help="Library that runs the model.")] = EngineName.auto
    device: DeviceOption = Device.auto
    precision: Annotated[EnginePrecision, typer.Option(help="Number type to compute in.")] = EnginePrecision.auto

    @property
    def is_auto(self) -> bool:
        """Whether the engine is chosen by clearhead."""
        return self.engine == EngineName.auto

    def load(self, model: "Path | ModelFolder", needs: "EngineNeeds") -> "Translator":
        """Load a model with an engine that supports `needs`."""
        from clearhead.decoding.translator import Translator

        return Translator.load(
            model, engine=self.engine.value, device=self.device.value, precision=self.precision.value, needs=needs
        )


def rule_with_flags(rule: "AlignmentRule") -> str:
    """Return an alignment rule with the options that select it: `decoder layer 2, head 4 … (`--head 1.3 --shift`)`."""
    return f"{rule} (`--head {rule.head.value} {'--shift' if rule.is_shifted else '--no-shift'}`)"

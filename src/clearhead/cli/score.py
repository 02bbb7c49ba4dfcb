"""`clearhead score`: the log-probability of given sentences under a model, by sentence and by token."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.model_option import (
    Device,
    DeviceOption,
    ModelChoice,
    ModelOption,
    ModelPrecision,
    PrecisionOption,
    chosen_model,
    translation_model,
)
from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import print_json
from clearhead.cli.translate_progress import interrupted
from clearhead.errors import ConfigError, printable

if TYPE_CHECKING:
    from clearhead.decoding.scoring import ScoreTotal
    from clearhead.decoding.scoring_job import ScoreOutput


class TooLongLines(StrEnum):
    """What to do with a line that is longer than the model supports."""

    refuse = "refuse"
    skip = "skip"


@dataclass(frozen=True)
class ScoreOptions:
    """What is written for each pair, and where."""

    tokens: Annotated[bool, typer.Option("--tokens", help="Also print every token with its log-probability.")] = False
    total: Annotated[bool, typer.Option("--total", help="Print only one line with the total of all sentences.")] = False
    max_perplexity: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Filter: print the pairs themselves (source, tab, target), and only those with at most this "
            "perplexity. \\[default: off]",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Output file; FILE.part until it is complete. \\[default: standard output]"
        ),
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Continue an unfinished output file.")] = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line, with numbers in full precision.")
    ] = False

    def check(self) -> None:
        """Raise an error if options contradict each other."""
        if self.resume and self.output is None:
            raise ConfigError("--resume continues an output file. Name the file with --output FILE.")
        if self.total and (self.output is not None or self.max_perplexity is not None):
            flag = "--output" if self.output is not None else "--max-perplexity"
            raise ConfigError(f"--total prints only the total, so {flag} has nothing to write. Remove one of them.")
        if self.tokens and self.max_perplexity is not None and not self.as_json:
            raise ConfigError("--max-perplexity prints the pairs themselves. To get their tokens too, give --json.")

    def job_output(self) -> "ScoreOutput":
        """Return what the job writes for each pair."""
        from clearhead.decoding.scoring_job import ScoreOutput

        return ScoreOutput(self.tokens, self.as_json, self.total, self.max_perplexity)


@dataclass(frozen=True)
class ScorerOptions:
    """How the model runs, and what it does with lines that are too long."""

    language: Annotated[
        str | None,
        typer.Option("--to", help="Target language: of a built-in model, or for a model with several."),
    ] = None
    too_long: Annotated[
        TooLongLines,
        typer.Option(
            help="For lines that are longer than the model supports: stop with an error (refuse), or skip them."
        ),
    ] = TooLongLines.refuse
    device: DeviceOption = Device.auto
    precision: PrecisionOption = ModelPrecision.auto


@dataclass(frozen=True)
class ScoringOutcome:
    """What a run has scored: the total, the pairs kept by the filter, and those that an earlier run had scored."""

    total: "ScoreTotal"
    vocabulary: str
    num_kept: int
    num_earlier: int = 0
    is_complete_already: bool = False


@with_option_groups
def score(
    *,
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two files: sentences, one per line, and their translations, which are scored. For a language model, "
            "give one file of sentences. - means standard input."
        ),
    ],
    model: ModelOption = None,
    shown: ScoreOptions,
    scorer: ScorerOptions,
) -> None:
    """Compute the log-probability (natural logarithm) and perplexity of given sentences under a model."""
    try:
        choice = translation_model(chosen_model(model, files), files, None, scorer.language)
        shown.check()
        if files.count("-") > 1:
            raise ConfigError("standard input can only be read once. Give a file for one of them.")
        _check_output(shown.output, choice, files)
        with _counter(files[-1], shown.output) as count:
            outcome = _score(choice, files, shown, scorer, count)
    except KeyboardInterrupt as interruption:
        raise interrupted(interruption) from None
    if outcome.is_complete_already:
        typer.echo(f"clearhead: {printable(str(shown.output))} is already complete.", err=True)
    else:
        _show(outcome, shown)


def _score(
    model: ModelChoice, files: list[str], shown: ScoreOptions, options: ScorerOptions, count: Callable[[int], None]
) -> ScoringOutcome:
    from clearhead.decoding.scoring import open_scorer, read_pairs
    from clearhead.decoding.scoring_job import ScoringJob, check_num_files

    scorer = open_scorer(
        model.path,
        device=options.device.value,
        precision=options.precision.value,
        too_long=options.too_long.value,
        language=model.language,
    )
    check_num_files(len(files), has_source=scorer.has_source)
    job = ScoringJob(scorer, shown.job_output())
    pairs = read_pairs(files[0] if scorer.has_source else None, files[-1])
    is_run = job.run(pairs, shown.output, resume=shown.resume, progress=count)
    return ScoringOutcome(
        job.total, scorer.vocabularies.digest, job.num_kept, job.num_earlier, is_complete_already=not is_run
    )


def _check_output(output: Path | None, model: ModelChoice, files: list[str]) -> None:
    """Raise an error, before the model is loaded, if the output cannot be written or would overwrite an input."""
    from clearhead.files.destination import Output, check_outputs, check_standard_output
    from clearhead.files.line_output import COMPANIONS
    from clearhead.formats.model_files import model_files
    from clearhead.formats.model_folder import find_model

    if output is None:
        check_standard_output(files)
    else:
        outputs = [Output(output, companions=COMPANIONS)]
        check_outputs(outputs, files, model_files=model_files(find_model(model.path)))


@contextmanager
def _counter(name: str, output: Path | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows a number of lines, on a terminal to which no scores are printed."""
    if not sys.stderr.isatty() or (output is None and sys.stdout.isatty()):
        yield lambda num_lines: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from clearhead.decoding.scoring import shown_name

    columns = (TextColumn(f"{shown_name(name)}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda num_lines: progress.update(task, completed=num_lines)


def _show(outcome: ScoringOutcome, shown: ScoreOptions) -> None:
    """Print the total: to stdout if it is the result, otherwise to stderr."""

    from clearhead.decoding.scoring_job import finite
    from clearhead.evaluation.scores import perplexity

    sums = outcome.total
    score = perplexity(sums.log_prob, sums.num_tokens, outcome.vocabulary[:12]) if sums.num_tokens else None
    if shown.total and shown.as_json:
        record = {
            "sentences": sums.num_sentences,
            "skipped": sums.num_skipped,
            "num_tokens": sums.num_tokens,
            "log_prob": sums.log_prob,
            "perplexity": None if score is None else finite(score.value),
            "signature": None if score is None else score.signature,
        }
        print_json(record)
        return
    skipped = f", {sums.num_skipped:,} too long and skipped" if sums.num_skipped else ""
    earlier = f" (and {outcome.num_earlier:,} in an earlier run)" if outcome.num_earlier else ""
    kept_count = f", {outcome.num_kept:,} kept" if shown.max_perplexity is not None else ""
    ending = f", {score.name} {score.value:.6g} ({score.signature})" if score is not None else ""
    typer.echo(
        f"{sums.num_sentences:,} sentences{earlier}{kept_count}{skipped}, {sums.num_tokens:,} tokens, "
        f"log P {sums.log_prob:.6f}{ending}",
        err=not shown.total,
    )

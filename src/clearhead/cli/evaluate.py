"""`clearhead evaluate`: score translations, with confidence intervals, significance tests and a search for leaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.evaluation_output import Form, show, waiting
from clearhead.cli.model_option import ModelOption, chosen_model
from clearhead.cli.option_groups import with_option_groups
from clearhead.errors import ConfigError, printable

if TYPE_CHECKING:
    from clearhead.evaluation.report import EvaluationReport, EvaluationRequest, Requirement
    from clearhead.evaluation.scores import Score

_AER = "aer"
_NUM_HEADS = 5  # the best ones, which are shown
_POOR_ERROR = 50.0  # per cent: a head that disagrees with most of the estimated links


class SignificanceTests(StrEnum):
    """The significance tests between systems."""

    bootstrap = "bootstrap"
    randomisation = "randomisation"
    both = "both"
    none = "none"

    @property
    def names(self) -> tuple[Literal["bootstrap", "randomisation"], ...]:
        """The names of the tests to run."""
        every: tuple[Literal["bootstrap", "randomisation"], ...] = ("bootstrap", "randomisation")
        return tuple(name for name in every if self.value in (name, "both"))


class BleuTokenisation(StrEnum):
    """How BLEU splits text into words."""

    usual = "13a"
    international = "intl"
    chinese = "zh"
    char = "char"
    none = "none"


@dataclass(frozen=True)
class TextOptions:
    """The texts to score, and their references."""

    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Translations, one per line; - or no file means standard input. "
            "With --choose-head: two files, sentences and their translations."
        ),
    ] = None
    reference: Annotated[
        list[str] | None, typer.Option(help="Reference translations, line by line. Repeat it for several references.")
    ] = None
    source: Annotated[str | None, typer.Option(help="The source text, for the search for leaks.")] = None
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Translations of one system. Can be repeated: the first system is the baseline, and a name given "
            "several times is one system with several outputs (seeds).",
        ),
    ] = None

    @property
    def systems(self) -> dict[str, list[str]]:
        """The files of each system, by its name."""
        if len(self.files or []) > 1:
            raise ConfigError("several files of translations were given. Name each system: --system NAME=FILE.")
        files: dict[str, list[str]] = {}
        if self.files or not self.system:
            files["output"] = [self.files[0] if self.files else "-"]
        for text in self.system or []:
            name, has_name, file = text.partition("=")
            if not (name and has_name and file):
                raise ConfigError(f"--system {printable(text)}: write NAME=FILE, such as base=base.txt.")
            files.setdefault(name, []).append(file)
        return files


@dataclass(frozen=True)
class MetricOptions:
    """The metrics, tests and analyses."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="bleu, tokenised-bleu, chrf, chrf++, ter or exact. Can be repeated. "
            "\\[default: bleu, chrf, ter, exact]"
        ),
    ] = None
    tokenisation: Annotated[BleuTokenisation, typer.Option(help="How BLEU splits text into words.")] = (
        BleuTokenisation.usual
    )
    test: Annotated[
        SignificanceTests, typer.Option(help="The significance test between the first system and each other system.")
    ] = SignificanceTests.randomisation
    samples: Annotated[
        int,
        typer.Option(
            min=0, help="Number of resampled test sets for confidence intervals and the bootstrap; 0 turns both off."
        ),
    ] = 1000
    trials: Annotated[int, typer.Option(min=40, help="Number of trials of approximate randomisation.")] = 10_000
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 12345

    def request(self, required: Sequence["Requirement"]) -> "EvaluationRequest":
        """Return the request for an evaluation; required metrics are measured too."""
        from clearhead.evaluation.report import DEFAULT_METRICS, EvaluationRequest
        from clearhead.evaluation.significance import Resampling

        required_metrics = [requirement.metric for requirement in required if requirement.metric != _AER]
        return EvaluationRequest(
            tuple(dict.fromkeys([*(self.metric or DEFAULT_METRICS), *required_metrics])),
            self.tokenisation.value,
            self.test.names,
            Resampling(self.samples, self.trials, self.seed) if self.samples else None,
        )


@dataclass(frozen=True)
class TrainingTextOptions:
    """The text that the systems were trained on."""

    train_source: Annotated[
        list[str] | None,
        typer.Option(
            help="Source side of the training text, to find test sentences that leaked into it. Can be repeated."
        ),
    ] = None
    train_target: Annotated[
        list[str] | None,
        typer.Option(
            help="Target side of the training text, to find test sentences that leaked into it. Can be repeated."
        ),
    ] = None


@dataclass(frozen=True)
class AlignmentOptions:
    """Alignments, and the gold alignments to compare them with."""

    links: Annotated[
        list[str] | None,
        typer.Option(
            help="File of alignments to score (FILE or NAME=FILE), with a line such as 0-0 1-2 for each sentence. "
            "Can be repeated."
        ),
    ] = None
    gold_links: Annotated[
        str | None, typer.Option(help="File of gold alignments: 0-0 is a sure link, 1p2 a possible one.")
    ] = None
    choose_head: Annotated[
        bool,
        typer.Option(
            "--choose-head",
            help="Choose the head of --model that `translate --align` uses, and save the choice with the model. Give "
            "two files, sentences and their translations. Heads are compared with --gold-links or, by default, with "
            "links that are estimated from the two files.",
        ),
    ] = False
    model: ModelOption = None

    @property
    def link_files(self) -> list[tuple[str, str]]:
        """The name and path of each file of links."""
        files = []
        for text in self.links or []:
            name, has_name, path = text.partition("=")
            is_named = bool(has_name) and not Path(text).exists()
            files.append((name if has_name else text, path if is_named else text))
        return files


@dataclass(frozen=True)
class ResultOptions:
    """The scores that are required, and the output format."""

    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=NUMBER",
            help="Exit with 1 if a system scores worse than this, such as bleu=40. Can be repeated.",
        ),
    ] = None
    form: Annotated[Form, typer.Option("--format", help="The output format.")] = Form.terminal
    as_json: Annotated[bool, typer.Option("--json", help="Same as --format json: every value in full precision.")] = (
        False
    )


@with_option_groups
def evaluate(
    texts: TextOptions,
    metrics: MetricOptions,
    training: TrainingTextOptions,
    alignments: AlignmentOptions,
    results: ResultOptions,
) -> None:
    """Score translations with BLEU, chrF, TER and exact match: confidence intervals, significance tests, leaks."""
    required = _requirements(results.require or [])
    alignment_scores = _alignment_scores(texts, alignments)
    _check_required(required, bool(alignment_scores))
    report = None
    has_texts = bool(texts.reference or texts.files or texts.system)
    if not alignments.choose_head and (has_texts or not alignment_scores):
        report = _measure(texts, training, metrics.request(required))
    show(report, alignment_scores, Form.json if results.as_json else results.form)
    judged = alignment_scores[:1] if alignments.choose_head else alignment_scores  # the chosen head
    failures = _failures(report, judged, required)
    for sentence in failures:
        typer.echo(f"clearhead: {sentence}", err=True)
    if failures:
        raise typer.Exit(1)


def _requirements(texts: Sequence[str]) -> list["Requirement"]:
    from clearhead.evaluation.report import parse_requirement
    from clearhead.evaluation.scores import COUNTED_METRICS

    requirements = []
    for text in texts:
        try:
            requirements.append(parse_requirement(text, (*COUNTED_METRICS, _AER)))
        except ConfigError as problem:
            raise problem.located(f"--require {printable(text)}") from None
    return requirements


def _measure(texts: TextOptions, training: TrainingTextOptions, request: "EvaluationRequest") -> "EvaluationReport":
    """Score the translations, and report training text that could not be read."""
    from clearhead.evaluation.evaluation_files import EvaluationFiles, evaluate_files

    systems = texts.systems
    if not texts.reference:
        raise ConfigError("evaluate needs reference translations: give them with --reference FILE.")
    train_sources, train_targets = training.train_source or [], training.train_target or []
    files = EvaluationFiles(systems, texts.reference, texts.source, train_sources, train_targets)
    with waiting():
        evaluation = evaluate_files(files, request)
    for name, number in evaluation.num_skipped_lines.items():
        typer.echo(f"clearhead: {printable(name)}: {number:,} lines are not UTF-8 and were skipped.", err=True)
    for note in evaluation.notes:
        typer.echo(f"clearhead: note: {note}", err=True)
    return evaluation.report


def _alignment_scores(texts: TextOptions, alignments: AlignmentOptions) -> list[tuple[str, "Score"]]:
    """Return the error rates of alignments, by name: of files, or of a model's heads with the best first."""
    if not alignments.choose_head:
        from clearhead.evaluation.alignment import rate_link_files

        if alignments.model is not None:
            raise ConfigError("--model is only used with --choose-head. Give both, or neither.")
        return rate_link_files(alignments.link_files, alignments.gold_links)
    others = {
        "--reference": bool(texts.reference),
        "--source": texts.source is not None,
        "--system": bool(texts.system),
        "--links": bool(alignments.links),
    }
    if any(others.values()):
        first = next(name for name, is_present in others.items() if is_present)
        raise ConfigError(f"--choose-head scores the links of a model and does not use {first}. Give one of the two.")
    files = texts.files or []
    model = chosen_model(alignments.model, files)
    if len(files) != 2:
        raise ConfigError(f"--choose-head needs two files, sentences and their translations, not {len(files)}.")
    from clearhead.cli.translate_options import rule_with_flags
    from clearhead.decoding.head_choice import CHOICE
    from clearhead.explain.head_selection import select_head
    from clearhead.files.destination import Output, check_outputs
    from clearhead.formats.model_folder import find_model

    links = [] if alignments.gold_links is None else [alignments.gold_links]
    check_outputs([Output(find_model(model).folder / CHOICE, "model")], [*files, *links])
    with waiting():
        selection = select_head(model, files[0], files[1], alignments.gold_links)
    path = printable(str(selection.path))
    chosen = rule_with_flags(selection.choice.rule)
    typer.echo(f"clearhead: alignments will be read from {chosen}; saved in {path}.", err=True)
    if alignments.gold_links is None and selection.choice.error > _POOR_ERROR:
        typer.echo(
            "clearhead: note: even this head disagrees with most of the estimated links (AER "
            f"{selection.choice.error:.2f}). The estimate is poor for few sentences, and where translations have "
            "another order of words. With links made by hand (--gold-links) the choice is better.",
            err=True,
        )
    return [(rule_with_flags(rule), score) for rule, score in selection.scores[:_NUM_HEADS]]


def _check_required(required: Sequence["Requirement"], has_links: bool) -> None:
    if any(requirement.metric == _AER for requirement in required) and not has_links:
        raise ConfigError("--require aer needs alignments: give --links FILE and --gold-links FILE, or --choose-head.")


def _failures(
    report: "EvaluationReport | None",
    alignment_scores: Sequence[tuple[str, "Score"]],
    required: Sequence["Requirement"],
) -> list[str]:
    """Return a sentence for every score that does not meet its requirement."""
    from clearhead.evaluation.report import unmet_requirements

    failures = [] if report is None else list(unmet_requirements(report, required))
    for requirement in required:
        if requirement.metric == _AER:
            sentences = [requirement.failure(name, score) for name, score in alignment_scores]
            failures += [sentence for sentence in sentences if sentence is not None]
    return failures

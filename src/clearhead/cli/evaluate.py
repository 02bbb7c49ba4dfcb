"""`clearhead evaluate`: how good translations are, how sure that is, and where they fail."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.aligning import choose, judge
from clearhead.cli.evaluation_output import Form, show, waiting
from clearhead.errors import ClearheadError, ConfigError, DataError, printable

if TYPE_CHECKING:
    from clearhead.evaluation.leaks import TrainingPair
    from clearhead.evaluation.report import EvaluationRequest, HeldOut, Requirement
    from clearhead.evaluation.scores import Score

_EXTRA = {"sacrebleu", "numpy", "torch", "safetensors", "sentencepiece"}
_AER = "aer"


class Tests(StrEnum):
    """Which tests are made between systems."""

    bootstrap = "bootstrap"
    randomisation = "randomisation"
    both = "both"
    none = "none"


class Tokenise(StrEnum):
    """How BLEU cuts text into words."""

    usual = "13a"
    international = "intl"
    chinese = "zh"
    char = "char"
    none = "none"


def evaluate(
    output: Annotated[
        str | None, typer.Argument(help="Translations, one a line; - or nothing is standard input.")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="What is right, line for line. May be repeated: any one of them counts.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="What was translated: for lengths, leaks and COMET.")] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Translations by a system. May be repeated: the first is the baseline; a name given twice is one "
            "system with several outputs (seeds).",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="bleu, tokenised-bleu, chrf, chrf++, ter, exact or comet. May be repeated. "
            "\\[default: bleu, chrf, ter, exact]"
        ),
    ] = None,
    tokenisation: Annotated[Tokenise, typer.Option(help="How BLEU cuts text into words.")] = Tokenise.usual,
    test: Annotated[
        Tests, typer.Option(help="The test between the first system and each other.")
    ] = Tests.randomisation,
    samples: Annotated[
        int, typer.Option(min=0, help="Test sets drawn for intervals and the bootstrap; 0 for neither.")
    ] = 1000,
    trials: Annotated[int, typer.Option(min=40, help="Trials of approximate randomisation.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 12345,
    buckets: Annotated[bool, typer.Option("--buckets/--no-buckets", help="Scores by length too.")] = True,
    train_source: Annotated[
        list[str] | None, typer.Option(help="Training text, source side: is the test set in it? May be repeated.")
    ] = None,
    train_target: Annotated[
        list[str] | None,
        typer.Option(help="Training text, target side: leaks, and words by their frequency. May be repeated."),
    ] = None,
    links: Annotated[
        list[str] | None, typer.Option(help="Alignments to judge, 0-0 1-2 a line; FILE or NAME=FILE. May be repeated.")
    ] = None,
    gold_links: Annotated[str | None, typer.Option(help="The right alignments: 0-0 is sure, 1p2 possible.")] = None,
    choose_head: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Choose the head that `translate --align` reads, on --source and --reference, by --gold-links or, "
            "without, by links that are counted; kept beside the model.",
        ),
    ] = None,
    comet_model: Annotated[
        str | None, typer.Option(help="The checkpoint of COMET on this disk. Needs clearhead\\[comet].")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=NUMBER", help="Exit with 1 if any system is worse than this: bleu=40. May be repeated."
        ),
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="The form of the output.")] = Form.terminal,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json: every value in full.")] = False,
) -> None:
    """Score translations: BLEU, chrF, TER, exact match, with intervals, tests, buckets and leaks."""
    try:
        from clearhead.evaluation.report import (
            DEFAULT_METRICS,
            KNOWN_METRICS,
            evaluate,
            parse_requirement,
            unmet_requirements,
        )

        required = [parse_requirement(each, (*KNOWN_METRICS, _AER)) for each in require or []]
        if choose_head is not None:
            _check_alone(output, system or [], links or [])
            with waiting():
                aligned = choose(choose_head, source, reference or [], gold_links)
        else:
            aligned = judge(links or [], gold_links)
        _check_required(required, bool(aligned))
        report = None
        if choose_head is None and (reference or output is not None or system or not aligned):
            chosen = [*(metric or DEFAULT_METRICS), *(each.metric for each in required if each.metric != _AER)]
            asked = _asked(tuple(dict.fromkeys(chosen)), tokenisation, test, (samples, trials, seed), buckets)
            asked = _with_comet(asked, comet_model)
            training = _Training(train_source or [], train_target or [])
            systems, held_out = _read(_named(output, system or []), reference or [], source, training)
            with waiting():
                report = evaluate(systems, held_out, asked)
            training.tell()
        show(report, aligned, Form.json if as_json else form)
    except ModuleNotFoundError as missing:
        if missing.name in _EXTRA:
            raise ClearheadError(
                f"evaluate needs {missing.name}, which is not installed: pip install 'clearhead[train]'."
            ) from None
        raise
    judged = aligned if choose_head is None else aligned[:1]  # the one that was chosen
    told = [*(unmet_requirements(report, required) if report is not None else ()), *_misaligned(judged, required)]
    for sentence in told:
        typer.echo(f"clearhead: {sentence}", err=True)
    if told:
        raise typer.Exit(1)


def _asked(
    metrics: tuple[str, ...], tokenisation: Tokenise, test: Tests, drawn: tuple[int, ...], has_buckets: bool
) -> "EvaluationRequest":
    from clearhead.evaluation.report import EvaluationRequest
    from clearhead.evaluation.significance import Resampling

    known: dict[Tests, tuple[Literal["bootstrap", "randomisation"], ...]] = {
        Tests.bootstrap: ("bootstrap",),
        Tests.randomisation: ("randomisation",),
        Tests.both: ("bootstrap", "randomisation"),
        Tests.none: (),
    }
    samples, trials, seed = drawn
    how = Resampling(samples, trials, seed) if samples else None
    return EvaluationRequest(metrics, tokenisation.value, known[test], how, has_buckets)


def _with_comet(asked: "EvaluationRequest", model: str | None) -> "EvaluationRequest":
    from dataclasses import replace

    return replace(asked, comet_model=model)


def _named(output: str | None, systems: Sequence[str]) -> dict[str, list[str]]:
    """Return the files of every system by its name."""
    found: dict[str, list[str]] = {}
    if output is not None or not systems:
        found["output"] = [output or "-"]
    for each in systems:
        name, has_name, file = each.partition("=")
        if not (name and has_name and file):
            raise ConfigError(f"--system {printable(each)}: write NAME=FILE, as in base=base.txt.")
        found.setdefault(name, []).append(file)
    return found


class _Training:
    """The pairs of the training files, a line at a time; lines that are no text are counted and left out."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        if sources and targets and len(sources) != len(targets):
            raise ConfigError(
                f"--train-source is given {len(sources)} times and --train-target {len(targets)} times. "
                "Give both of each corpus, in the same order."
            )
        self.sources, self.targets = sources, targets
        self.faults: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self.sources or self.targets)

    def __iter__(self) -> Iterator["TrainingPair"]:
        from clearhead.data.lines import Fault, Notes
        from clearhead.data.reader import read_aligned, read_text
        from clearhead.evaluation.leaks import TrainingPair

        has_both = bool(self.sources and self.targets)
        for place, name in enumerate(self.sources or self.targets):
            found = read_aligned(name, self.targets[place], Notes()) if has_both else read_text(name, Notes())
            for each in found:
                if not isinstance(each, Fault):
                    text = each.target
                    one_side = TrainingPair(source=text) if self.sources else TrainingPair(target=text)
                    yield TrainingPair(each.source, text) if has_both else one_side
                elif each.is_fatal:
                    raise DataError(str(each))
                else:
                    self.faults[each.file] = self.faults.get(each.file, 0) + 1

    def tell(self) -> None:
        """Say which lines were left out."""
        for name, number in self.faults.items():
            typer.echo(
                f"clearhead: {printable(name)}: {number:,} lines are not UTF-8 and were not looked at.", err=True
            )


def _read(
    systems: Mapping[str, Sequence[str]], references: Sequence[str], source: str | None, training: _Training
) -> tuple[dict[str, list[list[str]]], "HeldOut"]:
    from clearhead.data.input import STANDARD_INPUT, whole_input
    from clearhead.evaluation.report import HeldOut

    if not references:
        raise ConfigError("evaluate needs to know what is right: give it with --reference FILE.")
    named = [file for files in systems.values() for file in files] + [*references, *([source] if source else [])]
    if named.count(STANDARD_INPUT) > 1:
        raise ConfigError("standard input can be read once only. Give files for all but one of the texts.")
    judged = HeldOut(
        [whole_input(name) for name in references],
        None if source is None else whole_input(source),
        training if training else None,
    )
    return {name: [whole_input(file) for file in files] for name, files in systems.items()}, judged


def _check_alone(output: str | None, systems: Sequence[str], links: Sequence[str]) -> None:
    given = [
        name
        for name, is_given in (("OUTPUT", output is not None), ("--system", bool(systems)), ("--links", bool(links)))
        if is_given
    ]
    if given:
        raise ConfigError(f"--choose-head judges a model's own links, not {given[0]}. Give one of them.")


def _check_required(required: Sequence["Requirement"], has_links: bool) -> None:
    if any(each.metric == _AER for each in required) and not has_links:
        raise ConfigError("--require aer needs alignments: give --links FILE and --gold-links FILE, or --choose-head.")


def _misaligned(aligned: Sequence[tuple[str, "Score"]], required: Sequence["Requirement"]) -> list[str]:
    told = (each.failure(name, score) for each in required if each.metric == _AER for name, score in aligned)
    return [each for each in told if each is not None]

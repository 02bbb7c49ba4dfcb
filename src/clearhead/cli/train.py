"""`clearhead train`: train a model from text files or a config, and save it in a run folder."""

import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from clearhead.cli.output import print_json
from clearhead.cli.train_ranks import as_rank, check_number, check_ranks, membership_of, start_ranks
from clearhead.errors import ClearheadError, RunError, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from clearhead.training.config import RunConfig
    from clearhead.training.distributed.membership import Membership
    from clearhead.training.outcome import Outcome
    from clearhead.training.plan import PlanRequest
    from clearhead.training.seeds import SeedsReport

_MINUTES = 10.0
_INPUTS = (
    "Two text files with one sentence per line (train.en train.es), or one TSV or JSONL file: all settings are chosen "
    "for this text, this device and the time. Or a config file (YAML) with the settings that differ from the defaults."
)


def train(
    inputs: Annotated[list[Path] | None, typer.Argument(metavar="[FILES | CONFIG]", help=_INPUTS)] = None,
    minutes: Annotated[
        float | None,
        typer.Option(min=0.05, help=f"Time for a training from text files, in minutes. \\[default: {_MINUTES:g}]"),
    ] = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Print the plan for text files, with its reasons, or the size, speed and time of a config, and do not "
            "train.",
        ),
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Train on text files even if they are misaligned or in the same language."),
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(
            help="Run folder. \\[default: the setting run in the config, otherwise runs/NAME for NAME.yaml, and "
            "runs/train-en-es for train.en and train.es]"
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a setting for this run: training.rate=3e-4. Can be given several times.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume the run in the run folder. Without a config, its saved config is used."),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=2, help="Train with this number of seeds, and report mean and standard deviation."),
    ] = None,
    devices: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Train with this number of processes on this machine, which share each batch: one for each GPU, or "
            "several on the CPU. \\[default: 1]",
        ),
    ] = None,
    help_config: Annotated[bool, typer.Option("--help-config", help="List all settings of a config and exit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Train a model: translation, classification or language modelling."""
    # Let the threads of a matrix product sleep while they wait for each other. On a busy machine, spinning makes all
    # programs several times slower. The variable is read when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    started = time.perf_counter()
    if help_config:
        _help(as_json)
        return
    membership = membership_of(devices)
    number = membership.size if membership is not None else devices or 1
    config = _config_of(inputs or [])
    has_text = bool(inputs) and config is None
    check_ranks(number, has_text=has_text, has_plan=plan, has_seeds=seeds is not None)
    if number > 1 and membership is None:
        check_number(number)
        _read(config, run, changes or [], resume)  # so that its errors are reported once
        start_ranks(number)
        return
    if inputs and config is None:
        _check_options_of_text(resume or seeds is not None)
        request = _request(inputs, minutes or _MINUTES, changes or [], started, is_strict=not (plan or force))
        if plan:
            _show_plan(request, as_json)
        else:
            _train_planned(request, run or _run_folder(inputs), as_json)
        return
    _check_options_of_config(minutes, force, is_resumed_plan=plan and (resume or seeds is not None))
    if seeds is not None and config is None:
        raise ClearheadError("--seeds needs the config, also to resume: clearhead train CONFIG --resume --seeds N.")
    if membership is not None:
        with as_rank(membership):
            settings = _read(config, run, changes or [], resume, is_rank=True)
            _train(settings, Path(settings.run or ""), resume, as_json, membership)
        return
    settings = _read(config, run, changes or [], resume)
    folder = Path(settings.run or "")
    if plan:
        _show_forecast(settings, as_json)
    elif seeds is None:
        _train(settings, folder, resume, as_json)
    else:
        _train_seeds(settings, folder, seeds, resume, as_json)


def _check_options_of_text(has_others: bool) -> None:
    if has_others:
        raise ClearheadError(
            "--resume and --seeds are not for text files. Resume the run that was planned for them with --resume --run "
            "FOLDER; train its plan with several seeds with FOLDER/plan.yaml --seeds N."
        )


def _check_options_of_config(minutes: float | None, force: bool, *, is_resumed_plan: bool) -> None:
    if minutes is not None:
        raise ClearheadError(
            "--minutes is for text files (clearhead train train.en train.es). A config has its own settings: "
            "training.steps, training.epochs, training.minutes."
        )
    if force:
        raise ClearheadError("--force is for text files (clearhead train train.en train.es). Remove it.")
    if is_resumed_plan:
        raise ClearheadError("--plan does not train, so --resume and --seeds do not apply to it. Remove them.")


def _config_of(inputs: list[Path]) -> Path | None:
    """Return the config among the inputs, or None if they are text files."""
    from clearhead.training.plan_input import is_config

    return inputs[0] if len(inputs) == 1 and is_config(inputs[0]) else None


def _request(
    inputs: list[Path], minutes: float, changes: list[str], started: float, *, is_strict: bool
) -> "PlanRequest":
    """Return what to plan for, or raise an error before torch is loaded if the files cannot be used."""
    from clearhead.training.plan_input import corpus_of

    corpus = corpus_of(inputs)
    from clearhead.training.plan import PlanRequest

    return PlanRequest(corpus, minutes, started, changes, "--set", is_strict)


def _run_folder(inputs: list[Path]) -> Path:
    from clearhead.training.plan_input import run_name

    return Path("runs") / run_name(inputs)


def _train_planned(request: "PlanRequest", folder: Path, as_json: bool) -> None:
    from clearhead.model.device import keep_freed_memory
    from clearhead.training.launch import launch_planned

    keep_freed_memory()
    _finish(lambda: launch_planned(request, folder), folder, as_json, is_planned=True)


def _show_plan(request: "PlanRequest", as_json: bool) -> None:
    """Make a plan in a folder that is removed afterwards, and print it."""
    from tempfile import TemporaryDirectory

    from clearhead.model.device import keep_freed_memory
    from clearhead.training.plan import make_plan
    from clearhead.training.plan_report import plan_table
    from clearhead.training.progress import Reporter
    from clearhead.training.run import RunFolder

    keep_freed_memory()
    with TemporaryDirectory() as place, RunFolder.create_for_plan(place) as folder, Reporter() as reporter:
        run_plan = make_plan(request, folder, reporter)
    if as_json:
        print_json(run_plan.to_data())
    else:
        typer.echo(plan_table(run_plan))


def _show_forecast(settings: "RunConfig", as_json: bool) -> None:
    """Prepare a config in a folder that is removed afterwards, and print what its training would need."""
    from tempfile import TemporaryDirectory

    from clearhead.model.device import keep_freed_memory
    from clearhead.training.plan_measure import make_forecast
    from clearhead.training.progress import Reporter
    from clearhead.training.run import RunFolder

    keep_freed_memory()
    with TemporaryDirectory() as place, RunFolder.create_for_plan(place) as folder, Reporter() as reporter:
        forecast = make_forecast(settings, folder, reporter)
    if as_json:
        print_json(forecast.to_data())
    else:
        typer.echo(forecast)


def _help(as_json: bool) -> None:
    from clearhead.training.config_help import config_help_data, help_config

    if as_json:
        print_json(config_help_data())
    else:
        typer.echo(help_config(), nl=False)


def _read(
    config: Path | None, run: Path | None, changes: list[str], resume: bool, *, is_rank: bool = False
) -> "RunConfig":
    from clearhead.training.config import load_run_config
    from clearhead.training.run import RunFolder

    if config is not None:
        settings = load_run_config(config, changes, check_files=not resume, change_label="--set")
    elif not resume:
        raise ClearheadError(
            "train needs text or a config: clearhead train train.en train.es, or clearhead train "
            "configs/phrasebook.yaml. All settings: --help-config."
        )
    elif run is None:
        raise RunError("--resume needs a run: give its folder with --run, or the config that it was started with.")
    elif is_rank and RunFolder(run).holds_a_run:  # the first rank locks it later, when all have read it
        settings = RunFolder(run).read_config(changes, change_label="--set")
    else:
        with RunFolder.reopen(run) as folder:
            settings = folder.read_config(changes, change_label="--set")
    return settings if run is None else settings.model_copy(update={"run": str(run)})


def _train(
    settings: "RunConfig", folder: Path, resume: bool, as_json: bool, membership: "Membership | None" = None
) -> None:
    from clearhead.model.device import keep_freed_memory
    from clearhead.training.launch import launch

    keep_freed_memory()
    if membership is None:
        _finish(lambda: launch(settings, folder, resume=resume), folder, as_json)
        return
    from clearhead.training.distributed.rendezvous import open_world

    def work() -> "Outcome":
        with open_world(membership, settings.training) as world:
            return launch(settings, folder, resume=resume, world=world)

    _finish(work, folder, as_json, membership=membership)


def _finish(
    work: "Callable[[], Outcome]",
    folder: Path,
    as_json: bool,
    *,
    is_planned: bool = False,
    membership: "Membership | None" = None,
) -> None:
    """Train, and print the outcome; of several ranks only the first prints it."""
    how = f"--resume --run {printable(str(folder))}"
    if membership is not None and membership.is_launched:
        how += f" --devices {membership.size}"
    if membership is not None and membership.rank:
        if work().stopped == "interrupted":
            raise typer.Exit(130)
        return
    try:
        outcome = work()
    except KeyboardInterrupt:  # before the loop could handle it
        if is_planned and not (folder / "config.yaml").is_file():
            typer.echo("clearhead: interrupted before the plan was complete. Start the same command again.", err=True)
            raise typer.Exit(130) from None
        _stop(how)
    if as_json:
        print_json({"run": str(folder), **outcome.to_data()})
    else:
        _show(outcome, folder)
    if outcome.stopped == "interrupted":
        _stop(how)


def _train_seeds(settings: "RunConfig", folder: Path, seeds: int, resume: bool, as_json: bool) -> None:
    from clearhead.model.device import keep_freed_memory
    from clearhead.training.seeds import train_seeds

    keep_freed_memory()
    how = f"CONFIG --resume --run {printable(str(folder))} --seeds {seeds}"
    try:
        report = train_seeds(settings, folder, seeds, resume=resume)
    except KeyboardInterrupt:
        _stop(how)
    if as_json:
        print_json({"run": str(folder), **report.to_data()})
    else:
        _show_seeds(report, folder)
    if report.is_interrupted:
        _stop(how)


def _stop(how: str) -> NoReturn:
    typer.echo(f"clearhead: interrupted. To resume: clearhead train {how}", err=True)
    raise typer.Exit(130)


def _show(outcome: "Outcome", folder: Path) -> None:
    from clearhead.training.outcome import WORDS

    typer.echo(f"{outcome.steps:,} updates in {outcome.seconds:,.1f} s: {WORDS[outcome.stopped]}.")
    for score in outcome.scores.values():
        typer.echo(f"{score.name} {score.value:.4g}  {score.signature}")
    if outcome.test_scores:
        _show_test(outcome)
    shown = printable(str(folder))
    typer.echo(f"The model, its model card and its metrics are in {shown}.")
    if outcome.test_scores:
        typer.echo(f'To use it: clearhead translate -m {shlex.quote(shown)} "{printable(outcome.samples[0].source)}"')
    for sentence in outcome.advice:
        typer.echo(f"\n{sentence}")


def _show_test(outcome: "Outcome") -> None:
    typer.echo("\nTest sentences, which were not used for training:")
    for score in outcome.test_scores.values():
        typer.echo(f"{score.name} {score.value:.4g}  {score.signature}")
    for sample in outcome.samples:
        typer.echo(f"\n  source       {printable(sample.source)}")
        typer.echo(f"  translation  {printable(sample.translation)}")
        typer.echo(f"  reference    {printable(sample.reference)}")
    typer.echo("")


def _show_seeds(report: "SeedsReport", folder: Path) -> None:
    for seed, outcome in report.outcomes.items():
        scores = ", ".join(f"{score.name} {score.value:.4g}" for score in outcome.scores.values()) or "no scores"
        typer.echo(f"seed {seed}: {outcome.steps:,} updates, {scores}")
    for spread in report.spreads.values():
        typer.echo(spread)
    typer.echo(f"The runs are in {printable(str(folder))}, with all numbers in seeds.json.")

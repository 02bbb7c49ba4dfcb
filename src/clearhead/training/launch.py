"""Start or resume a run: open its folder and reporter, run the training loop, and write the outcome and model card."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from clearhead.errors import ConfigError, RunError, printable
from clearhead.settings import shown
from clearhead.training.card import write_card
from clearhead.training.config import RunConfig
from clearhead.training.distributed.world import ALONE, World
from clearhead.training.final_test import run_test
from clearhead.training.outcome import WORDS, Outcome
from clearhead.training.plan import PlanRequest, RunPlan, make_plan
from clearhead.training.plan_report import closing_advice, plan_table, plan_yaml
from clearhead.training.plan_rule import keep_defaults
from clearhead.training.progress import Reporter
from clearhead.training.run import PLAN, RunFolder
from clearhead.training.state import checkpoints

# Settings that can change when a run is resumed. Any other change requires a new run.
_MAY_CHANGE = (
    "run",
    "training.checkpoint_every",
    "training.device",
    "training.epochs",
    "training.is_compiled",
    "training.keep_checkpoints",
    "training.log_every",
    "training.minutes",
    "training.precision",
    "training.rate",
    "training.rendezvous_seconds",
    "training.steps",
    "validation.after",
    "validation.enough",
    "validation.every",
    "validation.patience",
)


def launch(
    config: RunConfig,
    path: str | Path,
    *,
    resume: bool = False,
    console: Console | None = None,
    world: World = ALONE,
) -> Outcome:
    """Train in a new folder, or resume the run in an existing one, and write the outcome and the model card.

    All processes of a `world` call this; the first one opens the folder and writes the files.
    """
    if not world.is_first:
        return _join(RunFolder(path), world, resume=resume)
    if resume and RunFolder(path).holds_a_run:
        config = keep_defaults(config, RunFolder(path).read_config())
    with _open(config, path, resume) as folder, Reporter(folder.metrics, folder.curves, console) as reporter:
        return _train(config, folder, reporter, resume=resume, world=world)


def launch_planned(request: PlanRequest, path: str | Path, *, console: Console | None = None) -> Outcome:
    """Plan a run from its text, write the plan, and train it, all in a new folder."""
    with (
        RunFolder.create_for_plan(path) as folder,
        Reporter(folder.metrics, folder.curves, console) as reporter,
    ):
        plan = make_plan(request, folder, reporter)
        folder.write(PLAN, plan_yaml(plan).encode())
        folder.begin(plan.config)
        for line in plan_table(plan).splitlines():
            reporter.message(line)
        return _train(plan.config, folder, reporter, plan=plan)


def _train(
    config: RunConfig,
    folder: RunFolder,
    reporter: Reporter,
    *,
    resume: bool = False,
    plan: RunPlan | None = None,
    world: World = ALONE,
) -> Outcome:
    from clearhead.training.loop import train

    outcome = train(config, folder, reporter, resume, is_planned=plan is not None, world=world)
    config = folder.read_config()  # with the defaults that depend on the text
    outcome = _test(outcome, folder, config, reporter, world)
    advice = closing_advice(outcome, folder.read_data(), config.training.steps)
    warnings = () if plan is None else plan.warnings  # they were printed long before
    outcome = replace(outcome, advice=(*advice, *warnings))
    write_card(folder, config, outcome)
    folder.write_outcome(outcome)  # last, because it marks the run as ended
    return outcome


def _join(folder: RunFolder, world: World, *, resume: bool) -> Outcome:
    """Take part in a run whose files another process writes."""
    from clearhead.training.loop import join

    with Reporter(console=Console(quiet=True)) as reporter:
        outcome = join(folder, reporter, world, resume=resume)
        return _test(outcome, folder, folder.read_config(), reporter, world)


def _test(outcome: Outcome, folder: RunFolder, config: RunConfig, reporter: Reporter, world: World) -> Outcome:
    """Add the scores and samples of the test set, if there is one and the run was not interrupted."""
    if config.data.test is None or outcome.stopped == "interrupted":
        return outcome
    reporter.message("Translating the test sentences …")
    world.wait_for_all()  # the first process writes the model
    return run_test(folder, config, outcome, world)


def _open(config: RunConfig, path: str | Path, resume: bool) -> RunFolder:
    if not resume:
        return RunFolder.create(path, config)
    folder = RunFolder.reopen(path)
    with folder.closed_after_an_error():
        _check_resumed(folder, config)
        folder.write_environment(config.training.seed)
        folder.write_config(config)
        folder.forget_outcome()
    return folder


def _check_resumed(folder: RunFolder, config: RunConfig) -> None:
    """Refuse to resume a finished run, or a run with settings that cannot change."""
    place = printable(str(folder.path))
    changes = dict(changed_settings(folder.read_config(), config))
    fixed = [path for path in changes if not path.startswith(_MAY_CHANGE)]
    if fixed:
        raise ConfigError(
            [
                f"{path} was {changes[path]} when {place} was started, and cannot change when it is resumed. "
                "Start another run."
                for path in fixed
            ],
            options=("run",),
        )
    if not checkpoints(folder.checkpoints) and any(model.exists() for model in (folder.best, folder.last)):
        raise RunError(
            f"{place} contains a trained model, but no checkpoint: resuming would start from the first update and "
            "overwrite the model. Restore the folder checkpoints, or start another run.",
            options=("run",),
        )
    outcome = folder.read_outcome()
    if outcome is not None and outcome.is_finished and not (set(changes) - {"run"}):
        raise RunError(
            f"{place} is finished: {WORDS[outcome.stopped]} (update {outcome.steps:,}). To train it for longer, "
            f"resume it with {outcome.longer}.",
            options={"resume": "", "run": place, "changes": outcome.longer},
        )


def changed_settings(old: RunConfig, new: RunConfig) -> Iterator[tuple[str, str]]:
    """Yield the path and the old value of every setting that differs."""
    yield from _changed(old.model_dump(mode="json"), new.model_dump(mode="json"), "")


def _changed(old: Any, new: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {**old, **new}:
            yield from _changed(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
    elif old != new:
        yield path, shown(old)

"""Plan a run from text alone: hold out pairs, learn the vocabulary, measure this device, and choose all settings.

The plan is complete before the first update: it is a config with a number of updates, so that a resumed run measures
nothing. Its reasons are kept with it.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from clearhead.data.config import CorpusConfig
from clearhead.data.hold_out import hold_out
from clearhead.errors import ConfigError, Mistake
from clearhead.model.device import choose_device
from clearhead.training.config import RunConfig, check_run_config
from clearhead.training.config_file import change
from clearhead.training.plan_input import read_pairs
from clearhead.training.plan_measure import Speed, measure, sample_batches
from clearhead.training.plan_rule import (
    SIZES,
    Choice,
    Recipe,
    Situation,
    Size,
    choose_recipe,
    choose_schedule,
    choose_updates,
    choose_vocabulary,
    first_batch,
    is_worthwhile,
)
from clearhead.training.plan_text import text_warnings
from clearhead.training.prepare import Prepared, make_model, prepare
from clearhead.training.progress import Reporter
from clearhead.training.run import TEXTS, RunFolder
from clearhead.training.timeline import duration
from clearhead.training.warm_up import warming_up

_MEASURED = 1.0  # seconds for a size, if the time allows; twice as many for the chosen one
_MEASURED_SHARE = 0.01  # of the time, at most
# Seconds before the first update and for validations, in addition to a share of the time.
_OVERHEAD = {"cpu": (3.0, 0.08), "cuda": (10.0, 0.02)}
_MAX_OVERHEAD = 0.4  # of the time
_VALID_SENTENCES = {"cpu": 300, "cuda": 1000}
_FEW_UPDATES = 300
_CHRF_BELOW = 20_000  # pairs: with little text BLEU is near 0, and chooses a checkpoint by chance


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is made for. `started` is the time of `time.perf_counter()` from which the minutes count."""

    corpus: CorpusConfig
    minutes: float
    started: float
    changes: Sequence[str] = ()
    change_label: str = "change"

    def seconds_left(self, device: str) -> float:
        """Return the seconds for updates: the time without what has passed and without start and validations."""
        fixed, share = _OVERHEAD[device]
        total = 60 * self.minutes
        passed = time.perf_counter() - self.started
        return max(total - passed - min(fixed + share * total, _MAX_OVERHEAD * total), 0.05 * total)


@dataclass(frozen=True)
class RunPlan:
    """A plan: the config, the reason for each choice, measured figures and warnings."""

    config: RunConfig
    choices: tuple[Choice, ...]
    speed: Speed
    situation: Situation
    warnings: tuple[str, ...]

    @property
    def passes(self) -> float:
        """How often the run reads the text."""
        assert self.config.training.steps is not None
        return self.config.training.steps * self.speed.tokens_per_update / self.situation.target_tokens

    @property
    def minutes_per_pass(self) -> float:
        """Minutes for one pass over the text."""
        return self.situation.target_tokens / self.speed.tokens_per_second / 60

    @property
    def training_seconds(self) -> float:
        """Seconds of all updates together."""
        assert self.config.training.steps is not None
        return self.config.training.steps * self.speed.seconds_per_update

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "pairs": self.situation.num_pairs,
            "device": self.situation.device,
            "parameters": self.speed.num_parameters,
            "memory_bytes": self.speed.memory,
            "tokens_per_second": round(self.speed.tokens_per_second, 1),
            "minutes_per_epoch": round(self.minutes_per_pass, 4),
            "epochs": round(self.passes, 2),
            "training_seconds": round(self.training_seconds, 1),
            "choices": [
                {"name": choice.name, "value": choice.value, "reason": choice.reason, "settings": dict(choice.settings)}
                for choice in self.choices
            ],
            "warnings": list(self.warnings),
        }


def make_plan(request: PlanRequest, folder: RunFolder, reporter: Reporter) -> RunPlan:
    """Plan a run in its folder, which then contains the divided text, the vocabularies and the token stores."""
    settings: dict[str, Any] = {"run": str(folder.path), "preset": "tiny"}
    settings["data"] = {"train": [request.corpus.model_dump(exclude_none=True)], "deduplicate": True}
    settings["data"]["valid"] = {"built_in": "phrasebook"}  # a placeholder, until the text is divided
    settings["training"] = {"steps": 1}
    config = _config(settings, request)
    device = choose_device(config.training.device)
    warnings = _divide_text(config, settings, folder, reporter)
    vocabulary = choose_vocabulary(_num_lines(folder, "train"), device.type)
    valid = Choice(
        "validation",
        f"{min(_num_lines(folder, 'valid'), _VALID_SENTENCES[device.type]):,} sentences",
        "held out, as is the test part; they share no sentence with the training text",
        {
            "validation.max_sentences": _VALID_SENTENCES[device.type],
            "validation.metric": "chrf" if _num_lines(folder, "train") < _CHRF_BELOW else "bleu",
        },
    )
    _set(settings, vocabulary, valid)
    with warming_up(device):
        prepared = prepare(_config(settings, request), folder, reporter)
    planner = _Planner(request, settings, folder, prepared, device)
    size = planner.choose_size()
    recipe, situation, speed = planner.choose_recipe(size)
    schedule = planner.choose_schedule(recipe, situation, speed)
    config = _config(settings, request)
    choices = tuple(_as_changed(choice, config) for choice in (vocabulary, *recipe.choices, *schedule, valid))
    plan = RunPlan(config, choices, speed, situation, tuple(warnings))
    return replace(plan, warnings=(*warnings, *_time_warnings(plan)))


class _Planner:
    """Measures sizes, and adds its choices to the settings."""

    def __init__(
        self,
        request: PlanRequest,
        settings: dict[str, Any],
        folder: RunFolder,
        prepared: Prepared,
        device: torch.device,
    ) -> None:
        self._request, self._settings, self._folder = request, settings, folder
        self._prepared, self._device = prepared, device
        self._seconds = min(_MEASURED, _MEASURED_SHARE * 60 * request.minutes)

    def choose_size(self) -> tuple[Size, Speed]:
        """Measure sizes from the smallest on, and return the last one that can be trained enough."""
        batch_tokens = first_batch(self._situation())
        chosen: tuple[Size, Speed] | None = None
        is_fixed = any(text.startswith("model.d_model") for text in self._request.changes)
        for size in SIZES[:1] if is_fixed else SIZES:
            changes = {f"model.{name}": getattr(size, name) for name in Size.__dataclass_fields__}
            _set(self._settings, Choice("", "", "", {**changes, "training.batch_tokens": batch_tokens}))
            speed = self._measure(self._seconds)
            if chosen is not None and not is_worthwhile(size, self._situation(), speed.tokens_per_second):
                break
            chosen = size, speed
        assert chosen is not None
        return chosen

    def choose_recipe(self, chosen: tuple[Size, Speed]) -> tuple[Recipe, Situation, Speed]:
        """Choose batches and regularisation, and measure the speed of the resulting updates."""
        size, speed = chosen
        recipe = choose_recipe(size, self._situation(), speed.tokens_per_second)
        _set(self._settings, *recipe.choices)
        speed = self._measure(2 * self._seconds)
        config = _config(self._settings, self._request)  # with the changes of the user
        size = replace(size, d_model=config.model["d_model"])
        recipe = replace(recipe, size=size, batch_tokens=config.training.tokens_per_batch)
        return recipe, self._situation(), speed

    def choose_schedule(self, recipe: Recipe, situation: Situation, speed: Speed) -> tuple[Choice, ...]:
        """Choose the number of updates, and all that follows from it."""
        has_r_drop = _config(self._settings, self._request).training.r_drop > 0
        most_passes = recipe.most_passes if has_r_drop else math.inf
        updates = choose_updates(most_passes, situation, speed.seconds_per_update, speed.tokens_per_update)
        passes = updates * speed.tokens_per_update / situation.target_tokens
        choices = choose_schedule(recipe, updates, passes)
        every = -(-updates // 8) if updates >= _FEW_UPDATES else updates
        figures = {
            "training.is_compiled": False,  # compiling takes longer than it saves in a run of minutes
            "training.log_every": max(1, min(50, updates // 20)),
            "training.checkpoint_every": max(1, updates // 4),
            "validation.every": every,
            "validation.after": updates // 2,
        }
        _set(self._settings, *choices, Choice("", "", "", figures))
        return choices

    def _situation(self) -> Situation:
        train = self._prepared.train
        source, target = int(train.source.lengths.sum()), int(train.target.lengths.sum())
        device = self._device.type
        return Situation(len(train), source, target, self._request.seconds_left(device), device)

    def _measure(self, seconds: float) -> Speed:
        config = _config(self._settings, self._request)
        batches = sample_batches(self._prepared.train, self._prepared.vocabularies, config.training.tokens_per_batch)
        model = make_model(config, self._prepared.vocabularies, self._folder)
        return measure(model, batches, config, self._device, seconds)


def _divide_text(config: RunConfig, settings: dict[str, Any], folder: RunFolder, reporter: Reporter) -> Sequence[str]:
    """Read the pairs, write the training, validation and test parts to files, and return warnings about the text."""
    pairs = read_pairs(config.data.train[0], config.data)
    split = hold_out(pairs, config.training.seed)
    for name in ("train", "valid", "test"):
        indices = getattr(split, name)
        for side, ending in enumerate(("source", "target")):
            text = "".join(f"{pairs[index][side]}\n" for index in indices)
            folder.write(f"{TEXTS}/{name}.{ending}", text.encode())
        place = (folder.path / TEXTS / name).as_posix()
        corpus = {"source": f"{place}.source", "target": f"{place}.target"}
        settings["data"][name] = [corpus] if name == "train" else corpus
    reporter.message(
        f"{len(pairs):,} pairs: {len(split.train):,} for training, {len(split.valid):,} for validation, "
        f"{len(split.test):,} for the test."
    )
    return list(text_warnings(pairs))


def _time_warnings(plan: RunPlan) -> Sequence[str]:
    warnings = []
    if plan.passes < 1:
        warnings.append(
            f"The time is too short for this text: the model will read only {100 * plan.passes:.0f} % of it. One epoch "
            f"takes {duration(60 * plan.minutes_per_pass)} on this device; allow the time of three or more."
        )
    elif plan.config.training.steps is not None and plan.config.training.steps < _FEW_UPDATES:
        warnings.append(
            f"The time is too short: {plan.config.training.steps:,} updates are hardly enough to learn common words."
        )
    return warnings


def _num_lines(folder: RunFolder, name: str) -> int:
    return (folder.path / TEXTS / f"{name}.source").read_bytes().count(b"\n")


def _as_changed(choice: Choice, config: RunConfig) -> Choice:
    """Return a choice as it is in the config, if the user has changed it."""
    data = config.model_dump()
    actual = {path: data[path.partition(".")[0]][path.partition(".")[2]] for path in choice.settings}
    changed = [path for path, value in choice.settings.items() if actual[path] != value]
    if not changed:
        return choice
    value = ", ".join(f"{path.partition('.')[2]} {actual[path]}" for path in changed)
    return Choice(choice.name, value, "your setting", actual)


def _set(settings: dict[str, Any], *choices: Choice) -> None:
    """Add the settings of some choices."""
    for choice in choices:
        for path, value in choice.settings.items():
            group, _, name = path.rpartition(".")
            settings.setdefault(group, {})[name] = value


def _config(settings: Mapping[str, Any], request: PlanRequest) -> RunConfig:
    """Return the config of the settings with the changes of the user, or raise ConfigError."""
    data = {name: dict(value) if isinstance(value, dict) else value for name, value in settings.items()}
    label = request.change_label
    located: list[Mistake] = []
    for text in request.changes:
        try:
            change(data, text)
        except ConfigError as wrong:
            located += wrong.located(f"{label} {text}").details
    config, mistakes = check_run_config(data)
    located += [Mistake(mistake.paths, f"{label}: {mistake.sentence}") for mistake in mistakes]
    if located or config is None:
        raise ConfigError(located)
    return config

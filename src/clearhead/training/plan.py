"""Plan a run from text alone: hold out pairs, learn the vocabulary, measure this device, and choose all settings.

The plan is complete before the first update: it is a config with a number of updates, so that a resumed run measures
nothing. Its reasons are kept with it.
"""

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any

import torch

from clearhead.data.batches import TokenBatch
from clearhead.data.config import CorpusConfig
from clearhead.data.hold_out import Split, TextPair, hold_out
from clearhead.errors import ConfigError, DataError, Mistake
from clearhead.model.device import choose_device
from clearhead.training.config import RunConfig, apply_changes, check_run_config
from clearhead.training.plan_input import read_pairs
from clearhead.training.plan_measure import Forecast, Speed, measure, sample_batches
from clearhead.training.plan_report import text_warnings
from clearhead.training.plan_rule import (
    FIRST_SIZE,
    SIZES,
    Choice,
    Recipe,
    Situation,
    Size,
    choose_recipe,
    choose_sample,
    choose_schedule,
    choose_updates,
    choose_vocabulary,
    first_batch,
    is_worthwhile,
    possible_sizes,
    usable_pairs,
)
from clearhead.training.prepare import Prepared, collection_paused, learn_vocabularies, make_model, prepare, warming_up
from clearhead.training.progress import Reporter
from clearhead.training.run import TEXTS, RunFolder
from clearhead.training.timeline import duration

_MEASURED = 1.0  # seconds for a size, if the time allows; twice as many for the chosen one
_MEASURED_SHARE = {"cpu": 0.01, "cuda": 0.004}  # of the time, at most
# Seconds before the first update and for validations, in addition to a share of the time.
_OVERHEAD = {"cpu": (3.0, 0.08), "cuda": (7.0, 0.02)}
_MAX_OVERHEAD = 0.4  # of the time
_VALID_SENTENCES = {"cpu": 300, "cuda": 1000}
_FEW_UPDATES = 300
_USEFUL_EPOCHS = 5  # fewer give a poor translator
_CHRF_BELOW = 20_000  # pairs: with little text BLEU is near 0, and chooses a checkpoint by chance
_PARTS = ("train", "valid", "test")
_ENDINGS = ("source", "target")


@dataclass(frozen=True)
class DividedText:
    """The pairs of a text and their parts. `num_read` is the number of pairs before a sample of them was taken."""

    pairs: Sequence[TextPair]
    split: Split
    num_read: int
    warnings: tuple[str, ...]

    @property
    def is_sample(self) -> bool:
        """Whether the text has more pairs than can be used in the time."""
        return len(self.pairs) < self.num_read

    @property
    def train(self) -> list[TextPair]:
        """The training pairs."""
        return [self.pairs[index] for index in self.split.train]

    @property
    def characters_per_sentence(self) -> float:
        """The mean length of a sentence, on both sides."""
        return _num_characters(self.pairs) / (2 * len(self.pairs))

    def __str__(self) -> str:
        """Describe how many pairs each part has."""
        sample = f", of which {len(self.pairs):,} are used" if self.is_sample else ""
        return (
            f"{self.num_read:,} pairs{sample}: {len(self.split.train):,} for training, {len(self.split.valid):,} for "
            f"validation, {len(self.split.test):,} for the test."
        )

    def corpora(self, folder: RunFolder) -> dict[str, Any]:
        """Return the settings of `data` for the files that `write` writes."""
        place = (folder.path / TEXTS).as_posix()
        parts = {name: {ending: f"{place}/{name}.{ending}" for ending in _ENDINGS} for name in _PARTS}
        return {**parts, "train": [parts["train"]]}

    def write(self, folder: RunFolder) -> None:
        """Write the parts to files."""
        for name in _PARTS:
            indices: Sequence[int] = getattr(self.split, name)
            for side, ending in enumerate(_ENDINGS):
                text = "".join(f"{self.pairs[index][side]}\n" for index in indices)
                folder.write(f"{TEXTS}/{name}.{ending}", text.encode())


def divide_text(config: RunConfig, seconds: float, device: str, *, is_strict: bool = False) -> DividedText:
    """Read the training text of a config, as much of it as can be used in the time, and hold out two parts.

    With `is_strict`, a text that certainly gives no translator is a DataError.
    """
    pairs = read_pairs(config.data.train[0], config.data)
    text_problems, num_read = list(text_warnings(pairs)), len(pairs)
    for problem in text_problems:
        if is_strict and problem.is_certain:
            raise DataError(f"{problem.sentence} To train on this text nevertheless, force it.", options=("force",))
    warnings = tuple(problem.sentence for problem in text_problems)
    limit = usable_pairs(num_read, _num_characters(pairs), seconds, device)
    if limit < num_read:
        indices = sorted(Random(config.training.seed).sample(range(num_read), limit))
        pairs = [pairs[index] for index in indices]
    return DividedText(pairs, hold_out(pairs, config.training.seed), num_read, warnings)


def _num_characters(pairs: Sequence[TextPair]) -> int:
    return sum(len(source) + len(target) for source, target in pairs)


@dataclass(frozen=True)
class PlanRequest:
    """What a plan is made for. `started` is the time of `time.perf_counter()` from which the minutes count.

    With `is_strict`, a text that certainly gives no translator is an error instead of a warning.
    """

    corpus: CorpusConfig
    minutes: float
    started: float
    changes: Sequence[str] = ()
    change_label: str = "change"
    is_strict: bool = False

    def seconds_left(self, device: str) -> float:
        """Return the seconds for updates: the time without what has passed and without start and validations."""
        fixed, share = _OVERHEAD[device]
        total = 60 * self.minutes
        passed = time.perf_counter() - self.started
        return max(total - passed - min(fixed + share * total, _MAX_OVERHEAD * total), 0.05 * total)


@dataclass(frozen=True)
class RunPlan(Forecast):
    """A plan: a forecast, and the reason for each choice."""

    choices: tuple[Choice, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {**super().to_data(), "choices": [asdict(choice) for choice in self.choices]}


def make_plan(request: PlanRequest, folder: RunFolder, reporter: Reporter) -> RunPlan:
    """Plan a run in its folder, which then contains the divided text, the vocabularies and the token stores."""
    settings: dict[str, Any] = {"run": str(folder.path), "preset": "tiny"}
    settings["data"] = {"train": [request.corpus.model_dump(exclude_none=True)], "deduplicate": True}
    settings["data"]["valid"] = {"built_in": "phrasebook"}  # a placeholder, until the text is divided
    settings["training"] = {"steps": 1}
    config = _config(settings, request)
    device = choose_device(config.training.device)
    with collection_paused():
        text = divide_text(config, 60 * request.minutes, device.type, is_strict=request.is_strict)
    reporter.message(str(text))
    vocabulary, valid = _vocabulary_choices(text, config, request, device), _validation_choice(text, device)
    _set(settings, *(choice.settings for choice in (*vocabulary, valid)))
    with warming_up(device), collection_paused():
        _write_and_learn(text, _config(settings, request), folder, reporter)
        # duplicates were removed when the text was divided
        settings["data"] |= {**text.corpora(folder), "deduplicate": False}
        prepared = prepare(_config(settings, request), folder, reporter)
    planner = _Planner(request, settings, folder, prepared, device)
    size = planner.choose_size()
    recipe, situation, speed = planner.choose_recipe(size)
    schedule = planner.choose_schedule(recipe, situation, speed)
    config = _config(settings, request)
    choices = tuple(_as_changed(choice, config) for choice in (*vocabulary, *recipe.choices, *schedule, valid))
    batches_per_epoch = situation.target_tokens / speed.tokens_per_update
    plan = RunPlan(config, device.type, situation.num_pairs, batches_per_epoch, speed, choices=choices)
    return replace(plan, warnings=(*text.warnings, *_time_warnings(plan, text)))


def _vocabulary_choices(
    text: DividedText, config: RunConfig, request: PlanRequest, device: torch.device
) -> tuple[Choice, ...]:
    """Choose the text that is used, the number of pieces, and from how many sentences they are learned."""
    choices = [choose_vocabulary(len(text.split.train), device.type)]
    if text.is_sample:
        reason = "a random sample: more cannot be prepared and read in the time"
        choices.insert(0, Choice("text", f"{len(text.pairs):,} of {text.num_read:,} pairs", reason, {}))
    most = config.text.max_sentences
    sample = choose_sample(len(text.split.train), text.characters_per_sentence, 60 * request.minutes, most)
    return tuple(choices) if sample is None else (*choices, sample)


def _validation_choice(text: DividedText, device: torch.device) -> Choice:
    most = _VALID_SENTENCES[device.type]
    return Choice(
        "validation",
        f"{min(len(text.split.valid), most):,} sentences",
        "held out, as is the test part; they share no sentence with the training text",
        {
            "validation.max_sentences": most,
            "validation.metric": "chrf" if len(text.split.train) < _CHRF_BELOW else "bleu",
        },
    )


def _write_and_learn(text: DividedText, config: RunConfig, folder: RunFolder, reporter: Reporter) -> None:
    """Write the divided text to files while the vocabulary is learned, which needs no interpreter for most of its time.

    The pairs in memory are those that would be read from the files, so the vocabulary is the same.
    """
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(text.write, folder)
        if config.text.tokeniser is None and config.training.init_from is None:
            learn_vocabularies(config, text.train, folder, reporter)
        writing.result()


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
        self._seconds = min(_MEASURED, _MEASURED_SHARE[device.type] * 60 * request.minutes)
        self._batches: dict[int, list[TokenBatch]] = {}  # by batch size

    def choose_size(self) -> tuple[Size, Speed]:
        """Measure some sizes, and return the largest one that can be trained enough."""
        if self._is_changed("model.d_model"):
            return SIZES[0], self._measure_size(SIZES[0])
        sizes = possible_sizes(len(self._prepared.train))
        first = index = min(FIRST_SIZE[self._device.type], len(sizes) - 1)
        speed = self._measure_size(sizes[index])
        while index > 0 and not self._is_worthwhile(sizes[index], speed):
            index -= 1
            speed = self._measure_size(sizes[index])
        if index < first:
            return sizes[index], speed
        for size in sizes[index + 1 :]:
            if not self._is_worthwhile(size, speed):  # even if it were as fast as the smaller one
                break
            larger = self._measure_size(size)
            if not self._is_worthwhile(size, larger):
                break
            index, speed = index + 1, larger
        return sizes[index], speed

    def _is_worthwhile(self, size: Size, speed: Speed) -> bool:
        return is_worthwhile(size, self._situation(), speed.tokens_per_second)

    def _measure_size(self, size: Size) -> Speed:
        _set(self._settings, size.settings, {"training.batch_tokens": first_batch(self._situation())})
        return self._measure(self._seconds)

    def _is_changed(self, path: str) -> bool:
        """Whether the user has set a setting."""
        return any(text.partition("=")[0].strip() == path for text in self._request.changes)

    def choose_recipe(self, chosen: tuple[Size, Speed]) -> tuple[Recipe, Situation, Speed]:
        """Choose batches and regularisation, and measure the speed of the resulting updates."""
        size, speed = chosen
        recipe = choose_recipe(size, self._situation(), speed.tokens_per_second)
        _set(self._settings, *(choice.settings for choice in recipe.choices))
        speed = self._measure(2 * self._seconds)
        config = _config(self._settings, self._request)  # with the changes of the user
        size = replace(size, d_model=config.model["d_model"])
        recipe = replace(recipe, size=size, batch_tokens=config.training.tokens_per_batch)
        return recipe, self._situation(), speed

    def choose_schedule(self, recipe: Recipe, situation: Situation, speed: Speed) -> tuple[Choice, ...]:
        """Choose the number of updates, and all that follows from it."""
        training = _config(self._settings, self._request).training
        most_epochs = recipe.most_epochs if training.r_drop > 0 else math.inf
        updates = choose_updates(most_epochs, situation, speed.seconds_per_update, speed.tokens_per_update)
        if training.steps is not None and self._is_changed("training.steps"):
            updates = training.steps
        epochs = updates * speed.tokens_per_update / situation.target_tokens
        choices = choose_schedule(recipe, updates, epochs)
        every = -(-updates // 8) if updates >= _FEW_UPDATES else updates
        figures = {
            "training.is_compiled": False,  # compiling takes longer than it saves in a run of minutes
            "training.log_every": max(1, min(50, updates // 20)),
            "training.checkpoint_every": max(1, updates // 4),
            "validation.every": every,
            "validation.after": updates // 2,
        }
        _set(self._settings, *(choice.settings for choice in choices), figures)
        return choices

    def _situation(self) -> Situation:
        train = self._prepared.train
        source, target = int(train.source.lengths.sum()), int(train.target.lengths.sum())
        device = self._device.type
        return Situation(len(train), source, target, self._request.seconds_left(device), device)

    def _measure(self, seconds: float) -> Speed:
        config = _config(self._settings, self._request)
        size, vocabularies = config.training.tokens_per_batch, self._prepared.vocabularies
        if size not in self._batches:
            self._batches[size] = sample_batches(self._prepared.train, vocabularies, size)
        model = make_model(config, vocabularies, self._folder)
        return measure(model, self._batches[size], config, self._device, seconds)


def _time_warnings(plan: RunPlan, text: DividedText) -> Sequence[str]:
    warnings = []
    if plan.epochs < 1:
        share = 100 * plan.epochs * len(text.pairs) / text.num_read
        epoch_time = duration(plan.epoch_seconds)
        warnings.append(
            f"The time is too short for this text: the model will read only {share:.2g} % of it. One epoch "
            f"{'of the sample ' if text.is_sample else ''}takes {epoch_time} on this device; "
            "allow the time of three or more."
        )
    elif plan.updates < _FEW_UPDATES:
        warnings.append(f"The time is too short: {plan.updates:,} updates are hardly enough to learn common words.")
    elif plan.epochs < _USEFUL_EPOCHS:
        minutes = 1 + _USEFUL_EPOCHS * plan.epoch_seconds / 60  # one for everything else
        warnings.append(
            f"The time is short for this text: {plan.epochs:.1f} epochs give a poor translator. Allow "
            f"{_USEFUL_EPOCHS} or more, which take about {minutes:.0f} minutes on this device."
        )
    return warnings


def _as_changed(choice: Choice, config: RunConfig) -> Choice:
    """Return a choice as it is in the config, if the user has changed it."""
    data = config.model_dump()
    actual = {path: data[path.partition(".")[0]][path.partition(".")[2]] for path in choice.settings}
    changed = [path for path, value in choice.settings.items() if actual[path] != value]
    if not changed:
        return choice
    value = ", ".join(f"{path.partition('.')[2]} {actual[path]}" for path in changed)
    return Choice(choice.name, value, "your setting", actual)


def _set(settings: dict[str, Any], *changes: Mapping[str, Any]) -> None:
    """Add settings that are named by their paths."""
    for change in changes:
        for path, value in change.items():
            group, _, name = path.rpartition(".")
            settings.setdefault(group, {})[name] = value


def _config(settings: Mapping[str, Any], request: PlanRequest) -> RunConfig:
    """Return the config of the settings with the changes of the user, or raise ConfigError."""
    data = {name: dict(value) if isinstance(value, dict) else value for name, value in settings.items()}
    label = request.change_label
    _, located = apply_changes(data, request.changes, label)
    config, mistakes = check_run_config(data)
    located += [Mistake(mistake.paths, f"{label}: {mistake.sentence}") for mistake in mistakes]
    if located or config is None:
        raise ConfigError(located)
    return config

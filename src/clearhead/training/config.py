"""The settings of a training config, composed of the settings of model, data, text, training and validation.

A config is read from a file and from changes to it. All errors in both are reported together.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field

from clearhead.data.config import DataConfig
from clearhead.errors import ConfigError, Mistake, printable
from clearhead.settings import Settings, examine
from clearhead.text.config import Task, TextConfig
from clearhead.training.config_file import change, read_yaml

Metric = Literal["loss", "bleu", "chrf", "exact", "accuracy"]
Share = Annotated[float, Field(ge=0, lt=1)]
MOST_UPDATES = 10**9  # of a run, and between two events of it
_METRICS: Mapping[str, Metric] = {"translate": "bleu", "classify": "accuracy", "language-model": "loss"}


Number = TypeVar("Number", int, float)


def _chosen(name: str, value: Number | None) -> Number:
    """Return a setting whose default depends on the run."""
    assert value is not None, f"training.{name} has not been chosen yet: call fill_defaults"
    return value


class TrainingConfig(Settings):
    """How the model is trained: the settings of `training:`."""

    retired: ClassVar[dict[str, Any]] = {"parallel": "ddp", "on_divergence": "stop"}
    seed: int = Field(1, ge=0, lt=2**31, description="seed of all random numbers")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU if there is one")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="precision of matrix products; auto: bfloat16 autocast on a GPU, float32 on a CPU"
    )
    is_deterministic: bool = Field(
        False, description="use only deterministic kernels on a GPU, which are slower (a CPU is always deterministic)"
    )
    is_compiled: bool | None = Field(
        None, description="use torch.compile: a slower start (about 30 s), then faster updates; default: only on a GPU"
    )
    rendezvous_seconds: float = Field(
        120.0, ge=1, le=86_400, description="with several processes: how long to wait until all of them have started"
    )
    batching: Literal["auto", "packed", "bucketed"] = Field(
        "auto",
        description="packed: several sentences per row, one shape; bucketed: one sentence per row, up to 8 shapes",
    )
    batch_tokens: int | None = Field(
        None,
        ge=16,
        le=2**24,
        description="target tokens per batch, including padding; default: at most 4096 with `steps` and 8192 with "
        "`epochs`, less for little text",
    )
    accumulate: int = Field(1, ge=1, le=4096, description="number of batches whose gradients are added for each update")
    steps: int | None = Field(
        None, ge=1, le=MOST_UPDATES, description="length of the training in updates (set this or epochs)"
    )
    epochs: float | None = Field(
        None, gt=0, le=10**6, description="length of the training in epochs (set this or steps)"
    )
    minutes: float | None = Field(
        None,
        gt=0,
        description="stop when this number of minutes is over and the current update is complete; a resumed run counts "
        "from 0 again",
    )
    optimiser: Literal["adamw", "muon"] = Field(
        "adamw", description="adamw; or muon for the weight matrices of the layers and adamw for the rest"
    )
    rate: float | None = Field(
        None,
        gt=0,
        le=1000,
        description="peak learning rate; default: by width and batch size (translate), 0.001 (other tasks), 0.0001 "
        "with `init_from`",
    )
    betas: tuple[Share, Share] = Field(
        (0.9, 0.98), description="AdamW's decay rates for the averages of the gradient and its square"
    )
    epsilon: float = Field(1e-9, gt=0, le=1, description="added to AdamW's denominator")
    weight_decay: float = Field(
        0.01, ge=0, description="weight decay of matrices (never of biases, norms and embeddings)"
    )
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        "inverse_sqrt", description="how the learning rate falls after the warm-up"
    )
    warm_up: int | None = Field(
        None,
        ge=0,
        le=MOST_UPDATES,
        description="number of updates in which the learning rate rises to its peak; default: an eighth of the run, at "
        "most 1000",
    )
    final_rate: float = Field(
        0.0, ge=0, le=1, description="final learning rate of cosine and linear, as a share of the peak"
    )
    clip: float | None = Field(1.0, gt=0, description="largest norm of the gradient; larger gradients are scaled down")
    label_smoothing: float = Field(
        0.1, ge=0, lt=1, description="share of the target probability that is spread evenly over all tokens"
    )
    r_drop: float = Field(
        0.0,
        ge=0,
        description="R-Drop: weight of the divergence between two passes with different dropout (twice the work)",
    )
    average: Literal["none", "ema", "last"] = Field(
        "none",
        description="validate and save averaged weights: an exponential moving average, or the last checkpoints",
    )
    ema_decay: float = Field(0.999, gt=0, lt=1, description="decay of the exponential moving average (`average: ema`)")
    average_last: int = Field(5, ge=2, le=1000, description="number of checkpoints to average with `average: last`")
    max_rise: float = Field(
        3.0, gt=0, description="rise of the mean loss above its minimum, in nats, that counts as exploding"
    )
    init_from: str | None = Field(
        None, description="start from the weights of a run folder, a checkpoint or an OPUS-MT folder"
    )
    checkpoint_every: int = Field(500, ge=1, le=MOST_UPDATES, description="number of updates between checkpoints")
    keep_checkpoints: int = Field(2, ge=1, le=MOST_UPDATES, description="number of checkpoints to keep")
    log_every: int = Field(50, ge=1, le=10**6, description="number of updates between log lines")

    @property
    def peak_rate(self) -> float:
        """The peak learning rate, after `fill_defaults`."""
        return _chosen("rate", self.rate)

    @property
    def warm_up_steps(self) -> int:
        """The number of updates of the warm-up, after `fill_defaults`."""
        return _chosen("warm_up", self.warm_up)

    @property
    def tokens_per_batch(self) -> int:
        """The target tokens of a batch, after `fill_defaults`."""
        return _chosen("batch_tokens", self.batch_tokens)


class ValidationConfig(Settings):
    """How often and by which metric the model is validated: the settings of `validation:`."""

    every: int = Field(500, ge=1, le=MOST_UPDATES, description="number of updates between validations")
    after: int = Field(
        0, ge=0, le=MOST_UPDATES, description="no validation before this update, except at the end of the run"
    )
    metric: Metric | None = Field(
        None,
        description="metric by which the best model is chosen; "
        "default: bleu (translate), accuracy (classify), loss (language-model)",
    )
    patience: int | None = Field(
        None, ge=1, le=MOST_UPDATES, description="stop after this number of validations without improvement"
    )
    enough: float | None = Field(None, description="stop as soon as the metric reaches this value")
    max_sentences: int | None = Field(
        None, ge=1, description="use only this number of validation sentences: the first ones of data.valid"
    )
    max_ratio: float = Field(
        2.0, gt=0, le=1000, description="maximum length of a translation, in tokens per source token"
    )


class RunConfig(Settings):
    """A complete training config."""

    retired: ClassVar[Mapping[str, Any]] = {"pinned": []}
    run: str | None = Field(
        None,
        description="run folder, relative to the current folder; default: runs/NAME for a config NAME.yaml",
    )
    task: Task = Field("translate", description="what the model learns")
    preset: str = Field("tiny", description="size of the model; the settings in `model` override it")
    model: dict[str, Any] = Field(default_factory=dict, description="settings that override the preset")
    data: DataConfig = Field(description="training and validation data")
    text: TextConfig = TextConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()

    @property
    def metric(self) -> Metric:
        """The metric that chooses the best model."""
        return self.validation.metric or _METRICS[self.task]


# Stand-ins for a missing or invalid corpus, so that the other errors of a config are found too.
_STAND_INS: Mapping[str, Any] = {
    "data": {"train": [{"built_in": "copy"}]},
    "data.train": [{"built_in": "copy"}],
    "data.valid": {"built_in": "copy"},
    "data.test": {"built_in": "copy"},
}


def load_run_config(
    path: str | Path, changes: Sequence[str] = (), *, check_files: bool = True, change_label: str = "change"
) -> RunConfig:
    """Read a config from a YAML file and apply changes such as `training.rate=3e-4`; report all errors together.

    `run` gets its default. Files named in the config must exist, unless `check_files` is False. The message of an error
    in a change starts with `change_label` and the change.
    """
    path = Path(path)
    data = dict(read_yaml(path))
    in_file = set(data)
    changed, located = apply_changes(data, changes, change_label)
    _replace_length(data, changed)
    config, mistakes = check_run_config(data, check_files=check_files)
    for mistake in mistakes:
        own_changes = [text for changed_path, text in changed.items() if _is_of(mistake, changed_path, in_file)]
        place = f"{change_label} {own_changes[0]}" if own_changes else str(path)
        located.append(Mistake(mistake.paths, f"{place}: {mistake.sentence}"))
    if located or config is None:
        raise ConfigError([Mistake(mistake.paths, printable(mistake.sentence)) for mistake in located])
    return config if config.run else config.model_copy(update={"run": f"runs/{path.stem}"})


def apply_changes(data: dict[str, Any], changes: Sequence[str], label: str) -> tuple[dict[str, str], list[Mistake]]:
    """Apply changes such as `training.rate=3e-4` to the data; return them by path, and the errors in others."""
    changed: dict[str, str] = {}
    located: list[Mistake] = []
    for text in changes:
        try:
            changed[change(data, text)] = text
        except ConfigError as wrong:
            located += wrong.located(f"{label} {text}").details
    return changed, located


def _replace_length(data: dict[str, Any], changed: Collection[str]) -> None:
    """Let a change of steps replace the epochs of the file, and the other way round."""
    training = data.get("training")
    for name, other in (("steps", "epochs"), ("epochs", "steps")):
        is_replaced = f"training.{name}" in changed and f"training.{other}" not in changed
        if is_replaced and isinstance(training, dict) and training.get(name) is not None:
            training.pop(other, None)


def check_run_config(
    data: Mapping[str, Any], *, check_files: bool = True
) -> tuple[RunConfig | None, tuple[Mistake, ...]]:
    """Return the config as far as it is valid, and all errors in its settings and in the files that it names."""
    from clearhead.training.config_checks import file_mistakes, model_mistakes, setting_mistakes

    reading = examine(RunConfig, data, stand_ins=_STAND_INS)
    config, mistakes = reading.value, list(reading.mistakes)
    if config is not None:
        more = [*model_mistakes(config), *setting_mistakes(config)]
        more += file_mistakes(config) if check_files else []
        # Invalid settings were replaced by their defaults: skip errors that only result from those defaults.
        mistakes += [mistake for mistake in more if not any(_follows(mistake, path) for path in reading.blamed)]
    return config, tuple(mistakes)


def _follows(mistake: Mistake, blamed: str) -> bool:
    """Whether an error may only result from another one, at a path that it concerns or that is in its group."""
    return mistake.concerns(blamed) or blamed.startswith(f"{mistake.path}.")


def _is_of(mistake: Mistake, changed: str, in_file: Collection[str]) -> bool:
    """Whether an error comes from a change on the command line and not from the file."""
    top = changed.partition(".")[0]
    return f"{mistake.path}.".startswith(f"{changed}.") or (mistake.path == top and top not in in_file)

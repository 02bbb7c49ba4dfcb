"""What a run is: the settings of a training config, put together from every room's own.

A config is read from a file and from changes; every mistake in both is told at once, and nothing else is asked.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from clearhead.data.config import DataConfig
from clearhead.errors import ConfigError, Mistake, printable
from clearhead.settings import Settings, examine
from clearhead.text.config import TextConfig
from clearhead.training.config_file import change, read_yaml

Metric = Literal["loss", "bleu", "chrf", "exact", "accuracy"]
Share = Annotated[float, Field(ge=0, lt=1)]
_METRICS: Mapping[str, Metric] = {"translate": "bleu", "classify": "accuracy", "language-model": "loss"}


class TrainingConfig(Settings):
    """How the weights are learned: the settings of `training:`."""

    seed: int = Field(1, ge=0, lt=2**31, description="where every random number starts")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto takes a GPU if there is one")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="of matrix products; auto is bfloat16 autocast on a GPU, float32 on a CPU"
    )
    is_deterministic: bool = Field(
        False, description="on a GPU, only kernels that give the same numbers every time; slower (a CPU's always do)"
    )
    is_compiled: bool | None = Field(
        None, description="torch.compile: half a minute first, then quicker; if left out: on a GPU only"
    )
    batching: Literal["auto", "packed", "bucketed"] = Field(
        "auto",
        description="packed: several sentences in a row, one shape; bucketed: one sentence a row, up to 8 shapes",
    )
    batch_tokens: int = Field(4096, ge=16, le=2**24, description="target tokens in one batch, padding included")
    accumulate: int = Field(1, ge=1, description="batches whose gradients are added before each update")
    steps: int | None = Field(None, ge=1, description="updates to make (or say epochs)")
    epochs: float | None = Field(None, gt=0, description="times to read the data (or say steps)")
    minutes: float | None = Field(
        None, gt=0, description="stop after so long, if nothing else has; a resumed run goes on for as long again"
    )
    optimiser: Literal["adamw", "muon"] = Field(
        "adamw", description="adamw; or muon for the matrices of the blocks, with adamw for the rest"
    )
    rate: float = Field(1e-3, gt=0, description="the highest learning rate")
    betas: tuple[Share, Share] = Field((0.9, 0.98), description="AdamW's memories of the gradient and of its square")
    epsilon: float = Field(1e-9, gt=0, description="added to AdamW's denominator")
    weight_decay: float = Field(0.01, ge=0, description="pulls matrices towards 0 (never biases, norms, embeddings)")
    schedule: Literal["inverse_sqrt", "cosine", "linear", "constant"] = Field(
        "inverse_sqrt", description="how the rate falls after the warm-up"
    )
    warm_up: int = Field(400, ge=0, description="updates over which the rate climbs to its highest")
    final_rate: float = Field(0.0, ge=0, le=1, description="share of the rate that cosine and linear end with")
    clip: float | None = Field(1.0, gt=0, description="longest gradient; longer ones are shortened")
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="probability spread evenly over all tokens")
    r_drop: float = Field(
        0.0,
        ge=0,
        description="R-Drop: weight of the disagreement between two passes with other dropout (twice the work)",
    )
    average: Literal["none", "ema", "last"] = Field(
        "none", description="validate and keep an average of weights: exponential, or of the last checkpoints"
    )
    ema_decay: float = Field(0.999, gt=0, lt=1, description="share of the old average that ema keeps at each update")
    average_last: int = Field(5, ge=2, description="checkpoints that last averages")
    on_divergence: Literal["stop", "roll_back"] = Field(
        "stop", description="NaN or an exploding loss: stop, or go back to the last checkpoint with half the rate"
    )
    max_rise: float = Field(
        3.0, gt=0, description="nats that the mean loss may rise above its lowest before it counts as exploding"
    )
    init_from: str | None = Field(None, description="start from the weights of a run folder or an OPUS-MT folder")
    checkpoint_every: int = Field(500, ge=1, description="updates between two checkpoints")
    keep_checkpoints: int = Field(2, ge=1, description="how many of the last checkpoints are kept")
    log_every: int = Field(50, ge=1, description="updates between two lines of metrics")


class ValidationConfig(Settings):
    """When and by what training is judged: the settings of `validation:`."""

    every: int = Field(500, ge=1, description="updates between two validations")
    after: int = Field(0, ge=0, description="no validation before this update, but for the last")
    metric: Metric | None = Field(
        None, description="what is compared; if left out: bleu (translate), accuracy (classify), loss (language-model)"
    )
    patience: int | None = Field(None, ge=1, description="stop after so many validations without a better one")
    enough: float | None = Field(None, description="stop as soon as the metric is so good")
    max_sentences: int | None = Field(None, ge=1, description="validate on the first so many sentences only")
    max_ratio: float = Field(2.0, gt=0, description="longest translation, in tokens for each token of the source")


class RunConfig(Settings):
    """A whole training config."""

    run: str | None = Field(
        None,
        description="folder of the run; if left out: runs/ and the name of the config file "
        "(paths start from the folder that the command is run in)",
    )
    task: Literal["translate", "classify", "language-model"] = Field("translate", description="what is learned")
    preset: str = Field("tiny", description="size of the model; what model: says comes on top")
    model: dict[str, Any] = Field(default_factory=dict, description="differences from the preset")
    data: DataConfig = Field(description="where sentences come from")
    text: TextConfig = TextConfig()
    training: TrainingConfig = TrainingConfig()
    validation: ValidationConfig = ValidationConfig()

    @property
    def metric(self) -> Metric:
        """What training is judged by."""
        return self.validation.metric or _METRICS[self.task]


# What a config with no usable corpus is read with, so that its other mistakes are found too.
_STAND_INS: Mapping[str, Any] = {
    "data": {"train": [{"built_in": "copy"}]},
    "data.train": [{"built_in": "copy"}],
    "data.valid": {"built_in": "copy"},
}


def load_run_config(
    path: str | Path, changes: Sequence[str] = (), *, check_files: bool = True, change_label: str = "change"
) -> RunConfig:
    """Return the config in a YAML file with changes such as `training.rate=3e-4`, or tell every mistake at once.

    `run` is filled in. Files that the config names must exist, unless `check_files` is False. A mistake in a change
    begins with `change_label` and the change.
    """
    path = Path(path)
    data = dict(read_yaml(path))
    located: list[Mistake] = []
    in_file, changed = set(data), {}
    for text in changes:
        try:
            changed[change(data, text)] = text
        except ConfigError as wrong:
            located += wrong.located(f"{change_label} {text}").details
    config, mistakes = check_run_config(data, check_files=check_files)
    for mistake in mistakes:
        own_changes = [text for changed_path, text in changed.items() if _is_of(mistake, changed_path, in_file)]
        place = f"{change_label} {own_changes[0]}" if own_changes else str(path)
        located.append(Mistake(mistake.paths, f"{place}: {mistake.sentence}"))
    if located or config is None:
        raise ConfigError([Mistake(mistake.paths, printable(mistake.sentence)) for mistake in located])
    return config if config.run else config.model_copy(update={"run": f"runs/{path.stem}"})


def check_run_config(
    data: Mapping[str, Any], *, check_files: bool = True
) -> tuple[RunConfig | None, tuple[Mistake, ...]]:
    """Return what can be read of a config, and every mistake in it, between its settings, and in the files it names."""
    from clearhead.training.config_checks import file_mistakes, model_mistakes, setting_mistakes

    reading = examine(RunConfig, data, stand_ins=_STAND_INS)
    config, mistakes = reading.value, list(reading.mistakes)
    if config is not None:
        more = [*model_mistakes(config), *setting_mistakes(config)]
        more += file_mistakes(config) if check_files else []
        # What was wrong has its default now: blame nothing for not fitting that.
        mistakes += [mistake for mistake in more if not any(_follows(mistake, path) for path in reading.blamed)]
    return config, tuple(mistakes)


def _follows(mistake: Mistake, blamed: str) -> bool:
    """Whether a mistake may only follow from one at another path, which it concerns or which lies in its group."""
    return mistake.concerns(blamed) or blamed.startswith(f"{mistake.path}.")


def _is_of(mistake: Mistake, changed: str, in_file: Collection[str]) -> bool:
    """Whether a mistake comes from the change of a path on the command line, and not from the file."""
    top = changed.partition(".")[0]
    return f"{mistake.path}.".startswith(f"{changed}.") or (mistake.path == top and top not in in_file)

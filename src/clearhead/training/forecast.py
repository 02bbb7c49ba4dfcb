"""What a config would do on this device: its data is prepared, and a few real updates are measured."""

from dataclasses import dataclass
from itertools import islice
from typing import Any

from clearhead.model.device import choose_device
from clearhead.training.config import RunConfig
from clearhead.training.plan_measure import Speed, measure
from clearhead.training.prepare import prepare
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder
from clearhead.training.stream import open_stream
from clearhead.training.timeline import Timeline, duration

_MEASURED = 2.0  # seconds
_BATCHES = 12  # that are repeated


@dataclass(frozen=True)
class Forecast:
    """The length of a run and the measured speed of its updates (of one batch each)."""

    config: RunConfig  # with the defaults that depend on the text
    device: str
    num_pairs: int
    batches_per_epoch: float
    speed: Speed

    @property
    def updates(self) -> int:
        """The number of updates."""
        training = self.config.training
        if training.steps is not None:
            return training.steps
        assert training.epochs is not None
        return max(1, round(training.epochs * self.batches_per_epoch / training.accumulate))

    @property
    def epochs(self) -> float:
        """The number of epochs."""
        return self.updates * self.config.training.accumulate / self.batches_per_epoch

    @property
    def epoch_seconds(self) -> float:
        """Seconds of an epoch."""
        return self.batches_per_epoch * self.speed.seconds_per_update

    @property
    def training_seconds(self) -> float:
        """Seconds of all updates, at most `training.minutes`."""
        seconds, limit = self.epochs * self.epoch_seconds, self.config.training.minutes
        return seconds if limit is None else min(seconds, 60 * limit)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the schedule and the time limit."""
        warning = " ".join(Timeline(self.config, self.updates).warnings()).removeprefix("Warning: ")
        warnings = [f"{warning[0].upper()}{warning[1:]}"] if warning else []
        if self.training_seconds < self.epochs * self.epoch_seconds:
            done = self.updates * self.training_seconds / (self.epochs * self.epoch_seconds)
            warnings.append(
                f"training.minutes = {self.config.training.minutes:g} stops the run after about {done:,.0f} of "
                f"{self.updates:,} updates."
            )
        return warnings

    def to_data(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        return {
            "pairs": self.num_pairs,
            "device": self.device,
            "parameters": self.speed.num_parameters,
            "memory_bytes": self.speed.memory,
            "tokens_per_second": round(self.speed.tokens_per_second, 1),
            "minutes_per_epoch": round(self.epoch_seconds / 60, 4),
            "epochs": round(self.epochs, 2),
            "updates": self.updates,
            "training_seconds": round(self.training_seconds, 1),
            "warnings": self.warnings,
        }

    def __str__(self) -> str:
        """Describe the run in a few lines."""
        speed, training = self.speed, self.config.training
        memory = f"{speed.memory / 2**30:.1f} GiB of memory · " if speed.memory else ""
        lines = [
            f"{speed.num_parameters / 1e6:.1f} million parameters · {memory}{speed.tokens_per_second:,.0f} "
            f"{'source' if self.config.task == 'classify' else 'target'} tokens/s on "
            f"{'the GPU' if self.device == 'cuda' else 'the CPU'}",
            f"{self.updates:,} updates of {training.tokens_per_batch * training.accumulate:,} tokens · one epoch takes "
            f"{duration(self.epoch_seconds)} · {self.epochs:.3g} epochs · training takes about "
            f"{duration(self.training_seconds)}, without validations",
        ]
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])


def make_forecast(config: RunConfig, folder: RunFolder, reporter: Reporter) -> Forecast:
    """Prepare the data of a config in a folder, and measure some updates, without torch.compile."""
    device = choose_device(config.training.device)
    prepared = prepare(config, folder, reporter)
    stream = open_stream(prepared.config, prepared, reporter)
    batches = list(islice(stream.batches(), _BATCHES))
    speed = measure(prepared.model, batches, prepared.config, device, _MEASURED)
    return Forecast(prepared.config, device.type, len(prepared.train), stream.batches_per_epoch, speed)

"""Measure the speed of updates on this device, for a plan; and forecast the size, speed and time of a config."""

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch

from clearhead.data.batches import BatchStream, TokenBatch, make_layout
from clearhead.data.store import PairStore
from clearhead.model import SequenceModel
from clearhead.model.device import choose_device
from clearhead.text.tokeniser import Vocabularies
from clearhead.training.config import RunConfig
from clearhead.training.feed import open_stream, to_batch
from clearhead.training.plan_report import length_warnings
from clearhead.training.prepare import prepare
from clearhead.training.progress import Reporter
from clearhead.training.run import RunFolder
from clearhead.training.step import Updater, choose_arithmetic
from clearhead.training.timeline import duration

_BATCHES = 12  # that are repeated
_MEASURED = 2.0  # seconds


@dataclass(frozen=True)
class Speed:
    """The measured speed of a model: seconds and target tokens of an update, its parameters and the peak memory.

    The tokens of a classifier are those of the source.
    """

    seconds_per_update: float
    tokens_per_update: float
    num_parameters: int
    memory: int  # bytes: of the GPU, or of this process

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second."""
        return self.tokens_per_update / self.seconds_per_update


def sample_batches(store: PairStore, vocabularies: Vocabularies, batch_tokens: int) -> list[TokenBatch]:
    """Return some batches of a store, as a run uses them."""
    layout = make_layout(store, batch_tokens, batching="packed")
    return list(islice(BatchStream(store, vocabularies, layout).batches(), _BATCHES))


def measure(
    model: SequenceModel, batches: Sequence[TokenBatch], config: RunConfig, device: torch.device, seconds: float
) -> Speed:
    """Make real updates for about `seconds`, after one for each shape that is not timed."""
    is_cuda = device.type == "cuda"
    if is_cuda:
        torch.cuda.reset_peak_memory_stats(device)
    precision, _ = choose_arithmetic(config.training, device)
    updater = Updater(model.to(device).train(), config.training, is_compiled=False, precision=precision)
    number, passed, tokens, count = 0, 0.0, 0, 0
    has_labels = config.task == "classify"
    for batch in {batch.shape: batch for batch in batches}.values():
        number += 1
        updater.step([to_batch(batch, device, has_labels=has_labels)], 1e-6, number)
    while passed < seconds:
        _wait(device)
        start = time.perf_counter()
        for batch in batches if is_cuda else [batches[count % len(batches)]]:
            number += 1
            updater.step([to_batch(batch, device, has_labels=has_labels)], 1e-6, number)
            tokens, count = tokens + (batch.num_source if has_labels else batch.num_target), count + 1
        _wait(device)
        passed += time.perf_counter() - start
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    memory = torch.cuda.max_memory_allocated(device) if is_cuda else _process_memory()
    del updater
    gc.collect()
    if is_cuda:
        torch.cuda.empty_cache()
    return Speed(passed / count, tokens / count, num_parameters, memory)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _process_memory() -> int:
    """Return the peak memory of this process in bytes, or 0 where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class Forecast:
    """The length of a run, the measured speed of its updates (of one batch each), and warnings about them."""

    config: RunConfig  # with the defaults that depend on the text
    device: str
    num_pairs: int
    batches_per_epoch: float
    speed: Speed
    warnings: tuple[str, ...] = ()

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
            "warnings": list(self.warnings),
        }

    def describe(self, start: str = "", end: str = "") -> str:
        """Describe the model, the speed and the time, and list the warnings; `start` and `end` surround the time."""
        speed = self.speed
        memory = f"{speed.memory / 2**30:.1f} GiB of memory · " if speed.memory else ""
        lines = [
            f"{speed.num_parameters / 1e6:.1f} million parameters · {memory}{speed.tokens_per_second:,.0f} "
            f"{'source' if self.config.task == 'classify' else 'target'} tokens/s on "
            f"{'the GPU' if self.device == 'cuda' else 'the CPU'}",
            f"{start}one epoch takes {duration(self.epoch_seconds)} · {self.epochs:.3g} epochs · training takes about "
            f"{duration(self.training_seconds)}{end}",
        ]
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in self.warnings)])

    def __str__(self) -> str:
        """Describe the run in a few lines."""
        training = self.config.training
        tokens = training.tokens_per_batch * training.accumulate
        return self.describe(f"{self.updates:,} updates of {tokens:,} tokens · ", ", without validations")


def forecast_warnings(forecast: Forecast) -> tuple[str, ...]:
    """Return warnings about the schedule and the time limit."""
    training = forecast.config.training
    warning = " ".join(length_warnings(training, forecast.updates)).removeprefix("Warning: ")
    warnings = [f"{warning[0].upper()}{warning[1:]}"] if warning else []
    seconds = forecast.epochs * forecast.epoch_seconds
    if forecast.training_seconds < seconds:
        done = forecast.updates * forecast.training_seconds / seconds
        warnings.append(
            f"training.minutes = {training.minutes:g} stops the run after about {done:,.0f} of "
            f"{forecast.updates:,} updates."
        )
    return tuple(warnings)


def make_forecast(config: RunConfig, folder: RunFolder, reporter: Reporter) -> Forecast:
    """Prepare the data of a config in a folder, and measure some updates, without torch.compile."""
    device = choose_device(config.training.device)
    prepared = prepare(config, folder, reporter)
    stream = open_stream(prepared.config, prepared, reporter)
    batches = list(islice(stream.batches(), _BATCHES))
    speed = measure(prepared.model, batches, prepared.config, device, _MEASURED)
    forecast = Forecast(prepared.config, device.type, len(prepared.train), stream.batches_per_epoch, speed)
    return replace(forecast, warnings=forecast_warnings(forecast))

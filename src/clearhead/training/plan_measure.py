"""Measure the speed of real updates on this device, with the batches and the model of a config, in a few seconds."""

import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import torch

from clearhead.data.batches import BatchStream, TokenBatch, make_layout
from clearhead.data.store import PairStore
from clearhead.model import TrainableModel
from clearhead.text.tokeniser import Vocabularies
from clearhead.training.config import RunConfig
from clearhead.training.feed import to_batch
from clearhead.training.step import Updater

_BATCHES = 12  # that are repeated


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
    model: TrainableModel, batches: Sequence[TokenBatch], config: RunConfig, device: torch.device, seconds: float
) -> Speed:
    """Make real updates for about `seconds`, after one for each shape that is not timed."""
    is_cuda = device.type == "cuda"
    if is_cuda:
        torch.set_float32_matmul_precision("high")
        torch.cuda.reset_peak_memory_stats(device)
    precision = torch.bfloat16 if is_cuda and config.training.precision != "float32" else torch.float32
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

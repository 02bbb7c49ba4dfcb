"""The batches of a run, and a background thread that prepares them, so that the device does not wait for them."""

import queue
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, Self

import torch
from torch import Tensor

from clearhead.data.batches import BatchStream, Ids, TokenBatch, make_layout
from clearhead.model import Batch, ModelConfig
from clearhead.training.config import RunConfig
from clearhead.training.prepare import Prepared
from clearhead.training.progress import Reporter

_TURN = 2e-4  # seconds


class BatchPrefetcher:
    """Prefetches batches from an iterator in a background thread."""

    def __init__(self, batches: Iterator[TokenBatch], ahead: int) -> None:
        self.waited = 0.0  # seconds that `take` had to wait
        self._batches, self._is_over = batches, threading.Event()
        self._ready: queue.Queue[TokenBatch | BaseException] = queue.Queue(ahead)
        self._thread = threading.Thread(target=self._work, name="batches", daemon=True)
        self._thread.start()

    def take(self) -> TokenBatch:
        """Return the next batch."""
        start = time.perf_counter()
        batch = self._ready.get()
        self.waited += time.perf_counter() - start
        if isinstance(batch, BaseException):
            raise batch
        return batch

    def close(self) -> None:
        """Stop the thread."""
        self._is_over.set()
        while self._thread.is_alive():
            try:
                self._ready.get_nowait()
            except queue.Empty:
                time.sleep(0.001)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _work(self) -> None:
        try:
            for batch in self._batches:
                if not self._put(batch):
                    return
            raise RuntimeError("there are no more batches, and `take` would wait forever")
        except BaseException as wrong:  # raised by the next call of `take`
            self._put(wrong)

    def _put(self, batch: TokenBatch | BaseException) -> bool:
        while not self._is_over.is_set():
            try:
                self._ready.put(batch, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False


def to_batch(token_batch: TokenBatch, device: torch.device, *, has_labels: bool) -> Batch:
    """Convert a batch to tensors on the model's device."""
    source = _tensor(token_batch.source, device) if token_batch.source.size else None
    if has_labels:
        return Batch(source, labels=_tensor(token_batch.target, device))
    sides = (token_batch.source_sentences if token_batch.source.size else None, token_batch.target_sentences)
    sentences = [None if side is None else _tensor(side, device) for side in sides]
    return Batch(source, _tensor(token_batch.target, device), None, True, *sentences)


def _tensor(numbers: Ids, device: torch.device) -> Tensor:
    tensor = torch.from_numpy(numbers)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


@contextmanager
def sharing() -> Iterator[None]:
    """Switch between threads more often, so that preparing batches does not delay the training thread."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def open_stream(config: RunConfig, prepared: Prepared, reporter: Reporter) -> BatchStream:
    """Return the batches of a run, and report their shapes."""
    batching, has_labels = choose_batching(config, prepared.model.config), config.task == "classify"
    layout = make_layout(
        prepared.train, config.training.tokens_per_batch, batching=batching, has_labels=has_labels,
        max_tokens=config.data.max_tokens,
    )  # fmt: skip
    stream = BatchStream(
        prepared.train, prepared.vocabularies, layout, weights=[corpus.weight for corpus in config.data.train],
        seed=config.training.seed, has_labels=has_labels,
    )  # fmt: skip
    reporter.message(
        f"Batches of {len(layout.shapes)} shape{'s' if len(layout.shapes) > 1 else ''} ({batching}): "
        f"{', '.join(str(shape) for shape in layout.shapes)}; {100 * stream.padding:.1f} % padding."
    )
    return stream


def choose_batching(config: RunConfig, model: ModelConfig) -> Literal["packed", "bucketed"]:
    """Return how rows are filled. Only some models can have several sentences in a row: see `can_pack_rows`."""
    if config.task == "classify" or not model.can_pack_rows:
        return "bucketed"
    return "packed" if config.training.batching == "auto" else config.training.batching

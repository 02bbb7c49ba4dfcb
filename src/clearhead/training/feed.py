"""Batches prepared in a background thread, so that the device does not wait for them. Remaining waits are measured."""

import queue
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import torch
from torch import Tensor

from clearhead.data.batches import Ids, TokenBatch
from clearhead.model import Batch

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

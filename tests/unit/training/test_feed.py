"""Batches from the background: all of them, in order; errors of the thread are raised, and it is ended on close."""

import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from clearhead.data.batches import NO_LABEL, Position, TokenBatch
from clearhead.data.layout import Shape
from clearhead.errors import DataError
from clearhead.model import ModelConfig
from clearhead.training.feed import BatchPrefetcher, choose_batching, sharing, to_batch
from tests.unit.training.runs import settings_of


def numbered(number: int) -> TokenBatch:
    ids = np.full((2, 3), number, dtype=np.int64)
    return TokenBatch(Shape(2, 3, 3), ids, ids, None, None, 2, 6, 6, Position(0, 0, number))


def endless() -> Iterator[TokenBatch]:
    number = 0
    while True:
        yield numbered(number)
        number += 1


def is_working() -> bool:
    return any(thread.name == "batches" for thread in threading.enumerate())


def test_batches_come_in_order() -> None:
    with BatchPrefetcher(endless(), ahead=2) as prefetcher:
        assert [prefetcher.take().after.batch for _ in range(50)] == list(range(50))


def test_the_thread_ends_with_the_prefetcher() -> None:
    with BatchPrefetcher(endless(), ahead=2) as prefetcher:
        prefetcher.take()
        assert is_working()
    assert not is_working()


def test_an_error_in_the_thread_is_raised_where_its_batch_is_taken() -> None:
    def failing() -> Iterator[TokenBatch]:
        yield numbered(0)
        raise DataError("the file is gone")

    with BatchPrefetcher(failing(), 3) as prefetcher:
        assert prefetcher.take().after.batch == 0
        with pytest.raises(DataError, match="the file is gone"):
            prefetcher.take()
    assert not is_working()


def test_it_ends_while_a_dead_thread_waits_to_be_heard() -> None:
    def failing() -> Iterator[TokenBatch]:
        yield numbered(0)
        raise DataError("the file is gone")

    prefetcher = BatchPrefetcher(failing(), ahead=1)
    time.sleep(0.05)
    prefetcher.close()
    assert not is_working()


def test_an_end_of_the_batches_is_an_error_not_a_hang() -> None:
    with BatchPrefetcher(iter([numbered(0)]), 3) as prefetcher:
        prefetcher.take()
        with pytest.raises(RuntimeError, match="there are no more batches"):
            prefetcher.take()


def test_the_wait_is_measured() -> None:
    def slow() -> Iterator[TokenBatch]:
        while True:
            time.sleep(0.05)
            yield numbered(0)

    with BatchPrefetcher(slow(), 3) as prefetcher:
        prefetcher.take()
        assert 0.02 < prefetcher.waited < 5


def test_a_batch_as_the_model_takes_it() -> None:
    cpu, ids = torch.device("cpu"), np.array([[5, 2, 0]])
    packed = TokenBatch(Shape(1, 3, 3), ids, ids + 1, ids % 2, ids % 3, 1, 2, 2)
    batch = to_batch(packed, cpu, has_labels=False)
    assert batch.source is not None
    assert batch.target_sentences is not None
    assert (batch.source.tolist(), batch.target_sentences.tolist()) == ([[5, 2, 0]], [[2, 2, 0]])
    labelled = TokenBatch(Shape(1, 3, 0), ids, np.array([NO_LABEL]), None, None, 0, 2, 0)
    batch = to_batch(labelled, cpu, has_labels=True)
    assert batch.labels is not None
    assert (batch.labels.tolist(), batch.target) == ([NO_LABEL], None)
    empty = np.empty((1, 0), dtype=np.int64)
    assert to_batch(TokenBatch(Shape(1, 0, 3), empty, ids, empty, ids, 1, 0, 2), cpu, has_labels=False).source is None


def test_threads_take_turns_more_often_for_a_while() -> None:
    before = sys.getswitchinterval()
    with sharing():
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


@pytest.mark.parametrize(
    ("batching", "encoder_norm", "task", "result"),
    [
        ("auto", "each", "translate", "packed"),
        ("bucketed", "each", "translate", "bucketed"),
        ("auto", "all", "translate", "bucketed"),
        ("packed", "each", "classify", "bucketed"),
    ],
)
def test_sentences_share_a_row_unless_the_model_needs_one_per_row(
    batching: str, encoder_norm: str, task: str, result: str
) -> None:
    config = settings_of(training={"batching": batching}).model_copy(update={"task": task})
    model = ModelConfig(source_vocabulary=97).model_copy(update={"encoder_norm": encoder_norm})
    assert choose_batching(config, model) == result

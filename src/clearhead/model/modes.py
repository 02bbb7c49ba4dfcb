"""Temporary evaluation mode of a model."""

from collections.abc import Iterator
from contextlib import contextmanager

from clearhead.model.base import SequenceModel


@contextmanager
def evaluation_mode(model: SequenceModel) -> Iterator[None]:
    """Turn dropout off, and restore the previous mode afterwards."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)

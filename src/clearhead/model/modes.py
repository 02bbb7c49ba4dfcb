"""A model in eval mode for a while, and then again in the mode that it was in."""

from collections.abc import Iterator
from contextlib import contextmanager

from clearhead.model.protocol import SequenceModel


@contextmanager
def evaluation_mode(model: SequenceModel) -> Iterator[None]:
    """Turn dropout off, and afterwards on again if it was on."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)

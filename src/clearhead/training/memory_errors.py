"""Explain the errors of a run whose memory is not enough, before its first update and in one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clearhead.errors import RunError, is_out_of_memory


@contextmanager
def explain_memory_errors(sentence: str | Callable[[], str]) -> Iterator[None]:
    """Replace an error about memory by one with this sentence, or with the one that a function returns then."""
    try:
        yield
    except (RuntimeError, MemoryError) as wrong:
        if not is_out_of_memory(wrong):
            raise
        raise RunError(sentence if isinstance(sentence, str) else sentence()) from None


MODEL_TOO_LARGE = (
    "There is not enough memory for the model and its optimiser. Use a smaller preset, or smaller model sizes."
)


def update_too_large(step: int) -> str:
    """Return the sentence about an update that needs too much memory."""
    return (
        f"Update {step:,} needs more memory than is available, even one row at a time. Saved checkpoints are not lost. "
        "Lower data.max_tokens or use a smaller model."
    )

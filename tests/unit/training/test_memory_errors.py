"""Errors about memory become a sentence; others stay as they are."""

import pytest

from clearhead.errors import RunError
from clearhead.training.memory_errors import explain_memory_errors, update_too_large


def test_an_error_about_memory_is_explained() -> None:
    with pytest.raises(RunError) as error, explain_memory_errors(lambda: update_too_large(1009)):
        raise MemoryError
    assert str(error.value) == (
        "Update 1,009 needs more memory than is available, even one row at a time. Saved checkpoints are not lost. Lower "
        "data.max_tokens or use a smaller model."
    )
    with pytest.raises(RunError, match="too large"), explain_memory_errors("too large"):
        raise RuntimeError("CUDA out of memory")


def test_another_error_is_not_changed() -> None:
    with pytest.raises(RuntimeError, match="sizes differ"), explain_memory_errors("too large"):
        raise RuntimeError("sizes differ")

"""The pause of garbage collection ends with its block, also after an error, and keeps what was set before."""

import gc

import pytest

from clearhead.training.collection import collection_paused


def test_collection_is_paused_within_the_block_only() -> None:
    with collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), collection_paused():
        raise KeyError
    assert gc.isenabled()


def test_collection_stays_off_if_it_was_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

"""Signals: the first requests a stop, the second stops immediately; afterwards the handlers are restored."""

import os
import signal
import threading

import pytest

from clearhead.training.stopping import Stop, stopping


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_requests_a_stop_and_the_second_stops_at_once(number: signal.Signals) -> None:
    with stopping() as stop:
        assert not stop.is_asked
        os.kill(os.getpid(), number)
        assert stop.is_asked
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


def test_signals_are_handled_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with stopping():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_thread_that_cannot_handle_signals_does_not_change_them() -> None:
    stops: list[Stop] = []

    def work() -> None:
        with stopping() as stop:
            stops.append(stop)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert stops == [Stop(False)]

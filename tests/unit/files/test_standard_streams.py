"""Closed and broken standard streams: a result is never lost without an error, and a lost message is never an error."""

import io
import os
import sys

import pytest

from clearhead.errors import RunError
from clearhead.files.standard_streams import ClosedOutput, discard_output, replace_closed_streams


def broken_pipe() -> io.TextIOWrapper:
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w")


def test_a_result_for_a_closed_standard_output_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    replace_closed_streams()
    assert isinstance(sys.stdout, ClosedOutput)
    with pytest.raises(RunError, match=r"^standard output is closed, so the result would be lost\. Write it to a file"):
        print("result", flush=True)
    sys.stdout.flush()  # the interpreter does so at exit, where an error would be printed


@pytest.mark.parametrize("stream", [lambda: None, broken_pipe], ids=["closed", "broken"])
def test_a_message_that_cannot_be_written_is_lost(monkeypatch: pytest.MonkeyPatch, stream: object) -> None:
    original = stream()  # type: ignore[operator]
    monkeypatch.setattr(sys, "stderr", original)
    monkeypatch.setattr(sys, "__stderr__", original)
    replace_closed_streams()
    print("message", file=sys.stderr, flush=True)
    assert not sys.stderr.isatty()
    if original is not None:
        original.close()


def test_streams_that_work_are_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = [io.StringIO() for _ in range(3)]
    for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    replace_closed_streams()
    assert [sys.stdin, sys.stdout, sys.stderr] == streams


def test_what_cannot_be_written_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", broken_pipe())
    sys.stdout.write("result")
    discard_output()
    sys.stdout.close()
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    discard_output()

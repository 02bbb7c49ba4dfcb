"""The program of a worker process: read a request, compute, write the answer, until the server closes the pipe."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import orjson

from clearhead.errors import ClearheadError, is_out_of_memory, not_installed
from clearhead.serve.api_errors import ApiError
from clearhead.serve.worker_frames import READY, FrameError, read_request, write_answer

Handler = Callable[[Mapping[str, Any]], bytes]
_HANDLERS = {"exercise": "clearhead.serve.exercise_worker", "explain": "clearhead.serve.explain_worker"}


def main(handler_name: str, options: str) -> None:
    """Answer requests with a handler until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the server too, which closes the pipe
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not be mixed with the answers
    handler: Handler
    try:
        handler = import_module(_HANDLERS[handler_name]).make_handler(orjson.loads(options))
    except Exception as wrong:
        write_answer(answers, *answer_to_error(wrong))
        return
    write_answer(answers, READY, b"")
    while True:
        try:
            request = read_request(sys.stdin.buffer)
        except FrameError:
            return
        write_answer(answers, *answer(handler, request))


def answer(handler: Handler, request: bytes) -> tuple[int, bytes]:
    """Return the status and the body of the answer to a request."""
    try:
        return 200, handler(orjson.loads(request))
    except Exception as wrong:
        return answer_to_error(wrong)


def answer_to_error(error: Exception) -> tuple[int, bytes]:
    """Return the status and the sentence for an error; one that nobody foresaw is logged without the user's text."""
    if isinstance(error, ApiError):
        return error.status, error.sentence.encode()
    if isinstance(error, ClearheadError):
        return 400, str(error).encode("utf-8", "backslashreplace")
    if is_out_of_memory(error):
        return 400, b"this needs more memory than the server gives to a request. Send a smaller one."
    if isinstance(error, RecursionError):
        return 400, b"this is nested too deeply. Send a simpler request."
    if isinstance(error, ModuleNotFoundError) and error.name in ("torch", "safetensors", "sentencepiece"):
        return 501, not_installed("an explanation", error.name, "translate").encode()
    places = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    print(f"clearhead serve: {type(error).__name__} at {' < '.join(reversed(places))}", file=sys.stderr, flush=True)
    return 500, b"the server has an error of its own; its log says where."


if __name__ == "__main__":
    main(*sys.argv[1:])

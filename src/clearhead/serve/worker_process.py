"""Processes of their own for work that takes long: it is never in the queue of translations, and can be ended any time.

A process starts on first use, answers one request at a time through pipes, and is replaced when it ends or is killed
at its time limit. The number of requests that wait is limited.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import orjson

from clearhead.serve.api_errors import ApiError
from clearhead.serve.worker_frames import READY, FrameError, read_answer, write_request

_MODULE = "clearhead.serve.worker_loop"
_START_SECONDS = 120.0  # to start a process and import its libraries, on a busy machine
# Beside other work, threads of one process that wait for each other take many times as long as a single one.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class WorkerLimits:
    """How many processes there are, how many requests may wait, and how many seconds one may take."""

    time_limit: float
    max_waiting: int
    workers: int = 1
    retry_after: int = 2  # seconds after which a refused client may try again
    idle_seconds: float | None = None  # an idle process is ended after this time, and frees its memory; None: never


@dataclass(frozen=True)
class WorkerJob:
    """What a process does: the name of its handler, what that is called in messages, and the handler's options."""

    handler: str
    title: str
    options: Mapping[str, Any] = field(default_factory=dict)


class WorkerProcess:
    """One process, used by one thread at a time."""

    def __init__(self, job: WorkerJob, limits: WorkerLimits) -> None:
        self._job, self._limits = job, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # of the process, which other threads end
        self._is_stopped = False
        self._num_requests = 0
        self._idle_timer: threading.Timer | None = None

    @property
    def pid(self) -> int | None:
        """The number of the process that runs now; None if there is none."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def answer(self, request: bytes) -> bytes:
        """Return the answer to a request, or raise ApiError; after the time limit the process is killed."""
        with self._lock:
            self._num_requests += 1
            if self._idle_timer is not None:
                self._idle_timer.cancel()
        try:
            status, body = self._exchange(self._started(), request, self._limits.time_limit)
        finally:
            self._start_idle_timer()
        if status != 200:
            raise ApiError(status, body.decode(), retry_after=self._limits.retry_after if status == 503 else None)
        return body

    def stop(self) -> None:
        """Kill the process, and start no other."""
        with self._lock:
            self._is_stopped = True
            if self._idle_timer is not None:
                self._idle_timer.cancel()
            if self._process is not None:
                _end(self._process)

    def _start_idle_timer(self) -> None:
        """End the process later, unless there is another request."""
        if self._limits.idle_seconds is not None:
            self._idle_timer = threading.Timer(self._limits.idle_seconds, self._end_idle, (self._num_requests,))
            self._idle_timer.daemon = True
            self._idle_timer.start()

    def _end_idle(self, num_requests: int) -> None:
        with self._lock:
            if self._num_requests == num_requests and self._process is not None:
                _end(self._process)

    def _started(self) -> subprocess.Popen[bytes]:
        """Return a process that waits for a request, which is a new one if the last one has ended."""
        with self._lock:
            if self._is_stopped:
                raise ApiError(503, "the server is stopping. Try again later.", retry_after=self._limits.retry_after)
            if self._process is not None:
                if self._process.poll() is None:
                    return self._process
                _end(self._process)
            command = [sys.executable, "-m", _MODULE, self._job.handler, orjson.dumps(dict(self._job.options)).decode()]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **_ENVIRONMENT}
                )
            except OSError as wrong:
                sentence = f"the process for {self._job.title} could not be started: {wrong.strerror}. Try again later."
                raise ApiError(503, sentence, retry_after=self._limits.retry_after) from None
            process = self._process
        status, body = self._exchange(process, None, _START_SECONDS)
        if status != READY:
            raise ApiError(status, body.decode(), retry_after=None)
        return process

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes | None, seconds: float) -> tuple[int, bytes]:
        """Send a request, if there is one, and return the next answer; kill the process when the time is up."""
        assert process.stdin is not None
        assert process.stdout is not None
        is_late = threading.Event()

        def expire() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(seconds, expire)
        timer.daemon = True
        timer.start()
        try:
            if request is not None:
                write_request(process.stdin, request)
            return read_answer(process.stdout)
        except (FrameError, OSError, ValueError):  # ValueError: the pool was stopped, which closes the pipes
            process.kill()
            process.wait()
            raise self._ended(is_late.is_set(), seconds) from None
        finally:
            timer.cancel()

    def _ended(self, is_late: bool, seconds: float) -> ApiError:
        """Return the error for a process that ended before it answered."""
        if is_late:
            return ApiError(
                504, f"{self._job.title} took longer than the limit of {seconds:g} s. Send a smaller request."
            )
        sentence = f"the process for {self._job.title} ended before it answered; another one starts. Send it again."
        return ApiError(503, sentence, retry_after=self._limits.retry_after)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and close its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # a request that was not sent completely
                pipe.close()


class WorkerPool:
    """Processes of one kind, and the queue of the requests that wait for them."""

    def __init__(self, job: WorkerJob, limits: WorkerLimits) -> None:
        self.job, self.limits = job, limits
        self._lock = threading.Lock()
        self.num_open = 0  # requests that wait or are computed
        self._threads: ThreadPoolExecutor | None = None
        self._processes: list[WorkerProcess] = []
        self._idle: SimpleQueue[WorkerProcess] = SimpleQueue()

    @property
    def pids(self) -> tuple[int, ...]:
        """The numbers of the processes that run now."""
        return tuple(pid for process in self._processes if (pid := process.pid) is not None)

    async def answer(self, request: Mapping[str, Any]) -> bytes:
        """Return the answer of a process, or raise ApiError; a request that is cancelled leaves the queue."""
        try:
            content = orjson.dumps(dict(request))
        except orjson.JSONEncodeError:  # the encoder allows fewer levels than the decoder
            raise ApiError(400, "the request is nested too deeply. Send a simpler one.") from None
        return await asyncio.wrap_future(self._submit(content))

    async def stop(self) -> None:
        """Kill all processes; requests that wait are cancelled."""
        with self._lock:
            threads, processes = self._threads, self._processes
            self._threads, self._processes = None, []
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            await asyncio.to_thread(process.stop)

    def _submit(self, request: bytes) -> Future[bytes]:
        with self._lock:
            if self.num_open >= self.limits.workers + self.limits.max_waiting:
                sentence = (
                    f"{self.num_open} requests for {self.job.title} wait already, which is the limit. "
                    f"Try again in {self.limits.retry_after} s."
                )
                raise ApiError(503, sentence, retry_after=self.limits.retry_after)
            if self._threads is None:
                self._start()
            assert self._threads is not None
            future = self._threads.submit(self._work, self._idle, request)
            self.num_open += 1
        future.add_done_callback(self._count_down)
        return future

    def _start(self) -> None:
        """Prepare the threads, each of which waits for a process."""
        self._idle = SimpleQueue()
        self._processes = [WorkerProcess(self.job, self.limits) for _ in range(self.limits.workers)]
        for process in self._processes:
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(self.limits.workers, thread_name_prefix=f"serve-{self.job.handler}")

    def _count_down(self, future: Future[bytes]) -> None:
        with self._lock:
            self.num_open -= 1

    def _work(self, idle: "SimpleQueue[WorkerProcess]", request: bytes) -> bytes:
        process = idle.get()
        try:
            return process.answer(request)
        finally:
            idle.put(process)

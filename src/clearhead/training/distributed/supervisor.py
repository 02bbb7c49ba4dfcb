"""Start the ranks of a run on this machine, and end all of them when one fails, with a sentence that names it.

The launcher does not load torch. Signals are passed on to the ranks, which agree to save and stop.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

from clearhead.training.distributed.failure import RankEnd, find_cause, is_interruption, read_record
from clearhead.training.distributed.membership import FAILURES, LIFELINE, STORE

_POLL = 0.05  # seconds
_GRACE = 10.0  # seconds in which the other ranks can end by themselves after one has failed
_SHORT_GRACE = 2.0  # the same, when the cause is known already
_MAX_OUTPUT = 4000  # characters of the output of a rank that ended without a record


@dataclass(frozen=True)
class RanksResult:
    """How the ranks of a run ended: the rank that failed, or None, and the signals that were passed on."""

    ends: tuple[RankEnd, ...]
    cause: RankEnd | None
    signals: tuple[int, ...] = ()
    output: str = ""  # the last lines that the failed rank printed, if it recorded no error

    @property
    def is_interrupted(self) -> bool:
        """Whether the ranks stopped because of a signal, and not because of an error."""
        return self.cause is not None and bool(self.signals) and is_interruption(self.cause)


@dataclass
class _Rank:
    number: int
    process: subprocess.Popen[bytes]
    log: Path
    end: RankEnd | None = None
    was_ended: bool = False


@dataclass
class Supervisor:
    """Starts `size` processes of a command as ranks, and waits for them."""

    command: Sequence[str]
    size: int
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    grace: float = _GRACE
    announce: IO[str] | None = None  # where the process ids are printed

    def run(self) -> RanksResult:
        """Run all ranks to their end."""
        with tempfile.TemporaryDirectory(prefix="clearhead-ranks-") as name, _lifeline() as lifeline:
            folder = Path(name)
            ranks: list[_Rank] = []
            with _passing_on(ranks) as signals:
                try:
                    for number in range(self.size):
                        ranks.append(self._start(number, folder, lifeline))
                    self._print_processes(ranks)
                    self._wait(ranks, folder, signals)
                finally:
                    for rank in ranks:
                        _end(rank)
                ends = tuple(rank.end or RankEnd(rank.number, -signal.SIGKILL, was_ended=True) for rank in ranks)
            cause = find_cause(ends)
            output = _last_lines(ranks[cause.rank].log) if cause is not None and cause.record is None else ""
            return RanksResult(ends, cause, tuple(signals), output)

    def _start(self, number: int, folder: Path, lifeline: int) -> _Rank:
        threads = max(1, (os.cpu_count() or 1) // self.size)
        environment = {
            "OMP_NUM_THREADS": str(threads),
            "TORCH_CPP_LOG_LEVEL": "ERROR",  # gloo's warnings about closed connections
            **self.environment,
            **{"RANK": str(number), "LOCAL_RANK": str(number)},
            **{"WORLD_SIZE": str(self.size), "LOCAL_WORLD_SIZE": str(self.size)},
            **{STORE: str(folder / "store"), FAILURES: str(folder), LIFELINE: str(lifeline)},
        }
        log = folder / f"rank-{number}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*self.command],
                env=environment,
                stdin=subprocess.DEVNULL,
                # rank 0 prints progress and results; the others print nothing unless they crash
                stdout=None if number == 0 else file,
                stderr=None if number == 0 else file,
                pass_fds=(lifeline,),
                start_new_session=True,  # so that Ctrl-C in a terminal reaches only this process, which passes it on
            )
        return _Rank(number, process, log)

    def _print_processes(self, ranks: Sequence[_Rank]) -> None:
        if self.announce is not None:
            numbers = ", ".join(f"rank {rank.number}: {rank.process.pid}" for rank in ranks)
            print(f"Training with {self.size} processes ({numbers}).", file=self.announce, flush=True)

    def _wait(self, ranks: Sequence[_Rank], folder: Path, signals: Sequence[int]) -> None:
        """Wait until all ranks have ended; after a failure, give the others some time and then end them."""
        limit: float | None = None
        while True:
            _collect(ranks, folder, signals)
            if all(rank.end is not None for rank in ranks):
                return
            cause = find_cause([rank.end for rank in ranks if rank.end is not None])
            if cause is not None:
                is_known = cause.record is None or not cause.record.is_of_connection
                seconds = min(self.grace, _SHORT_GRACE) if is_known and not signals else self.grace
                now = time.monotonic()
                limit = now + seconds if limit is None else min(limit, now + seconds)
                if now >= limit:
                    for rank in ranks:
                        _end(rank)
                    _collect(ranks, folder, signals)
                    return
            time.sleep(_POLL)


def _collect(ranks: Sequence[_Rank], folder: Path, signals: Sequence[int]) -> None:
    """Note the ranks that have ended. A signal that was passed on can end a rank that has not started to handle it."""
    for rank in ranks:
        if rank.end is None and (code := rank.process.poll()) is not None:
            order = sum(other.end is not None for other in ranks)
            was_ended = rank.was_ended or -code in signals
            rank.end = RankEnd(rank.number, code, was_ended, read_record(folder, rank.number), order)


def _end(rank: _Rank) -> None:
    """Kill a rank that is still running: it waits for a rank that will not answer, and all its files are complete."""
    if rank.process.poll() is None:
        rank.was_ended = True
        with suppress(ProcessLookupError):
            rank.process.kill()
    rank.process.wait()


@contextmanager
def _lifeline() -> Iterator[int]:
    """Yield the reading end of a pipe that closes when this process ends, however it ends: the ranks then stop too."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


@contextmanager
def _passing_on(ranks: Sequence[_Rank]) -> Iterator[list[int]]:
    """Pass Ctrl-C and SIGTERM on to all ranks; yield the signals that were received."""
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return

    def forward(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        for rank in ranks:
            if rank.process.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(rank.process.pid, number)

    before = {number: signal.signal(number, forward) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def watch_lifeline(environment: Mapping[str, str] = os.environ) -> None:
    """Stop this rank, as SIGTERM does, when its launcher has disappeared."""
    if LIFELINE not in environment:
        return
    handle = int(environment[LIFELINE])

    def watch() -> None:
        os.read(handle, 1)  # nothing is ever written: it returns when the other end is closed
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()


def _last_lines(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-_MAX_OUTPUT:].strip() if log.is_file() else ""


def rank_command(arguments: Sequence[str]) -> list[str]:
    """Return the command of a rank: this program with the same arguments."""
    return [sys.executable, "-m", "clearhead", *arguments]

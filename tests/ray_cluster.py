"""A Ray cluster of two workers for tests, as `ray start` makes one: one at a time, whatever the number of test processes."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LIMIT = 600  # seconds to wait for anything, on a slow and busy machine


@dataclass(frozen=True)
class RunningCluster:
    """The address of a cluster, and the process that has started all others."""

    address: str
    process: int

    def workers(self) -> list[int]:
        """Return the processes of the workers that translate."""
        numbers = []
        for number in children(self.process):
            with suppress(OSError):
                if b"PartWorker" in Path(f"/proc/{number}/cmdline").read_bytes():
                    numbers.append(number)
        return sorted(numbers)


@contextmanager
def running_cluster(num_cpus: int = 2) -> Iterator[RunningCluster]:
    """Start a cluster, and end all its processes at the end.

    Tests use it from processes of their own: Ray ends a process some time after the cluster that it had joined is gone.
    """
    lock = (Path(tempfile.gettempdir()) / f"clearhead-test-cluster-{os.getuid()}.lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # a short path: the names of Unix sockets in it have at most 107 characters
    folder = Path(tempfile.mkdtemp(prefix="ray"))
    options = {
        "port": "0",
        "num-cpus": str(num_cpus),
        "node-ip-address": "127.0.0.1",
        "object-store-memory": str(96 * 2**20),
        "include-dashboard": "false",
        "temp-dir": str(folder),
    }
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [*command, *(f"--{name}={value}" for name, value in options.items())],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        env={**os.environ, "RAY_worker_register_timeout_seconds": str(LIMIT)},
    )
    try:
        address = folder / "ray_current_cluster"
        wait_for(lambda: process.poll() is not None or (address.exists() and bool(address.read_text().strip())))
        assert process.poll() is None, (folder / "log").read_text()
        yield RunningCluster(address.read_text().strip(), process.pid)
    finally:
        # All at once: on SIGTERM, Ray waits for half a minute for workers that have nothing to do.
        for number in {*processes_in(folder), *children(process.pid)}:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.kill()
        process.wait()
        log.close()
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def wait_for(is_ready: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + LIMIT
    while not is_ready():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose command line names a folder: those of a cluster with that folder."""
    numbers = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and int(path.name) != os.getpid():
            try:
                command = (path / "cmdline").read_bytes()
            except OSError:  # it has ended
                continue
            if str(folder).encode() in command:
                numbers.append(int(path.name))
    return numbers


def children(process: int) -> set[int]:
    """Return the processes that a process has started, with those that they have started."""
    parents = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError):
                # after the name of the program, which is in brackets and can contain anything
                parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    children: set[int] = set()
    generation = {process}
    while generation:
        generation = {number for number, parent in parents.items() if parent in generation}
        children |= generation
    return children

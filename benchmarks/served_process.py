"""Server processes of the benchmarks: started on a free port of this machine, measured from outside, and ended."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from load_client import HOST  # isort: skip  # beside this file, in benchmarks/

_START_SECONDS = 120.0


@dataclass(frozen=True)
class ServedProcess:
    """A server that answers."""

    pid: int
    port: int

    @property
    def cpu_seconds(self) -> float:
        """CPU time of all its threads so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> float:
        """Its resident memory in MB."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def served(command: Sequence[str], path: str = "/health") -> Iterator[ServedProcess]:
    """Start a server whose command takes `--port`, wait until it answers, and end it afterwards."""
    port = _free_port()
    with subprocess.Popen([sys.executable, *command, "--port", str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            _wait(process, f"http://{HOST}:{port}{path}")
            yield ServedProcess(process.pid, port)
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])


def _wait(process: "subprocess.Popen[bytes]", url: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with code {process.returncode}. Start it by hand to see why.")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"the server did not answer within {_START_SECONDS:g} s.")

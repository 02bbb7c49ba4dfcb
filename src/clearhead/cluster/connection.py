"""Connect to a Ray cluster, or start one on this machine; an address that does not answer is an error within a limit.

Ray's own messages stay in its log files, its dashboard is not started, and it sends no usage statistics.
"""

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, TextIO, cast

from clearhead.errors import ConfigError, RunError, not_installed, printable

AUTO = "auto"
CONNECT_LIMIT = 10.0  # seconds for the port to answer
ANSWER_LIMIT = 120.0  # seconds for Ray's own check of that port, which gives up after about 20 on an idle machine
_CHECK_LIMIT = "10"  # seconds for each attempt of that check
_START_LIMIT = 300  # seconds for a worker of a local cluster to start, on a busy machine
_LOCAL_STORE = 2**28  # bytes of shared memory of a local cluster; windows of text need little
_LOGGERS = ("ray", "ray.data")


@dataclass(frozen=True)
class RayCluster:
    """A cluster that this process is connected to: its number of CPUs and GPUs, and whether it was started here."""

    num_cpus: int
    num_gpus: int
    node: str  # the id of the node of this machine
    is_local: bool


@contextmanager
def connected(address: str, num_workers: int | None = None) -> Iterator[RayCluster]:
    """Connect to the cluster at `address`, and disconnect at the end; a cluster that was started here ends then too.

    `auto` is the cluster of the environment variable RAY_ADDRESS, otherwise the one that `ray start` started on this
    machine, otherwise a new one on this machine, with a CPU for each of `num_workers` (by default for each core).
    """
    if find_spec("ray") is None:
        raise ConfigError(not_installed("a cluster", "ray", "cluster"))
    _prepare_environment()
    existing = _existing_cluster() if address == AUTO else _checked(address)
    if existing is None:
        _set_token()
    import ray

    _silence()
    with redirect_stdout(cast(TextIO, OwnOutput(sys.stdout))):
        with _without_standard_error():
            _start(existing, num_workers)
        try:
            resources = ray.cluster_resources()
            node = ray.get_runtime_context().get_node_id()
            yield RayCluster(int(resources.get("CPU", 0)), int(resources.get("GPU", 0)), node, existing is None)
        finally:
            workers = _local_workers() if existing is None else set()
            ray.shutdown()
            _end_workers(workers)


class OwnOutput:
    """Standard output without what Ray prints: a thread of Ray prints there when a worker dies, between the results.

    Results are written to its `buffer`, or by the main thread.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text of the main thread, and discard all others."""
        if threading.current_thread() is threading.main_thread():
            return self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _start(existing: str | None, num_workers: int | None) -> None:
    """Start a cluster on this machine, or join an existing one."""
    import ray

    if existing is None:
        ray.init(
            address="local",
            num_cpus=num_workers,
            object_store_memory=_LOCAL_STORE,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.CRITICAL,
        )
        return
    try:
        ray.init(address=existing, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError) as wrong:
        reason = printable(str(wrong).strip().split("\n")[0].rstrip("."))
        raise RunError(
            f"the Ray cluster at {printable(existing)} cannot be joined: {reason}. This command must run on a node "
            "of the cluster, with the same versions of Python and Ray.",
            options=("ray",),
        ) from None


@contextmanager
def _without_standard_error() -> Iterator[None]:
    """Discard what is written to descriptor 2: the C++ part of Ray reports there that its messages are switched off."""
    try:
        original = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(original, 2)
        os.close(nothing)
        os.close(original)


def _local_workers() -> set[int]:
    """Return the worker processes of a cluster that was started here, where /proc lists processes."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            # after the name of the program, which is in brackets and can contain anything
            parents[int(path.parent.name)] = int(path.read_text(errors="replace").rpartition(")")[2].split()[1])
    workers: set[int] = set()
    generation = {os.getpid()}
    while generation:
        generation = {number for number, parent in parents.items() if parent in generation}
        workers |= generation
    return {number for number in workers if _is_worker(number)}


def _is_worker(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().startswith(b"ray::")
    except OSError:  # it has ended
        return False


def _end_workers(workers: set[int]) -> None:
    """End workers that remain after their cluster: on a busy machine, one can miss that it has ended, and stay."""
    for number in workers:
        if _is_worker(number):
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)


def _prepare_environment() -> None:
    """Set what Ray reads from the environment when it starts; the processes that it starts inherit it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its C++ part writes to standard error
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", str(_START_LIMIT))
    # Without GPUs, leave the variables alone that hide GPUs: otherwise Ray warns that this will become the default.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


def _set_token() -> None:
    """Protect a cluster that is started here with a token of its own, unless the user has chosen otherwise.

    Ray would write one token for all clusters to the user's home folder. It reads the variables when it is imported.
    """
    if "RAY_AUTH_MODE" not in os.environ and "ray" not in sys.modules:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = token_hex(32)


def _silence() -> None:
    import ray.data  # it configures its logger when it is imported

    assert ray.data
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _existing_cluster() -> str | None:
    """Return the address of a running cluster that the environment or a file of Ray names, or None."""
    address = os.environ.get("RAY_ADDRESS", "")
    if address not in ("", AUTO, "local"):
        return _checked(address)
    file = Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()) / "ray" / "ray_current_cluster"
    try:
        address = file.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    try:
        return _checked(address)
    except (ConfigError, RunError):  # left behind by a cluster that has ended
        return None


def _checked(address: str) -> str:
    """Return an address at which a Ray cluster answers, or raise an error."""
    shown = printable(address)
    host, colon, port = address.rpartition(":")
    if "/" in address or not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ConfigError(
            f"'{shown}' is not the address of a Ray cluster. Give {AUTO}, or HOST:PORT as `ray start` prints it.",
            options=("ray",),
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_LIMIT).close()
    except (OSError, UnicodeError) as wrong:
        reason = getattr(wrong, "strerror", None) or "no answer"
        raise RunError(
            f"no Ray cluster answers at {shown} within {CONNECT_LIMIT:.0f} s: {reason}. Start one with `ray start`, "
            f"correct the address, or give {AUTO}.",
            options=("ray",),
        ) from None
    answer = _ask_ray(address)
    if answer == "token":
        raise RunError(
            f"the Ray cluster at {shown} requires a token. Set the environment variables RAY_AUTH_MODE=token and "
            "RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH as on its nodes.",
            options=("ray",),
        )
    if answer != "yes":
        raise RunError(
            f"what answers at {shown} is not a Ray cluster of this version, or it did not answer within "
            f"{ANSWER_LIMIT:.0f} s. Correct the address, or give {AUTO}.",
            options=("ray",),
        )
    return address


def _ask_ray(address: str) -> Literal["yes", "no", "token"]:
    """Return whether Ray's own check of a cluster succeeds, or fails for lack of a token.

    It runs in a process of its own, because it can abort the process, and waits for a time that cannot be limited.
    """
    command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        check = subprocess.run(
            command,
            capture_output=True,
            timeout=ANSWER_LIMIT,
            check=False,
            env={**os.environ, "RAY_gcs_rpc_server_connect_timeout_s": _CHECK_LIMIT},
        )
    except subprocess.TimeoutExpired:
        return "no"
    if check.returncode == 0:
        return "yes"
    return "token" if b"AuthenticationError" in check.stderr else "no"

"""Several ranks of a run for tests: forked from a process that has imported torch, which takes three seconds.

A job is a function of a world and plain arguments; what it returns is written as JSON, by rank.
"""

import json
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

from clearhead.training.distributed.membership import Membership

_IMPORTED = (
    *("clearhead.training.loop", "clearhead.training.distributed.rendezvous", "clearhead.training.final_test"),
    *("torch._dynamo", "torch.utils.tensorboard", "sacrebleu", "tests.unit.training.distributed.jobs"),
)
_SERVER = "import sys; sys.argv[0] = 'ranks'; from tests.ranks import serve; serve()"


class RankServer:
    """Runs a job as several ranks, one job at a time."""

    def __init__(self, server: subprocess.Popen[bytes], folder: Path) -> None:
        self._server, self._folder, self._numbers = server, folder, count()

    def run(self, size: int, job: Callable[..., Any], **arguments: Any) -> list[Any]:
        """Return what the job returned in each rank; fail with the output of all ranks if one of them failed."""
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        request = [str(folder), size, job.__module__, job.__name__, arguments]
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        codes = json.loads(self._server.stdout.readline())
        logs = "\n".join(path.read_text() for path in sorted(folder.glob("*.log")))
        assert codes == [0] * size, f"{codes}\n{logs}"
        return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(size)]


@contextmanager
def rank_server(folder: Path) -> Iterator[RankServer]:
    """Start a process that has imported what training needs; end it afterwards."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", _SERVER]
    with subprocess.Popen(
        command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, env=environment
    ) as server:
        yield RankServer(server, folder)


def serve() -> None:
    """Fork the ranks of each job in standard input, and print their exit codes."""
    for name in _IMPORTED:
        import_module(name)
    for line in sys.stdin:
        folder, size, module, name, arguments = json.loads(line)
        with socket.create_server(("localhost", 0)) as server:
            port = server.getsockname()[1]
        ranks = [Membership(rank, size, rank, size, "localhost", port) for rank in range(size)]
        processes = [_fork(Path(folder), rank, (module, name), arguments) for rank in ranks]
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
        print(json.dumps(codes), flush=True)


def _fork(folder: Path, membership: Membership, job: tuple[str, str], arguments: dict[str, Any]) -> int:
    process = os.fork()
    if process:
        return process
    code = 1
    rank = membership.rank
    try:
        with (folder / f"{rank}.log").open("w") as log, open(os.devnull) as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        _work(folder, membership, getattr(import_module(job[0]), job[1]), arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _work(folder: Path, membership: Membership, job: Callable[..., Any], arguments: dict[str, Any]) -> None:
    from clearhead.training.config import TrainingConfig
    from clearhead.training.distributed.rendezvous import open_world

    with open_world(membership, TrainingConfig(device="cpu", rendezvous_seconds=600)) as world:
        result = job(world, **arguments)
        (folder / f"{membership.rank}.json").write_text(json.dumps(result))

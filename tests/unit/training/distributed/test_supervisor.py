"""The launcher of ranks, with ranks that are small programs: how it ends them, whom it names, which signals it passes on."""

import io
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from clearhead.training.distributed.supervisor import RanksResult, Supervisor, rank_command

# What every rank of these tests can use; `wait` ends only if the launcher ends the rank.
_START = """
import json, os, signal, sys, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
folder = os.environ["CLEARHEAD_FAILURES"]

def record(sentence, is_of_connection):
    values = {"rank": rank, "sentence": sentence, "is_of_connection": is_of_connection, "code": 2, "time": time.time()}
    with open(f"{folder}/part-{rank}", "w") as file:
        json.dump(values, file)
    os.rename(f"{folder}/part-{rank}", f"{folder}/rank-{rank}.json")
    sys.exit(2)

def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)

def wait():
    while True:
        time.sleep(1)
"""


def supervise(program: str, size: int = 3, grace: float = 60.0) -> RanksResult:
    code = _START + textwrap.dedent(program)
    return Supervisor([sys.executable, "-S", "-c", code], size, grace=grace).run()


def test_ranks_know_their_place_and_all_succeed(tmp_path: Path) -> None:
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    result = supervise(
        f"""
        with open(f"{tmp_path}/{{rank}}", "w") as file:
            file.write(" ".join(os.environ[name] for name in {names!r}))
        """
    )
    assert result.cause is None
    assert [end.code for end in result.ends] == [0, 0, 0]
    assert [(tmp_path / str(rank)).read_text() for rank in range(3)] == ["0 0 3 3", "1 1 3 3", "2 2 3 3"]


def test_a_killed_rank_is_named_although_others_report_a_lost_connection_first() -> None:
    # Rank 1 dies only after rank 0 has ended with its record, so that the launcher sees that one first.
    result = supervise(
        """
        if rank == 0:
            record("it lost the connection to another rank (closed by peer)", True)
        elif rank == 1:
            wait_for(f"{folder}/rank-0.json")
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        wait()
        """
    )
    assert result.cause is not None
    assert (result.cause.rank, result.cause.code) == (1, -signal.SIGKILL)
    assert result.ends[2].was_ended


def test_an_own_error_is_named_although_others_report_a_lost_connection_first() -> None:
    result = supervise(
        """
        if rank == 2:
            record("it lost the connection to another rank (closed by peer)", True)
        elif rank == 1:
            wait_for(f"{folder}/rank-2.json")
            time.sleep(0.5)
            record("the disk is full.", False)
        wait()
        """
    )
    assert result.cause is not None
    assert result.cause.record is not None
    assert (result.cause.rank, result.cause.record.sentence) == (1, "the disk is full.")


def test_ranks_that_do_not_end_by_themselves_are_ended() -> None:
    result = supervise("if rank == 1: record('it lost the connection', True)\nwait()", grace=0.1)
    assert result.cause is not None
    assert result.cause.rank == 1
    assert [end.was_ended for end in result.ends] == [True, False, True]


def test_the_output_of_a_rank_that_crashes_is_kept() -> None:
    result = supervise("if rank == 1: raise SystemExit('no such thing')\nwait()", size=2)
    assert result.cause is not None
    assert (result.cause.rank, result.cause.code, result.output) == (1, 1, "no such thing")


def test_process_numbers_are_printed() -> None:
    output = io.StringIO()
    result = Supervisor([sys.executable, "-S", "-c", ""], 2, announce=output).run()
    assert result.cause is None
    assert output.getvalue().startswith("Training with 2 processes (rank 0: ")


# A launcher in a process of its own. Its ranks say that they are ready, and stop on SIGTERM with 130, as in a training.
_RANK = (
    _START
    + """
signal.signal(signal.SIGTERM, lambda *_: os._exit(130))
signal.signal(signal.SIGINT, signal.SIG_IGN)
open(f"{sys.argv[1]}/ready-{rank}", "w").close()
wait()
"""
)
_LAUNCHER = """
import sys
from clearhead.training.distributed.supervisor import Supervisor
result = Supervisor([sys.executable, "-S", "-c", sys.argv[1], sys.argv[2]], 2).run()
print([end.code for end in result.ends], result.signals, result.is_interrupted)
"""


def launcher(folder: Path, rank: str = _RANK) -> subprocess.Popen[str]:
    """Start a launcher whose ranks have started."""
    process = subprocess.Popen([sys.executable, "-c", _LAUNCHER, rank, str(folder)], stdout=subprocess.PIPE, text=True)
    while not all((folder / f"ready-{rank}").is_file() for rank in range(2)):
        assert process.poll() is None
        time.sleep(0.01)
    return process


def test_a_signal_is_passed_on_to_all_ranks(tmp_path: Path) -> None:
    with launcher(tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate()
    assert output == f"[130, 130] ({int(signal.SIGTERM)},) True\n"


def test_ranks_stop_when_their_launcher_is_killed(tmp_path: Path) -> None:
    rank = f"""
import os, sys, time
sys.path[:0] = {sys.path!r}
from clearhead.training.distributed.supervisor import watch_lifeline
import signal
place = sys.argv[1] + "/stopped-" + os.environ["RANK"]
def stop(*_):
    open(place, "w").close()
    os._exit(130)
signal.signal(signal.SIGTERM, stop)
watch_lifeline()
open(sys.argv[1] + "/ready-" + os.environ["RANK"], "w").close()
while True:
    time.sleep(1)
"""
    with launcher(tmp_path, rank) as process:
        process.kill()
        process.wait()
        while not all((tmp_path / f"stopped-{rank}").is_file() for rank in range(2)):
            time.sleep(0.01)


def test_the_command_of_a_rank_is_this_program() -> None:
    assert rank_command(["train", "my.yaml"]) == [sys.executable, "-m", "clearhead", "train", "my.yaml"]

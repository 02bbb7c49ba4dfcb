"""`clearhead train` with several processes: start them, or work as one of them."""

import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from clearhead.errors import ClearheadError, RunError, printable

if TYPE_CHECKING:
    from clearhead.training.distributed.membership import Membership

_PROCESSES_PER_CORE, _FEWEST_PROCESSES = 4, 8  # more processes than that only wait for each other
_WAIT = 2.0  # seconds in which the launcher can see that another rank, which was lost, has ended


def membership_of(devices: int | None) -> "Membership | None":
    """Return the place of this process among the ranks of a run, or None if it is not one of several."""
    if "WORLD_SIZE" not in os.environ:
        return None
    from clearhead.training.distributed.membership import read_membership

    membership = read_membership()
    if devices is not None and membership is not None and not membership.is_launched:
        raise ClearheadError(
            f"--devices starts processes, but this one was already started as rank {membership.rank} of "
            f"{membership.size}. Remove --devices."
        )
    return membership


def check_ranks(number: int, *, has_text: bool, has_plan: bool, has_seeds: bool) -> None:
    """Refuse what only one process can do."""
    what = "--plan" if has_plan else "--seeds" if has_seeds else "a training from text files" if has_text else ""
    if number > 1 and what:
        advice = "Plan it with one process, and then train the config FOLDER/plan.yaml" if has_text else "Remove it"
        raise ClearheadError(f"{what} is for one process, but there are {number}. {advice}, or use --devices 1.")


def check_number(number: int) -> None:
    """Refuse more processes than this machine can run."""
    num_cores = os.cpu_count() or 1
    most = max(_FEWEST_PROCESSES, _PROCESSES_PER_CORE * num_cores)
    if number > most:
        raise ClearheadError(
            f"--devices {number} would start {number} processes on {num_cores} cores. Use at most {most} on this "
            "machine; torchrun starts processes on several machines."
        )


def start_ranks(number: int) -> None:
    """Start this command as `number` ranks, and exit as they do."""
    from clearhead.training.distributed.launcher import INTERRUPTED, run_ranks

    typer.echo(f"Training with {number} processes.", err=True)
    failure = run_ranks(sys.argv[1:], number)
    if failure is None:
        return
    if failure.code == 2:
        raise RunError(failure.sentence, options=failure.options)
    if failure.code != INTERRUPTED:  # otherwise rank 0 has said so, and how to resume
        typer.echo(f"clearhead: {failure.sentence}", err=True)
    raise typer.Exit(failure.code)


@contextmanager
def as_rank(membership: "Membership") -> Iterator[None]:
    """Work as a rank: report an error of this process as that of its rank, and end the process."""
    from clearhead.training.distributed.launcher import RankError, watch_launcher

    watch_launcher()
    code = 0
    try:
        yield
    except typer.Exit as end:
        code = end.exit_code
    except BaseException as error:
        if "--debug" in sys.argv[1:]:
            traceback.print_exc()
        problem = RankError.of(error)
        code = problem.code
        if not membership.is_launched and not isinstance(error, KeyboardInterrupt):
            typer.echo(f"clearhead: rank {membership.rank} failed: {printable(problem.sentence)}", err=True)
        if problem.is_of_connection:
            time.sleep(_WAIT)
        problem.write()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)  # at once: the threads of gloo can abort an interpreter that ends in order

"""`clearhead train` with several processes: start them, or work as one of them."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn

import typer

from clearhead.errors import ClearheadError, RunError, printable

if TYPE_CHECKING:
    from clearhead.training.distributed.membership import Membership
    from clearhead.training.distributed.supervisor import RanksResult

_INTERRUPTED = 130
_PROCESSES_PER_CORE, _FEWEST_PROCESSES = 4, 8  # more processes than that only wait for each other


def membership_of(devices: int | None) -> "Membership | None":
    """Return the place of this process among the ranks of a run, or None if it is not one of several."""
    if not {"WORLD_SIZE", "CLEARHEAD_STORE"} & set(os.environ):
        return None
    from clearhead.training.distributed.membership import read_membership

    membership = read_membership()
    if devices is not None and membership is not None and membership.store is None:
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


def start_ranks(number: int) -> None:
    """Start this command as `number` ranks, and exit as they do."""
    num_cores = os.cpu_count() or 1
    most = max(_FEWEST_PROCESSES, _PROCESSES_PER_CORE * num_cores)
    if number > most:
        raise ClearheadError(
            f"--devices {number} would start {number} processes on {num_cores} cores. Use at most {most} on this "
            "machine; torchrun starts processes on several machines."
        )
    from clearhead.training.distributed.supervisor import Supervisor, rank_command

    result = Supervisor(rank_command(sys.argv[1:]), number, announce=sys.stderr).run()
    if result.cause is not None:
        _exit(result)


def _exit(result: "RanksResult") -> None:
    from clearhead.training.distributed.failure import describe_cause

    cause = result.cause
    assert cause is not None
    if result.is_interrupted:
        if result.ends[0].was_ended:  # otherwise rank 0 has said so, and how to resume
            typer.echo("clearhead: interrupted.", err=True)
        raise typer.Exit(_INTERRUPTED)
    sentence = describe_cause(cause, result.ends)
    if result.output:
        sentence += f" It printed: {result.output.splitlines()[-1]}"
    if cause.record is None:
        raise RunError(f"{sentence} Resume the run from its last checkpoint.", options=("resume",))
    if cause.record.code == 3:
        typer.echo(f"clearhead: {sentence}", err=True)
        raise typer.Exit(3)
    raise RunError(sentence, options=cause.record.options)


@contextmanager
def as_rank(membership: "Membership") -> Iterator[None]:
    """Work as a rank: report an error of this process as that of its rank, and end the process."""
    from clearhead.training.distributed.failure import make_record, record_for_torchrun, write_record
    from clearhead.training.distributed.supervisor import watch_lifeline

    watch_lifeline()
    code = 0
    try:
        yield
    except typer.Exit as end:
        code = end.exit_code
    except BaseException as error:
        if "--debug" in sys.argv[1:]:
            traceback.print_exc()
        record = make_record(membership.rank, error)
        code = record.code
        if membership.failures is not None:  # the launcher prints it
            write_record(membership.failures, record)
        elif not isinstance(error, KeyboardInterrupt):
            typer.echo(f"clearhead: rank {membership.rank} failed: {printable(record.sentence)}", err=True)
            if not record.is_of_connection:
                record_for_torchrun(error)
    _leave(code)


def _leave(code: int) -> NoReturn:
    """End this process at once: the threads of gloo can abort an interpreter that ends in order."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)

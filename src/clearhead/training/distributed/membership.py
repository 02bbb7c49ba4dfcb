"""The place of this process among the ranks of a run, as torch's launcher states it in the environment.

This module does not import torch: the command line asks whether a process is a rank before it loads anything else.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from clearhead.errors import RunError
from clearhead.settings import shown

LAUNCHER = "CLEARHEAD_LAUNCHER"  # the process id of `train --devices`, which has started this process
_NUMBERS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
_ADVICE = (
    "Start the processes with torchrun, which sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; for one process, "
    "unset WORLD_SIZE."
)


@dataclass(frozen=True)
class Membership:
    """The rank of this process, the number of processes, and how they meet."""

    rank: int
    size: int
    local_rank: int
    local_size: int  # processes on this machine
    address: str = ""
    port: int = 0
    has_agent_store: bool = False  # torchrun's agent has opened the store, so no rank opens it
    attempt: str = "0"  # torchrun counts how often it has restarted the processes
    is_launched: bool = False  # by `train --devices`


def read_membership(environment: Mapping[str, str] = os.environ) -> Membership | None:
    """Return the place of this process among the ranks, or None if it was not started as one of several."""
    if "WORLD_SIZE" not in environment:
        return None
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in environment]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise RunError(f"WORLD_SIZE is set, but {' and '.join(missing)} {verb} not. {_ADVICE}")
    numbers = {name: _number(environment, name) for name in _NUMBERS if name in environment}
    rank, size = numbers["RANK"], numbers["WORLD_SIZE"]
    if not 0 <= rank < size:
        raise RunError(f"RANK = {rank} is not a rank of WORLD_SIZE = {size} processes: 0 to {size - 1}. {_ADVICE}")
    local = numbers.get("LOCAL_RANK", rank), numbers.get("LOCAL_WORLD_SIZE", size)
    return Membership(
        rank, size, *local, environment["MASTER_ADDR"], _number(environment, "MASTER_PORT"),
        environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True", environment.get("TORCHELASTIC_RESTART_COUNT", "0"),
        LAUNCHER in environment,
    )  # fmt: skip


def _number(environment: Mapping[str, str], name: str) -> int:
    try:
        return int(environment[name])
    except ValueError:
        raise RunError(f"{name} = {shown(environment[name])} is not a number. {_ADVICE}") from None

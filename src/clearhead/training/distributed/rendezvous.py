"""Meet the other ranks of a run: a store through which they find each other, a time limit, and a process group."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from clearhead.errors import ConfigError, RunError
from clearhead.model.device import choose_device
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.membership import Membership
from clearhead.training.distributed.world import ProcessWorld, World

_POLL = 0.05  # seconds
_EXCHANGE = timedelta(minutes=30)  # a rank that is silent for so long in an exchange is taken for dead
_BACKENDS = {"cpu": "gloo", "cuda": "cpu:gloo,cuda:nccl"}


@contextmanager
def open_world(membership: Membership, config: TrainingConfig) -> Iterator[World]:
    """Meet the other ranks, and yield what connects them. After an error the connection is not closed in order."""
    device = choose_device(config.device)
    check_gpus(membership, device)
    store = _meet(membership, config.rendezvous_seconds)
    if device.type == "cuda":
        torch.cuda.set_device(membership.local_rank)
    dist.init_process_group(
        _BACKENDS[device.type], store=PrefixStore("group", store), rank=membership.rank,
        world_size=membership.size, timeout=_EXCHANGE,
    )  # fmt: skip
    world = ProcessWorld(store, membership.rank, membership.size, membership.local_rank)
    yield world
    world.wait_for_all()  # until the first rank has written all files, and no rank needs the store
    dist.destroy_process_group()


def check_gpus(membership: Membership, device: torch.device) -> None:
    """Raise ConfigError if there are more processes on this machine than GPUs."""
    if device.type != "cuda":
        return
    available = torch.cuda.device_count()
    if membership.local_size > available:
        raise ConfigError(
            f"{membership.local_size} processes were started on this machine, and each needs a GPU, but PyTorch finds "
            f"{available}. Start {available}, or train on the CPU with training.device=cpu."
        )


def _meet(membership: Membership, seconds: float) -> Store:
    """Return the store of the run when all ranks have arrived; raise RunError if some are missing after `seconds`."""
    end = time.monotonic() + seconds
    store = PrefixStore(f"clearhead/{membership.attempt}", _open_store(membership, seconds))
    names = {rank: f"arrived/{rank}" for rank in range(membership.size)}
    try:
        store.set(names[membership.rank], "1")
        missing = list(names)
        while missing := [rank for rank in missing if not store.check([names[rank]])]:
            if time.monotonic() > end:
                raise RunError(_missing_ranks(missing, membership, seconds))
            time.sleep(_POLL)
        # The process that opens the store stays until all have read from it.
        store.add("seen", 1)
        while membership.rank == 0 and store.add("seen", 0) < membership.size and time.monotonic() < end + seconds:
            time.sleep(_POLL)
    except dist.DistNetworkError as wrong:
        raise RunError(
            f"rank {membership.rank} lost the connection to {membership.address}:{membership.port} while it waited for "
            f"the other ranks ({str(wrong).splitlines()[0]}). Read the message of rank 0."
        ) from None
    return store


def _open_store(membership: Membership, seconds: float) -> Store:
    limit = timedelta(seconds=seconds)
    is_master = membership.rank == 0 and not membership.has_agent_store
    place = f"{membership.address}:{membership.port}"
    try:
        return TCPStore(
            membership.address, membership.port, None, is_master=is_master, timeout=limit, wait_for_workers=False
        )
    except (dist.DistNetworkError, dist.DistStoreError, RuntimeError) as wrong:
        if is_master:
            raise RunError(
                f"rank 0 cannot listen at {place} ({str(wrong).splitlines()[0]}). Choose another MASTER_PORT."
            ) from None
        raise RunError(
            f"rank {membership.rank} of {membership.size} waited {seconds:g} s for rank 0, but nothing answers at "
            f"{place}. Start rank 0, and check MASTER_ADDR and MASTER_PORT; training.rendezvous_seconds is the limit."
        ) from None


def _missing_ranks(missing: list[int], membership: Membership, seconds: float) -> str:
    numbers = ", ".join(map(str, missing))
    what = f"rank {numbers} is missing" if len(missing) == 1 else f"ranks {numbers} are missing"
    return (
        f"only {membership.size - len(missing)} of {membership.size} processes arrived within {seconds:g} s: {what}. "
        "Start all of them with the same WORLD_SIZE, MASTER_ADDR and MASTER_PORT; training.rendezvous_seconds is the "
        "limit."
    )

"""The processes of a run: what they exchange. A run of one process uses `ALONE`, for which nothing is exchanged.

Every method is a collective: all ranks must call it, in the same order. Values are exchanged as JSON, never pickled.
"""

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import Store

_POLL = 0.05  # seconds between two looks at the store; Python handles signals in between


class World:
    """One process: rank 0 of 1."""

    rank = 0
    size = 1

    is_alone = True  # there is no process group, so that nothing has to be exchanged

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files and prints the messages."""
        return self.rank == 0

    def place(self, device: torch.device) -> torch.device:
        """Return the device of this rank: one GPU for each rank of a machine, or the CPU for all of them."""
        return device

    def announce(self, event: str) -> None:
        """Let the processes continue that wait for an event. Not a collective."""

    def wait_for(self, event: str) -> None:
        """Wait, without a time limit, until another process announces an event. Not a collective."""

    def any_of(self, flags: Sequence[bool]) -> list[bool]:
        """Return for each flag whether it is set in any process."""
        return list(flags)

    def share(self, value: Any) -> Any:
        """Return the value of the first process."""
        return self.gather(value)[0]

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank."""
        return [value]

    def sum_up(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes."""

    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of the first process."""

    def wait_for_all(self) -> None:
        """Wait until all processes have called this."""
        self.any_of([False])

    def share_of(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return every `size`-th value, from this rank on. Not a collective."""
        return values[self.rank :: self.size]

    def interleave(self, shares: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the values whose shares, as `share_of` returns them, were gathered from all ranks."""
        values = [None] * sum(map(len, shares))
        for rank, share in enumerate(shares):
            values[rank :: self.size] = share
        return values


class ProcessWorld(World):
    """Several processes in the default process group of torch (or one, with all its collectives)."""

    is_alone = False

    def __init__(self, store: Store, rank: int, size: int, local_rank: int = 0) -> None:
        self.rank, self.size = rank, size
        self._store, self._local_rank = store, local_rank

    def place(self, device: torch.device) -> torch.device:
        """Return the device of this rank."""
        return torch.device("cuda", self._local_rank) if device.type == "cuda" else device

    def announce(self, event: str) -> None:
        """Let the processes continue that wait for an event."""
        self._store.set(event, "1")

    def wait_for(self, event: str) -> None:
        """Wait until another process announces an event."""
        while not self._store.check([event]):
            time.sleep(_POLL)

    def any_of(self, flags: Sequence[bool]) -> list[bool]:
        """Return for each flag whether it is set in any process."""
        counts = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(counts, dist.ReduceOp.MAX)
        return [bool(count) for count in counts.tolist()]

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all processes, by rank."""
        content = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        lengths = [torch.zeros((), dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(lengths, torch.tensor(len(content)))
        padded = torch.zeros(int(max(lengths)), dtype=torch.uint8)
        padded[: len(content)] = content
        contents = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(contents, padded)
        return [json.loads(bytes(one[:length].tolist())) for one, length in zip(contents, lengths, strict=True)]

    def sum_up(self, tensor: Tensor) -> None:
        """Replace a tensor by its sum over all processes."""
        dist.all_reduce(tensor)

    @torch.no_grad()
    def copy_from_first(self, tensors: Iterable[Tensor]) -> None:
        """Replace tensors by those of the first process."""
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)


ALONE = World()

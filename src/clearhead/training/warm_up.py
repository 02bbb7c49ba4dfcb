"""Load torch's compiler and initialise the device, which takes seconds, in a thread while the data is read.

Learning a vocabulary releases the interpreter lock, so the two run in parallel.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import torch

_SIZE = 64  # width of a matrix product that makes the device load its library


@contextmanager
def warming_up(device: torch.device) -> Iterator[None]:
    """Load the requirements of training on a device while the body of the `with` statement runs."""
    thread = Thread(target=_load, args=(device,), name="warm-up")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(device: torch.device) -> None:
    import torch._dynamo  # torch's optimisers import it

    if device.type == "cuda":
        zeros = torch.zeros(_SIZE, _SIZE, device=device)
        for dtype in (torch.float32, torch.bfloat16):
            zeros.to(dtype) @ zeros.to(dtype)
        torch.cuda.synchronize(device)

"""What training needs and takes seconds to load, loaded while the text is read: torch's compiler, and the device.

Learning a vocabulary leaves the interpreter to others, so that the two go on at the same time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import torch

_SIZE = 64  # of a product that makes the device load its library


@contextmanager
def warming_up(device: torch.device) -> Iterator[None]:
    """Load what training on a device needs, beside what is done inside."""
    thread = Thread(target=_load, args=(device,), name="warm-up")
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _load(device: torch.device) -> None:
    import torch._dynamo  # every optimiser of torch loads it

    if device.type == "cuda":
        zeros = torch.zeros(_SIZE, _SIZE, device=device)
        for dtype in (torch.float32, torch.bfloat16):
            zeros.to(dtype) @ zeros.to(dtype)
        torch.cuda.synchronize(device)

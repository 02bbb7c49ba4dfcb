"""Ranks that do not come, and more ranks than GPUs."""

import socket

import pytest
import torch

from clearhead.errors import ConfigError, RunError
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.membership import Membership
from clearhead.training.distributed.rendezvous import check_gpus, open_world

CONFIG = TrainingConfig(device="cpu", rendezvous_seconds=1)


def error_of(membership: Membership) -> str:
    with pytest.raises(RunError) as error, open_world(membership, CONFIG):
        raise AssertionError("it must not start")
    return str(error.value)


def test_a_missing_rank_is_named_after_the_time_limit() -> None:
    assert error_of(Membership(0, 3, 0, 3, "127.0.0.1", 0)) == (
        "only 1 of 3 processes arrived within 1 s: ranks 1, 2 are missing. Start all of them with the same WORLD_SIZE, "
        "MASTER_ADDR and MASTER_PORT; training.rendezvous_seconds is the limit."
    )


def test_a_missing_first_rank_is_named_by_its_address() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))  # bound but not listening: nothing can answer, and nobody else takes the port
        port = place.getsockname()[1]
        message = error_of(Membership(1, 2, 1, 2, "127.0.0.1", port))
    assert message == (
        f"rank 1 of 2 waited 1 s for rank 0, but nothing answers at 127.0.0.1:{port}. Start rank 0, and check "
        "MASTER_ADDR and MASTER_PORT; training.rendezvous_seconds is the limit."
    )


def test_a_port_that_is_taken_is_reported() -> None:
    with socket.socket() as place:
        place.bind(("", 0))
        place.listen()
        port = place.getsockname()[1]
        message = error_of(Membership(0, 2, 0, 2, "127.0.0.1", port))
    assert message.startswith(f"rank 0 cannot listen at 127.0.0.1:{port} (")
    assert message.endswith("Choose another MASTER_PORT.")


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ConfigError) as error:
        check_gpus(Membership(0, 5, 0, 5), torch.device("cuda"))
    assert str(error.value) == (
        "5 processes were started on this machine, and each needs a GPU, but PyTorch finds 2. Start 2, or train on the "
        "CPU with training.device=cpu."
    )
    check_gpus(Membership(0, 2, 0, 2), torch.device("cuda"))
    check_gpus(Membership(0, 5, 0, 5), torch.device("cpu"))

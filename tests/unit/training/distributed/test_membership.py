"""The place of a process among the ranks, as the environment states it."""

import pytest

from clearhead.errors import RunError
from clearhead.training.distributed.membership import Membership, read_membership

TORCHRUN = {
    "RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "MASTER_ADDR": "node-a",
    "MASTER_PORT": "29500", "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "2",
}  # fmt: skip
ADVICE = (
    "Start the processes with torchrun, which sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; for one process, unset "
    "WORLD_SIZE."
)


def test_a_process_that_was_started_alone_has_no_rank() -> None:
    assert read_membership({"PATH": "/bin"}) is None


def test_the_variables_of_torchrun_are_read() -> None:
    assert read_membership(TORCHRUN) == Membership(5, 8, 1, 4, "node-a", 29500, True, "2")


def test_our_launcher_is_recognised() -> None:
    membership = read_membership({**TORCHRUN, "CLEARHEAD_LAUNCHER": "4711"})
    assert membership == Membership(5, 8, 1, 4, "node-a", 29500, True, "2", is_launched=True)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"WORLD_SIZE": "2"},
            f"WORLD_SIZE is set, but RANK and MASTER_ADDR and MASTER_PORT are not. {ADVICE}",
        ),
        ({**TORCHRUN, "RANK": "8"}, f"RANK = 8 is not a rank of WORLD_SIZE = 8 processes: 0 to 7. {ADVICE}"),
        ({**TORCHRUN, "WORLD_SIZE": "two"}, f"WORLD_SIZE = 'two' is not a number. {ADVICE}"),
        ({**TORCHRUN, "MASTER_PORT": ""}, f"MASTER_PORT = '' is not a number. {ADVICE}"),
    ],
)
def test_an_incomplete_environment_is_reported(environment: dict[str, str], message: str) -> None:
    with pytest.raises(RunError) as error:
        read_membership(environment)
    assert str(error.value) == message

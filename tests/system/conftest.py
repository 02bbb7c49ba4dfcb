"""A process that starts the command at once, shared by the tests of killed and interrupted runs."""

from collections.abc import Iterator

import pytest

from tests.system.forked import ForkServer, fork_server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with fork_server(tmp_path_factory.mktemp("forked")) as server:
        yield server

"""Several ranks, for the tests of what they exchange."""

from collections.abc import Iterator

import pytest

from tests.ranks import RankServer, rank_server


@pytest.fixture(scope="package")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RankServer]:
    with rank_server(tmp_path_factory.mktemp("ranks")) as server:
        yield server

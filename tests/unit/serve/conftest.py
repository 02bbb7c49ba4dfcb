"""A client of a server with the built-in model, shared by the tests of the translation APIs."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from tests.unit.serve.small_app import served


@pytest.fixture(scope="session")
def translating() -> Iterator[TestClient]:
    with served() as client:
        yield client

"""Fixtures of the training tests: an uninterrupted run."""

import pytest

from tests.unit.training.runs import Result, train


@pytest.fixture(scope="session")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of the plain config, from its beginning to its end."""
    return train(tmp_path_factory.mktemp("whole") / "run")

"""Fixtures of the training tests: an uninterrupted run, and built-in sentences that are drawn once per process."""

from collections.abc import Iterator

import pytest

from clearhead.data import corpora
from clearhead.data.config import CorpusConfig
from tests.unit.training.runs import Result, train


@pytest.fixture(scope="session", autouse=True)
def _built_in_pairs_are_drawn_once() -> Iterator[None]:
    """Keep the pairs of a built-in corpus: every run of a test draws the same twenty thousand, to read and to hash."""
    draw, pairs = corpora._built_in, {}

    def drawn_once(config: CorpusConfig) -> Iterator[tuple[str, str]]:
        name = (config.built_in, config.split)
        if name not in pairs:
            pairs[name] = tuple(draw(config))
        return iter(pairs[name])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "_built_in", drawn_once)
        yield


@pytest.fixture(scope="session")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A run of the plain config, from its beginning to its end."""
    return train(tmp_path_factory.mktemp("whole") / "run")

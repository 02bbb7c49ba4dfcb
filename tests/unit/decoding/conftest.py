"""Fixtures of the decoding tests: small random models, loaded once per process."""

import pytest

from clearhead.decoding.translator import Translator
from tests.small_run import make_run


@pytest.fixture(scope="session")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model of one language pair; it reads 36 tokens at once."""
    return Translator.load(make_run(tmp_path_factory.mktemp("run")), engine="torch")


@pytest.fixture(scope="session")
def tagged_translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model that writes German or Bengali, selected by a tag."""
    return Translator.load(make_run(tmp_path_factory.mktemp("run"), ("de", "bn")), engine="torch")

"""Explanations of small random models, computed once per process."""

import pytest

from clearhead.decoding.search.settings import SearchSettings
from clearhead.decoding.translator import Translator
from clearhead.explain import ExplainOptions, Explanation, LoadedModel, explain
from tests.unit.explain.models import SENTENCE, single_stack, tagged_translator

BEAM = SearchSettings(beam=3, n_best=3, max_length=11)


@pytest.fixture(scope="session")
def german(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return tagged_translator(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def explanation(german: Translator) -> Explanation:
    head = "decoder.1.cross_attention.head.0"
    return explain(german, SENTENCE, search=BEAM, language="de", options=ExplainOptions(sums=(head,)))


@pytest.fixture(scope="session")
def language_model() -> LoadedModel:
    return single_stack("decoder")


@pytest.fixture(scope="session")
def classifier() -> LoadedModel:
    return single_stack("encoder")

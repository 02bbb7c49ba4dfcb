"""Search in NumPy: limits, pools and minimum lengths by hand; the parity tests compare it with torch."""

import math

from clearhead.decoding.search.numpy_search import numpy_search
from clearhead.decoding.search.settings import SearchSettings
from clearhead.formats.arrays import arrays_of
from clearhead.model.numpy_transformer import NumpyTransformer
from tests.unit.decoding.toys import random_model, sources


def model_of(seed: int = 36) -> NumpyTransformer:
    weights = arrays_of(random_model(seed))
    return NumpyTransformer(weights.config, weights.arrays)


def test_no_hypothesis_is_longer_than_its_limit_and_the_log_probs_add_up() -> None:
    limits = [9, 7, 5, 3, 1]
    source = sources(random_model()).numpy()
    outcomes = numpy_search(model_of(), source, limits, SearchSettings(beam=3, n_best=3))
    for hypotheses, limit in zip(outcomes, limits, strict=True):
        assert hypotheses == sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
        for hypothesis in hypotheses:
            assert 1 <= len(hypothesis.tokens) <= limit
            assert hypothesis.has_ended == (hypothesis.tokens[-1] == 2)
            assert math.isclose(
                hypothesis.score, math.fsum(hypothesis.log_probs) / len(hypothesis.tokens), abs_tol=1e-5
            )


def test_a_translation_does_not_end_before_its_minimum_length() -> None:
    source = sources(random_model()).numpy()
    for beam in (1, 3):
        outcomes = numpy_search(model_of(), source, [17] * 5, SearchSettings(beam=beam, min_length=6))
        assert all(len(hypotheses[0].tokens) > 6 for hypotheses in outcomes)

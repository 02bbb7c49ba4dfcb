"""Other tokens at a place of a translation, each with the best translation after it."""

import pytest
import torch

from clearhead.decoding.alternatives import alternatives
from clearhead.decoding.search.beam import beam_search
from clearhead.decoding.search.constraints import Constraints
from clearhead.decoding.search.settings import SearchSettings
from tests.unit.decoding.toys import random_model, sources


@torch.inference_mode()
def test_alternatives_are_the_most_probable_tokens_each_with_its_best_translation() -> None:
    model = random_model(36)
    source = sources(model, (5,))[0]
    best = beam_search(model, source[None], [11], SearchSettings())[0][0]
    choices = alternatives(model, source, Constraints(best.tokens[:2]), 4, 11)
    assert len(choices) == 4
    assert choices[0].token == best.tokens[2]
    assert choices[0].hypothesis.tokens == best.tokens
    assert [choice.log_prob for choice in choices] == sorted((choice.log_prob for choice in choices), reverse=True)
    for choice in choices:
        assert choice.hypothesis.tokens[:3] == (*best.tokens[:2], choice.token)
        assert choice.hypothesis.log_probs[2] == pytest.approx(choice.log_prob)
    first = alternatives(model, source, Constraints(), 50, 11)
    assert len(first) == 28, "every token but padding and bos"

"""A model is left in the mode that it was in, whatever happens."""

import pytest

from clearhead.model.modes import evaluation_mode
from tests.unit.decoding.toys import random_model


@pytest.mark.parametrize("is_training", [True, False])
def test_the_model_is_left_in_the_mode_that_it_was_in(is_training: bool) -> None:
    model = random_model(36).train(is_training)
    with evaluation_mode(model):
        assert not model.training
    assert model.training == is_training
    with pytest.raises(ZeroDivisionError), evaluation_mode(model):
        _ = 1 / 0
    assert model.training == is_training

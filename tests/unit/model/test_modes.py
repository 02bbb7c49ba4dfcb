"""The previous mode of a model is restored, whatever happens."""

import pytest

from clearhead.model.modes import evaluation_mode
from tests.unit.decoding.toys import random_model


@pytest.mark.parametrize("is_training", [True, False])
def test_the_previous_mode_of_the_model_is_restored(is_training: bool) -> None:
    model = random_model(36).train(is_training)
    with evaluation_mode(model):
        assert not model.training
    assert model.training == is_training
    with pytest.raises(ZeroDivisionError), evaluation_mode(model):
        _ = 1 / 0
    assert model.training == is_training

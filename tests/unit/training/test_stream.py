"""How the rows of a run's batches are filled."""

import pytest

from clearhead.model import ModelConfig
from clearhead.training.stream import choose_batching
from tests.unit.training.runs import settings_of


@pytest.mark.parametrize(
    ("batching", "encoder_norm", "task", "result"),
    [
        ("auto", "each", "translate", "packed"),
        ("bucketed", "each", "translate", "bucketed"),
        ("auto", "all", "translate", "bucketed"),
        ("packed", "each", "classify", "bucketed"),
    ],
)
def test_sentences_share_a_row_unless_the_model_needs_one_per_row(
    batching: str, encoder_norm: str, task: str, result: str
) -> None:
    config = settings_of(training={"batching": batching}).model_copy(update={"task": task})
    model = ModelConfig(source_vocabulary=97).model_copy(update={"encoder_norm": encoder_norm})
    assert choose_batching(config, model) == result

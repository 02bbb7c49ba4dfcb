"""Build a model with random weights from a config. This is the only place that chooses the class of a model."""

from clearhead.model.config import ModelConfig
from clearhead.model.protocol import TrainableModel
from clearhead.model.transformer import Transformer


def build_model(config: ModelConfig) -> TrainableModel:
    """Return the model that a config describes, with the random weights that training starts from."""
    return Transformer(config)

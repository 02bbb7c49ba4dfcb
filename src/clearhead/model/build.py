"""Build a model with random weights from a config. This is the only place that chooses the class of a model."""

from clearhead.errors import ConfigError
from clearhead.model.base import BaseSequenceModel
from clearhead.model.config import ModelConfig
from clearhead.model.convolutional import ConvolutionalModel
from clearhead.model.transformer import Transformer


def build_model(config: ModelConfig) -> BaseSequenceModel:
    """Return the model that a config describes, with the random weights that training starts from."""
    if config.architecture == "transformer":
        return Transformer(config)
    if config.architecture == "convolutional":
        return ConvolutionalModel(config)
    raise ConfigError(f"architecture = '{config.architecture}' is not supported by this version. Use transformer.")

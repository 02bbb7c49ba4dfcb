"""Build a model with random weights from a config. This is the only place that chooses the class of a model."""

from clearhead.model.base import SequenceModel
from clearhead.model.config import ModelConfig
from clearhead.model.convolutional import ConvolutionalModel
from clearhead.model.recurrent import RecurrentModel
from clearhead.model.transformer import Transformer

_CLASSES: tuple[type[SequenceModel], ...] = (Transformer, RecurrentModel, ConvolutionalModel)


def build_model(config: ModelConfig) -> SequenceModel:
    """Return the model that a config describes, with the random weights that training starts from."""
    return next(one for one in _CLASSES if one.architecture == config.architecture)(config)

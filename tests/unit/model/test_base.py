"""What every architecture has in common."""

import pytest
import torch

from clearhead.errors import ConfigError
from clearhead.model import Batch, ModelConfig, build_model
from clearhead.model.base import SequenceModel
from clearhead.model.config import preset, read_config
from clearhead.model.transformer import Transformer, require_transformer

SIZES = {"source_vocabulary": 13, "encoder_blocks": 1, "decoder_blocks": 1, "d_model": 6}


def make(**changes: object) -> SequenceModel:
    return build_model(read_config({**SIZES, "num_heads": 2, "d_ff": 7, **changes}))


def test_the_padding_has_a_zero_embedding_and_the_output_is_tied() -> None:
    model = make(tied="three")
    assert isinstance(model, Transformer)
    assert model.output.weight[model.config.pad].tolist() == [0.0] * 6
    assert model.encoder is not None
    assert model.encoder.embedding.weight is model.output.weight


def test_the_mean_of_a_classifier_leaves_out_padding() -> None:
    model = make(shape="encoder", num_classes=3).eval()
    alone, padded = torch.tensor([[3, 4, 2]]), torch.tensor([[3, 4, 2, 0, 0]])
    torch.testing.assert_close(model(Batch(padded)), model(Batch(alone)))


def test_only_a_transformer_passes_for_one() -> None:
    model = make()
    assert require_transformer(model, "pruning") is model
    model.config = ModelConfig.model_validate({**SIZES, "architecture": "recurrent"})
    model.__class__ = SequenceModel
    with pytest.raises(ConfigError) as wrong:
        require_transformer(model, "pruning")
    assert str(wrong.value) == "pruning needs the heads and layers of a Transformer, but this model is recurrent."


@pytest.mark.parametrize("architecture", ["recurrent", "convolutional"])
def test_a_class_refuses_the_config_of_another_architecture(architecture: str) -> None:
    config = preset("tiny", source_vocabulary=11, architecture=architecture)
    with pytest.raises(ConfigError) as wrong:
        Transformer(config)
    assert str(wrong.value) == (
        f"the config describes a {architecture} model, which Transformer is not. "
        "Build it with clearhead.model.build_model(config)."
    )
    assert build_model(config).architecture == architecture

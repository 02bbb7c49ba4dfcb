"""Our weights under CTranslate2's names: every number is copied, and tokens that are never written cannot be chosen."""

import numpy as np
import pytest

pytest.importorskip("ctranslate2", reason="needs ctranslate2")

from clearhead.formats.arrays import arrays_of
from clearhead.formats.ctranslate2 import HIDDEN_LOGIT
from clearhead.formats.ctranslate2_spec import specification
from clearhead.model import ModelConfig, Transformer


def config_of(**changes: object) -> ModelConfig:
    sizes = {
        "source_vocabulary": 23,
        "target_vocabulary": 29,
        "tied": "none",
        "d_model": 14,
        "num_heads": 7,
        "d_ff": 11,
    }
    return ModelConfig(**{**sizes, "encoder_blocks": 2, "decoder_blocks": 3, "max_length": 17, **changes})


def test_every_number_of_the_model_is_copied() -> None:
    model = Transformer(config_of()).eval()
    spec = specification(arrays_of(model))
    numbers = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    decoder = spec.decoder.layer[2]
    assert np.array_equal(spec.encoder.embeddings[0].weight, numbers["encoder.embedding.weight"])
    assert np.array_equal(spec.decoder.embeddings.weight, numbers["decoder.embedding.weight"])
    assert np.array_equal(spec.decoder.projection.weight, numbers["output.weight"])
    assert np.array_equal(
        decoder.self_attention.linear[0].weight, numbers["decoder_blocks.2.self_attention.packed.weight"]
    )
    assert np.array_equal(decoder.attention.linear[0].weight, numbers["decoder_blocks.2.cross_attention.query.weight"])
    assert np.array_equal(decoder.attention.linear[1].bias, numbers["decoder_blocks.2.cross_attention.packed.bias"])
    assert np.array_equal(decoder.ffn.linear_1.weight, numbers["decoder_blocks.2.feed_forward.second.weight"])
    assert np.array_equal(decoder.ffn.layer_norm.gamma, numbers["decoder_blocks.2.residuals.2.norm.gain"])
    assert spec.encoder.position_encodings.encodings.shape == (17, 14)


def test_exactly_the_tokens_that_are_never_written_get_the_hidden_logit() -> None:
    config = config_of()
    bias = specification(arrays_of(Transformer(config))).decoder.projection.bias
    assert config.never_written
    hidden = np.flatnonzero(bias == HIDDEN_LOGIT).tolist()
    assert hidden == sorted(config.never_written)


def test_gates_and_rms_norms_have_their_places() -> None:
    changes = {"is_gated": True, "activation": "silu", "encoder_norm": "rms", "decoder_norm": "rms"}
    spec = specification(arrays_of(Transformer(config_of(**changes))))
    layer = spec.encoder.layer[1]
    assert layer.ffn.linear_0_noact.weight.shape == (11, 14)
    assert layer.ffn.layer_norm.gamma.shape == (14,)


def test_tokens_are_named_by_their_numbers() -> None:
    config = config_of(bos=1, eos=2, pad=0)
    spec = specification(arrays_of(Transformer(config)))
    assert spec.config.decoder_start_token == str(config.start_id)
    assert (spec.config.bos_token, spec.config.eos_token) == ("1", "2")
    assert spec.config.layer_norm_epsilon == config.epsilon

"""The weights of a Transformer under the names of CTranslate2's specification. Nothing here needs torch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from ctranslate2.specs import Activation, TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec

from clearhead.formats.arrays import ModelArrays, with_zeros
from clearhead.formats.ctranslate2 import HIDDEN_LOGIT, TokenNames
from clearhead.model.config import ModelConfig
from clearhead.model.numpy_transformer import complete_weights

Weights = Mapping[str, npt.NDArray[np.float32]]
_ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "silu": Activation.SWISH}


def specification(model: ModelArrays, names: TokenNames | None = None) -> TransformerSpec:
    """Return the specification of a model, with its weights in float32; without names, a token is named by its id.

    Removed heads are zeros.
    """
    model = with_zeros(model)
    config, weights = model.config, complete_weights(model.config, model.arrays)
    same: dict[str, Any] = {"activation": _ACTIVATIONS[config.activation], "ffn_glu": config.is_gated}
    # the specification creates a final norm only with pre_norm, although CTranslate2 reads it for any model
    same |= {"pre_norm": True, "no_final_norm": not config.ends_with_norm}
    encoder = TransformerEncoderSpec(
        config.encoder_blocks, config.num_heads, rms_norm=config.encoder_norm == "rms", **same
    )
    decoder = TransformerDecoderSpec(
        config.decoder_blocks, config.num_heads, rms_norm=config.decoder_norm == "rms", **same
    )
    _set_stack(encoder, encoder.embeddings[0], "encoder", config, weights)
    _set_stack(decoder, decoder.embeddings, "decoder", config, weights)
    for side, spec in (("encoder", encoder), ("decoder", decoder)):
        for number, layer in enumerate(spec.layer):
            _set_block(layer, f"{side}_blocks.{number}", weights)
    _set_output(decoder.projection, config, weights)
    spec = TransformerSpec(encoder, decoder)
    _set_tokens(spec, config, names)
    return spec


def _set_stack(spec: Any, embeddings: Any, side: str, config: ModelConfig, weights: Weights) -> None:
    spec.pre_norm = config.norm_place == "pre"
    spec.scale_embeddings = config.scale_embedding
    embeddings.weight = _copy(weights[f"{side}.embedding.weight"])
    spec.position_encodings.encodings = _copy(weights[f"{side}.position"])
    if config.ends_with_norm:
        _set_norm(spec.layer_norm, f"{side}.last_norm", weights)


def _set_block(layer: Any, place: str, weights: Weights) -> None:
    sublayers = {"self_attention": layer.self_attention}
    if place.startswith("decoder"):
        sublayers["cross_attention"] = layer.attention
    sublayers["feed_forward"] = layer.ffn
    for number, (name, spec) in enumerate(sublayers.items()):
        _set_norm(spec.layer_norm, f"{place}.residuals.{number}.norm", weights)
        if name == "feed_forward":
            _set_linear(spec.linear_0, f"{place}.{name}.first", weights)
            _set_linear(spec.linear_1, f"{place}.{name}.second", weights)
            if f"{place}.{name}.gate.weight" in weights:
                _set_linear(spec.linear_0_noact, f"{place}.{name}.gate", weights)
        else:
            parts = ("packed", "output") if name == "self_attention" else ("query", "packed", "output")
            for linear, part in zip(spec.linear, parts, strict=True):
                _set_linear(linear, f"{place}.{name}.{part}", weights)


def _set_linear(spec: Any, name: str, weights: Weights) -> None:
    spec.weight = _copy(weights[f"{name}.weight"])
    if f"{name}.bias" in weights:
        spec.bias = _copy(weights[f"{name}.bias"])


def _set_norm(spec: Any, name: str, weights: Weights) -> None:
    spec.gamma = _copy(weights[f"{name}.gain"])
    if f"{name}.shift" in weights:  # an RMS norm has none
        spec.beta = _copy(weights[f"{name}.shift"])


def _set_output(spec: Any, config: ModelConfig, weights: Weights) -> None:
    """Set the weights of the logits; tokens that must never be generated get a very low bias."""
    spec.weight = _copy(weights["output.weight"])
    bias = weights.get("output.bias")
    spec.bias = np.zeros(config.target_size, dtype=np.float32) if bias is None else _copy(bias)
    spec.bias[list(config.never_written)] = HIDDEN_LOGIT


def _set_tokens(spec: TransformerSpec, config: ModelConfig, names: TokenNames | None) -> None:
    # named by their ids, no token is unknown to CTranslate2; the model's own unknown token is hidden by its bias
    unknown = config.pad if names is None or config.unk is None else config.unk
    names = names or TokenNames.numbers(config)
    spec.register_source_vocabulary(list(names.source))
    spec.register_target_vocabulary(list(names.target))
    target = names.target
    spec.config.bos_token, spec.config.eos_token = target[config.bos], target[config.eos]
    spec.config.unk_token = target[unknown]
    spec.config.decoder_start_token = target[config.start_id]
    spec.config.layer_norm_epsilon = config.epsilon


def _copy(array: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return a copy, because optimising a specification changes its arrays."""
    return np.array(array, dtype=np.float32)

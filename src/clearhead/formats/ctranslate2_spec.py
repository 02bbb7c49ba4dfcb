"""The weights of a Transformer under the names of CTranslate2's specification."""

from typing import Any

import numpy as np
import numpy.typing as npt
from ctranslate2.specs import Activation, TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec
from torch import Tensor, nn

from clearhead.formats.ctranslate2 import HIDDEN_LOGIT
from clearhead.model import ModelConfig, Transformer
from clearhead.model.attention import Attention
from clearhead.model.layers import DecoderBlock, EncoderBlock, FeedForward
from clearhead.model.transformer import Stack

Array = npt.NDArray[np.float32]
_ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "silu": Activation.SWISH}


def specification(model: Transformer) -> TransformerSpec:
    """Return the specification of a model, with its weights in float32."""
    config = model.config
    assert model.encoder is not None
    assert model.decoder is not None
    same: dict[str, Any] = {"activation": _ACTIVATIONS[config.activation], "ffn_glu": config.is_gated}
    # the specification creates a final norm only with pre_norm, although CTranslate2 reads it for any model
    same |= {"pre_norm": True, "no_final_norm": not config.ends_with_norm}
    encoder = TransformerEncoderSpec(
        config.encoder_blocks, config.num_heads, rms_norm=config.encoder_norm == "rms", **same
    )
    decoder = TransformerDecoderSpec(
        config.decoder_blocks, config.num_heads, rms_norm=config.decoder_norm == "rms", **same
    )
    _set_stack(encoder, encoder.embeddings[0], model.encoder, config)
    _set_stack(decoder, decoder.embeddings, model.decoder, config)
    for layer, block in zip(encoder.layer, model.encoder_blocks, strict=True):
        assert isinstance(block, EncoderBlock)
        _set_block(layer, block)
    for layer, block in zip(decoder.layer, model.decoder_blocks, strict=True):
        assert isinstance(block, DecoderBlock)
        _set_block(layer, block)
    _set_output(decoder.projection, model)
    spec = TransformerSpec(encoder, decoder)
    _set_tokens(spec, config)
    return spec


def _set_stack(spec: Any, embeddings: Any, stack: Stack, config: ModelConfig) -> None:
    spec.pre_norm = config.norm_place == "pre"
    spec.scale_embeddings = config.scale_embedding
    embeddings.weight = _array(stack.embedding.weight)
    assert stack.position is not None
    spec.position_encodings.encodings = _array(stack.position)
    if stack.last_norm is not None:
        _set_norm(spec.layer_norm, stack.last_norm)


def _set_block(layer: Any, block: EncoderBlock | DecoderBlock) -> None:
    sublayers: list[tuple[Any, nn.Module]] = [(layer.self_attention, block.self_attention)]
    if isinstance(block, DecoderBlock):
        assert block.cross_attention is not None
        sublayers.append((layer.attention, block.cross_attention))
    sublayers.append((layer.ffn, block.feed_forward))
    for (spec, sublayer), residual in zip(sublayers, block.residuals, strict=True):
        norm = residual.norm
        assert isinstance(norm, nn.Module)
        _set_norm(spec.layer_norm, norm)
        if isinstance(sublayer, Attention):
            linears = [sublayer.packed, sublayer.output]
            if sublayer.is_cross:
                linears.insert(0, sublayer.query)
            for part, linear in zip(spec.linear, linears, strict=True):
                _set_linear(part, linear)
        else:
            assert isinstance(sublayer, FeedForward)
            _set_linear(spec.linear_0, sublayer.first)
            _set_linear(spec.linear_1, sublayer.second)
            if sublayer.gate is not None:
                _set_linear(spec.linear_0_noact, sublayer.gate)


def _set_linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _array(linear.weight)
    if linear.bias is not None:
        spec.bias = _array(linear.bias)


def _set_norm(spec: Any, norm: nn.Module) -> None:
    numbers = dict(norm.named_parameters())
    spec.gamma = _array(numbers["gain"])
    if "shift" in numbers:  # an RMS norm has none
        spec.beta = _array(numbers["shift"])


def _set_output(spec: Any, model: Transformer) -> None:
    """Set the weights of the logits; tokens that must never be generated get a very low bias."""
    spec.weight = _array(model.output.weight)
    has_bias = model.output.bias is not None
    spec.bias = _array(model.output.bias) if has_bias else np.zeros(model.config.target_size, dtype=np.float32)
    spec.bias[list(model.config.never_written)] = HIDDEN_LOGIT


def _set_tokens(spec: TransformerSpec, config: ModelConfig) -> None:
    spec.register_source_vocabulary([str(number) for number in range(config.source_vocabulary)])
    spec.register_target_vocabulary([str(number) for number in range(config.target_size)])
    spec.config.bos_token, spec.config.eos_token = str(config.bos), str(config.eos)
    # every id has a name, so no token is unknown to CTranslate2; the model's own unknown token is hidden by its bias
    spec.config.unk_token = str(config.pad)
    spec.config.decoder_start_token = str(config.start_id)
    spec.config.layer_norm_epsilon = config.epsilon


def _array(tensor: Tensor) -> Array:
    """Return a copy of a tensor in float32."""
    return np.array(tensor.detach().cpu().float().numpy())

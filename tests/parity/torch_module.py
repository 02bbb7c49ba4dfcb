"""The layers of torch.nn.Transformer with our weights and the other way round: an implementation to compare with."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from clearhead.errors import CheckpointError, ConfigError
from clearhead.formats.head_removal import with_all_heads
from clearhead.formats.shapes import misfits, shapes_of
from clearhead.formats.weights import (
    WeightMapping,
    build_transformer,
    checked_tensors,
    own_tensors,
    shapes_elsewhere,
    to_ours,
    to_theirs,
)
from clearhead.model import ModelConfig, Transformer
from clearhead.model.config import read_config

_ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "silu": functional.silu,
}


def from_torch_transformer(module: nn.Transformer, config: ModelConfig) -> Transformer:
    """Return a model with the module's layers, in eval mode.

    `config` supplies what nn.Transformer lacks: vocabularies, positions, ties, ids. The rest is read from the module.
    Embeddings and output are initialised at random.
    """
    model_config = _config_from(module, config)
    theirs = dict(module.state_dict())
    shapes = shapes_of(model_config)
    mappings = weight_mappings(model_config)
    wanted = shapes_elsewhere(mappings, shapes)
    some = next(iter(theirs.values()))
    for name, shape in wanted.items():  # with bias=False the norms of nn.Transformer have no shift either
        if not model_config.has_bias and name.endswith(".bias") and name not in theirs:
            theirs[name] = some.new_zeros(shape)
    wrong = misfits(theirs, wanted)
    if wrong:
        raise CheckpointError(
            f"this nn.Transformer is not built from the usual layers: {wrong}. Only those are supported."
        )
    fresh = own_tensors(Transformer(model_config).to(device=some.device, dtype=some.dtype))
    return build_transformer(model_config, {**fresh, **to_ours(theirs, mappings, shapes)}, some.device)


def _config_from(module: nn.Transformer, config: ModelConfig) -> ModelConfig:
    """Return the config with everything that the module decides."""
    encoder, decoder = module.encoder, module.decoder
    if not isinstance(encoder, nn.TransformerEncoder) or not isinstance(decoder, nn.TransformerDecoder):
        raise CheckpointError("this nn.Transformer has a custom encoder or decoder. Only PyTorch's own are supported.")
    if not len(encoder.layers) or not len(decoder.layers):
        raise CheckpointError("this nn.Transformer has no layers on one side, so its sizes cannot be read.")
    sides = [_side_settings(layer) for layer in (*encoder.layers, *decoder.layers)]
    norms = [stack.norm.eps for stack in (encoder, decoder) if isinstance(stack.norm, nn.LayerNorm)]
    for name in sides[0]:
        values = list(dict.fromkeys(side[name] for side in sides))
        if len(values) > 1:
            raise CheckpointError(
                f"the layers of nn.Transformer differ in {name}: {', '.join(map(str, values))}. They must be the same."
            )
    if len(norms) == 1 or any(epsilon != sides[0]["epsilon"] for epsilon in norms):
        raise CheckpointError("the last norms of this nn.Transformer differ from each other or from its layers'.")
    changes: dict[str, Any] = {
        **sides[0],
        "shape": "encoder-decoder",
        "d_decoder": None,
        "encoder_blocks": len(encoder.layers),
        "decoder_blocks": len(decoder.layers),
        "encoder_norm": "layer",
        "decoder_norm": "layer",
        "has_last_norm": bool(norms),
        "is_gated": False,
        "heads_kept": {},
        "scale_scores": True,
    }
    try:
        return read_config({**config.model_dump(), **changes})
    except ConfigError as wrong:
        raise CheckpointError(f"the config does not match this nn.Transformer: {' '.join(wrong.mistakes)}") from None


def _side_settings(layer: nn.Module) -> dict[str, Any]:
    """Return the settings of the model that one layer determines."""
    if not isinstance(layer, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
        raise CheckpointError(
            f"this nn.Transformer has layers of type {type(layer).__name__}. Only PyTorch's own are supported."
        )
    attention = layer.self_attn
    assert isinstance(attention, nn.MultiheadAttention)
    return {
        "d_model": attention.embed_dim,
        "num_heads": attention.num_heads,
        "d_ff": layer.linear1.out_features,
        "has_bias": layer.linear1.bias is not None,
        "norm_place": "pre" if layer.norm_first else "post",
        "epsilon": layer.norm1.eps,
        "activation": _activation_name(layer.activation),
        "dropout": layer.dropout1.p,
        "attention_dropout": attention.dropout,
        "activation_dropout": layer.dropout.p,
    }


def _activation_name(function: Any) -> str:
    """Return the name of a layer's activation, which can be a function or a module."""
    kinds: Mapping[str, tuple[Any, ...]] = {
        "relu": (functional.relu, torch.relu),
        "gelu": (functional.gelu,),
        "silu": (functional.silu,),
    }
    modules = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}
    for name, functions in kinds.items():
        is_plain = getattr(function, "approximate", "none") == "none"  # GELU by tanh is another function
        if function in functions or (isinstance(function, modules[name]) and is_plain):
            return name
    shown = getattr(function, "__name__", type(function).__name__)
    raise CheckpointError(f"this nn.Transformer's activation is {shown}. Supported: relu, gelu, silu.")


def to_torch_transformer(model: Transformer) -> nn.Transformer:
    """Return the model's layers as an nn.Transformer (batch_first), in eval mode, without embeddings and output.

    nn.Transformer has one number of heads, so removed heads become zeros.
    """
    model = with_all_heads(model)
    config = model.config
    wrong = {
        f"its shape is {config.shape}, not encoder-decoder": config.shape != "encoder-decoder",
        f"d_decoder = {config.decoder_width} is not d_model = {config.d_model}": config.decoder_width != config.d_model,
        "its feed-forward network is gated": config.is_gated,
        "its norms are not layer norms": (config.encoder_norm, config.decoder_norm) != ("layer", "layer"),
        "its positions are rotary, which are inside attention": config.positions == "rotary",
        "its attention scores are not scaled": not config.scale_scores,
        "one side has no layers": not config.encoder_blocks or not config.decoder_blocks,
    }
    reasons = [reason for reason, is_so in wrong.items() if is_so]
    if reasons:
        raise CheckpointError(f"nn.Transformer does not support this model: {'; '.join(reasons)}.")
    module = _empty(config)
    module = module.to(device=model.device, dtype=model.dtype)
    module.load_state_dict(to_theirs(checked_tensors(model), weight_mappings(config)))
    return module.eval()


def _empty(config: ModelConfig) -> nn.Transformer:
    """Return an nn.Transformer of the right sizes."""
    options: dict[str, Any] = {
        "dim_feedforward": config.d_ff,
        "dropout": config.dropout,
        "activation": _ACTIVATIONS[config.activation],
        "layer_norm_eps": config.epsilon,
        "batch_first": True,
        "norm_first": config.norm_place == "pre",
        "bias": config.has_bias,
    }
    width, heads = config.d_model, config.num_heads
    norms = [nn.LayerNorm(width, config.epsilon) if config.ends_with_norm else None for _ in range(2)]
    with torch.random.fork_rng(devices=[]):
        below = nn.TransformerEncoderLayer(width, heads, **options)
        above = nn.TransformerDecoderLayer(width, heads, **options)
        # nested tensors would only cause a warning and change the storage of padding
        encoder = nn.TransformerEncoder(below, config.encoder_blocks, norms[0], enable_nested_tensor=False)
        decoder = nn.TransformerDecoder(above, config.decoder_blocks, norms[1])
        transformer = nn.Transformer(width, heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    for module in transformer.modules():
        if isinstance(module, nn.LayerNorm) and module.bias is None:
            module.bias = nn.Parameter(torch.zeros_like(module.weight))  # our norms have a shift even if bias=False
        elif isinstance(module, nn.MultiheadAttention):
            module.dropout = config.attention_dropout
        elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
            module.dropout.p = config.activation_dropout
    return transformer


def weight_mappings(config: ModelConfig) -> list[WeightMapping]:
    """Return the mapping between clearhead's tensors and nn.Transformer's."""
    mappings = []
    for side, count in (("encoder", config.encoder_blocks), ("decoder", config.decoder_blocks)):
        for number in range(count):
            mappings += _block(
                f"{side}_blocks.{number}", f"{side}.layers.{number}", config, has_memory=side == "decoder"
            )
        if config.ends_with_norm:
            mappings.append(WeightMapping((f"{side}.last_norm.gain",), (f"{side}.norm.weight",)))
            mappings.append(WeightMapping((f"{side}.last_norm.shift",), (f"{side}.norm.bias",)))
    return mappings


def _block(ours: str, theirs: str, config: ModelConfig, *, has_memory: bool) -> list[WeightMapping]:
    mappings = []
    for number in range(3 if has_memory else 2):
        mappings.append(
            WeightMapping((f"{ours}.residuals.{number}.norm.gain",), (f"{theirs}.norm{number + 1}.weight",))
        )
        mappings.append(WeightMapping((f"{ours}.residuals.{number}.norm.shift",), (f"{theirs}.norm{number + 1}.bias",)))
    products: dict[str, tuple[str, ...]] = {
        "self_attn.in_proj_": ("self_attention.packed",),
        "self_attn.out_proj.": ("self_attention.output",),
        "linear1.": ("feed_forward.first",),
        "linear2.": ("feed_forward.second",),
    }
    if has_memory:
        products["multihead_attn.in_proj_"] = ("cross_attention.query", "cross_attention.packed")
        products["multihead_attn.out_proj."] = ("cross_attention.output",)
    for there, here in products.items():
        for kind in ("weight", "bias") if config.has_bias else ("weight",):
            mappings.append(
                WeightMapping(tuple(f"{ours}.{name}.{kind}" for name in here), (f"{theirs}.{there}{kind}",))
            )
    return mappings

"""Map tensor names between clearhead and MarianMT, and handle tensors that its files repeat or omit."""

from collections.abc import Mapping

import torch
from torch import Tensor

from clearhead.errors import CheckpointError
from clearhead.formats.weights import WeightMapping
from clearhead.model import ModelConfig
from clearhead.model.positions import sinusoids

SHARED, SOURCE, TARGET = "model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, BIAS = "lm_head.weight", "final_logits_bias"
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
_ATTENTION = ("q_proj", "k_proj", "v_proj")
# The names of one table in files, by how tables are tied; the first name is used here.
_NAMES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "three": ((SHARED, TARGET, SOURCE, OUTPUT),),
    "two": ((SOURCE,), (TARGET, OUTPUT)),
    "none": ((SOURCE, SHARED), (TARGET, SHARED), (OUTPUT,)),
}


def weight_mappings(config: ModelConfig) -> list[WeightMapping]:
    """Return the mapping between clearhead's tensors and MarianMT's."""
    mappings = [*_tables(config), WeightMapping(("output.bias",), (BIAS,))]
    for side, count in (("encoder", config.encoder_blocks), ("decoder", config.decoder_blocks)):
        for number in range(count):
            mappings += _block(f"{side}_blocks.{number}", f"model.{side}.layers.{number}", has_memory=side == "decoder")
    return mappings


def _tables(config: ModelConfig) -> list[WeightMapping]:
    """Return the mapping of the embeddings; a tied table is stored under its first name."""
    ours = ("encoder.embedding.weight", "decoder.embedding.weight", "output.weight")
    return [WeightMapping((own,), names[:1]) for own, names in zip(ours, _NAMES[config.tied], strict=False)]


def _block(ours: str, theirs: str, *, has_memory: bool) -> list[WeightMapping]:
    norms = ["self_attn_layer_norm", *(["encoder_attn_layer_norm"] if has_memory else []), "final_layer_norm"]
    mappings = []
    for number, norm in enumerate(norms):
        mappings.append(WeightMapping((f"{ours}.residuals.{number}.norm.gain",), (f"{theirs}.{norm}.weight",)))
        mappings.append(WeightMapping((f"{ours}.residuals.{number}.norm.shift",), (f"{theirs}.{norm}.bias",)))
    products: dict[str, tuple[str, ...]] = {
        "self_attention.packed": tuple(f"self_attn.{name}" for name in _ATTENTION),
        "self_attention.output": ("self_attn.out_proj",),
        "feed_forward.first": ("fc1",),
        "feed_forward.second": ("fc2",),
    }
    if has_memory:
        products["cross_attention.query"] = ("encoder_attn.q_proj",)
        products["cross_attention.packed"] = ("encoder_attn.k_proj", "encoder_attn.v_proj")
        products["cross_attention.output"] = ("encoder_attn.out_proj",)
    for here, there in products.items():
        for kind in ("weight", "bias"):
            mappings.append(
                WeightMapping((f"{ours}.{here}.{kind}",), tuple(f"{theirs}.{name}.{kind}" for name in there))
            )
    return mappings


def each_once(tensors: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Return the tensors of a file with every table under one name, a flat bias, and no positions."""
    _require_sinusoids(tensors, config)
    unique_tensors = {name: tensor for name, tensor in tensors.items() if name not in _POSITIONS}
    for names in _NAMES[config.tied]:
        held = [name for name in names if name in tensors]
        for name in names:
            unique_tensors.pop(name, None)
        # the file of an untied model can contain a shared table that is not used
        if config.tied != "none" and any(not _is_same(tensors[name], tensors[held[0]]) for name in held[1:]):
            raise CheckpointError(
                f"according to the config, {', '.join(held)} are one table, but their numbers differ."
            )
        if held:
            unique_tensors[names[0]] = tensors[held[0]]
    bias = unique_tensors.get(BIAS)  # (1, V)
    if bias is not None:
        unique_tensors[BIAS] = bias.reshape(-1)
    elif unique_tensors:
        unique_tensors[BIAS] = next(iter(unique_tensors.values())).new_zeros(config.target_size)
    return unique_tensors


def _is_same(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)


def _require_sinusoids(tensors: Mapping[str, Tensor], config: ModelConfig) -> None:
    """Raise an error if a table of positions, which old files contain, differs from the computed one."""
    for name in _POSITIONS:
        if name not in tensors:
            continue
        table = tensors[name].float()
        wanted = sinusoids(config.max_length, config.d_model, "blocks").to(table.dtype)
        # the precision of float16 files
        if table.shape != wanted.shape or not torch.allclose(table, wanted, atol=2e-3):
            raise CheckpointError(f"{name} is not the usual table of sines and cosines: these positions were learned.")

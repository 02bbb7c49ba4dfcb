"""Import and export MarianMT models of Hugging Face Transformers (OPUS-MT and others) with identical weights.

Differences in layout are handled here: separate Q, K and V, one table under several names, a bias of the logits, and a
decoder that starts from the padding token.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from clearhead.errors import CheckpointError, ConfigError, printable
from clearhead.files.json_file import json_writer, read_json
from clearhead.files.manifest import verify_if_listed
from clearhead.files.writing import FileWriter, copy_writer, write_together
from clearhead.formats.checkpoint import load_checkpoint, save_checkpoint
from clearhead.formats.files import CONFIG, MARIAN_ADVICE, WEIGHTS, find_files, read_tensors, tensor_writer
from clearhead.formats.head_removal import with_all_heads
from clearhead.formats.marian_config import EPSILON, TOKENIZER_FILES, config_from_marian, read_settings, refuse
from clearhead.formats.marian_names import BIAS, each_once, weight_mappings
from clearhead.formats.shapes import misfits, shapes_of
from clearhead.formats.weights import build_transformer, checked_tensors, shapes_elsewhere, to_ours, to_theirs
from clearhead.model import ModelConfig, SequenceModel, Transformer


@dataclass(frozen=True, eq=False)
class Marian:
    """The content of MarianMT's files."""

    config: Mapping[str, Any]
    generation: Mapping[str, Any]
    tensors: Mapping[str, Tensor]


# Folders


def import_marian(folder: str | Path, checkpoint: str | Path) -> Transformer:
    """Convert a MarianMT folder to a clearhead checkpoint, with the files of its tokenizer."""
    model = from_marian(folder)
    save_checkpoint(model, checkpoint, tokenizer_copies(Path(folder)))
    return model


def export_marian(checkpoint: str | Path, folder: str | Path) -> None:
    """Convert a clearhead checkpoint to a MarianMT folder, with the files of its tokenizer."""
    model = load_checkpoint(checkpoint)
    if not isinstance(model, Transformer):
        raise CheckpointError(
            f"MarianMT has only Transformers, and {printable(str(checkpoint))} is {model.config.architecture}."
        )
    to_marian(model, folder, tokenizer_copies(Path(checkpoint)))


def tokenizer_copies(folder: Path) -> dict[str, FileWriter]:
    """Return what copies the files of a MarianMT tokenizer from a folder."""
    return {name: copy_writer(folder / name) for name in TOKENIZER_FILES if (folder / name).is_file()}


# Import


def from_marian(
    folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
) -> Transformer:
    """Return the model in a MarianMT folder (config.json and model.safetensors), in eval mode."""
    find_files(Path(folder), MARIAN_ADVICE)
    verify_if_listed(Path(folder), (CONFIG, WEIGHTS))
    return read_marian(folder, device, dtype)


def read_marian(
    folder: str | Path, device: str | torch.device = "cpu", dtype: torch.dtype | None = None
) -> Transformer:
    """Return the model in a MarianMT folder whose hashes are verified already."""
    config_path, weights_path = find_files(Path(folder), MARIAN_ADVICE)
    config = read_json(config_path)
    tensors, _ = read_tensors(weights_path)
    try:
        return from_marian_tensors(config, tensors, device, dtype)
    except CheckpointError as wrong:
        raise CheckpointError(f"{printable(str(folder))}: {wrong}") from None


def from_marian_tensors(
    config: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> Transformer:
    """Return the model that a MarianMT config and its tensors describe."""
    settings = read_settings(config)
    model_config = config_from_marian(settings)
    unique_tensors = each_once(tensors, model_config)
    shapes = shapes_of(model_config)
    mappings = weight_mappings(model_config)
    wrong = misfits(unique_tensors, shapes_elsewhere(mappings, shapes))
    if wrong:
        raise CheckpointError(
            f"the weights do not match the config of this MarianMT model: {wrong}. Copy both files again."
        )
    return build_transformer(model_config, to_ours(unique_tensors, mappings, shapes), device, dtype)


# Export


def to_marian(model: Transformer, folder: str | Path, others: Mapping[str, FileWriter] = MappingProxyType({})) -> None:
    """Write config.json, generation_config.json and model.safetensors, for MarianMTModel.from_pretrained(folder).

    Other files, such as those of a tokenizer, are written together with them.
    """
    folder = Path(folder)
    marian = to_marian_tensors(model)
    old = folder / CONFIG
    if old.is_file() and read_json(old).get("model_type") != "marian":
        raise CheckpointError(
            f"{printable(str(old))} is not a MarianMT config and would be overwritten. Choose an empty folder."
        )
    write_together(
        folder,
        {
            WEIGHTS: tensor_writer(marian.tensors),
            "generation_config.json": json_writer(marian.generation),
            **others,
            CONFIG: json_writer(marian.config),
        },
        has_manifest=True,
    )


def to_marian_tensors(model: SequenceModel) -> Marian:
    """Return the model as MarianMT's files, or raise an error with everything that MarianMT does not support.

    MarianMT has one number of heads on each side, so removed heads are written as zeros.
    """
    if not isinstance(model, Transformer):
        raise ConfigError(f"MarianMT only supports Transformers, and this model is {model.config.architecture}.")
    model = with_all_heads(model)
    config = model.config
    refuse("MarianMT does not support this model", _not_in_marian(config))
    tensors: dict[str, Tensor] = dict(checked_tensors(model))
    for name, weight in list(tensors.items()):  # a missing bias is the same as a bias of zeros
        if name.endswith(".weight") and "embedding" not in name:
            tensors.setdefault(f"{name.removesuffix('.weight')}.bias", weight.new_zeros(len(weight)))
    tensors.setdefault("output.bias", model.output.weight.new_zeros(config.target_size))
    marian_tensors = to_theirs(tensors, weight_mappings(config))
    marian_tensors[BIAS] = marian_tensors[BIAS][None]  # (1, V)
    dtype = str(model.dtype).removeprefix("torch.")
    return Marian(_config_of(config, dtype), _generation_of(config), marian_tensors)


def _not_in_marian(config: ModelConfig) -> dict[str, bool]:
    return {
        f"it is a{'n' if config.shape == 'encoder' else ''} {config.shape}, not an encoder-decoder": (
            config.shape != "encoder-decoder"
        ),
        "it is pre-norm (MarianMT is post-norm)": config.norm_place != "post",
        "it has a norm after its last layer": config.norm_place == "post" and config.ends_with_norm,
        f"its norms are {config.encoder_norm} and {config.decoder_norm} (MarianMT: layer)": (
            config.encoder_norm != "layer" or config.decoder_norm != "layer"
        ),
        f"epsilon = {config.epsilon:g} (MarianMT: {EPSILON:g})": config.epsilon != EPSILON,
        f"its positions are {config.positions} (MarianMT: sinusoidal)": config.positions != "sinusoidal",
        "its sines and cosines alternate (MarianMT: sinusoids = blocks)": (
            config.positions == "sinusoidal" and config.sinusoids != "blocks"
        ),
        "its attention scores are not scaled": not config.scale_scores,
        "its feed-forward network is gated": config.is_gated,
        f"d_decoder = {config.decoder_width} is not d_model = {config.d_model}": config.decoder_width != config.d_model,
    }


def _config_of(config: ModelConfig, dtype: str) -> dict[str, Any]:
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.source_vocabulary,
        "decoder_vocab_size": config.target_size,
        "share_encoder_decoder_embeddings": config.tied == "three",
        "tie_word_embeddings": config.tied != "none",
        "d_model": config.d_model,
        "encoder_layers": config.encoder_blocks,
        "decoder_layers": config.decoder_blocks,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": "swish" if config.activation == "silu" else config.activation,
        "max_position_embeddings": config.max_length,
        "static_position_embeddings": True,
        "scale_embedding": config.scale_embedding,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "pad_token_id": config.pad,
        "bos_token_id": config.bos,
        "eos_token_id": config.eos,
        "decoder_start_token_id": config.start_id,
        "forced_eos_token_id": config.eos,
        "dtype": dtype,
    }


def _generation_of(config: ModelConfig) -> dict[str, Any]:
    return {
        "pad_token_id": config.pad,
        "bos_token_id": config.bos,
        "eos_token_id": config.eos,
        "decoder_start_token_id": config.start_id,
        "forced_eos_token_id": config.eos,
        "bad_words_ids": [[token] for token in config.never_written],  # even if the decoder starts from it
        "max_length": min(512, config.max_length),
    }

"""Convert MarianMT's config.json to a clearhead config, without torch.

A model that clearhead does not support is refused, with all reasons together.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from clearhead.errors import CheckpointError, ConfigError
from clearhead.formats.files import CONFIG
from clearhead.model.config import ModelConfig, read_config
from clearhead.settings import examine, shown
from clearhead.text.marian import MARIAN_FILES

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}
# The files of a MarianMT tokenizer, which are only copied
TOKENIZER_FILES = (*MARIAN_FILES, "target_vocab.json", "tokenizer_config.json", "special_tokens_map.json")
EPSILON = 1e-5  # of every layer norm of MarianMT; its config has no field for it


class MarianSettings(BaseModel):
    """The relevant fields of MarianMT's config.json, with the defaults of Transformers."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model_type: str = "marian"
    vocab_size: int = 58101
    decoder_vocab_size: int | None = None
    max_position_embeddings: int = 1024
    encoder_layers: int = 12
    encoder_ffn_dim: int = 4096
    encoder_attention_heads: int = 16
    decoder_layers: int = 12
    decoder_ffn_dim: int = 4096
    decoder_attention_heads: int = 16
    is_encoder_decoder: bool = True
    activation_function: str = "gelu"
    d_model: int = 1024
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    decoder_start_token_id: int = 58100
    scale_embedding: bool = False
    pad_token_id: int = 58100
    eos_token_id: int | list[int] = 0
    bos_token_id: int | None = None
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True
    # Older files have these fields; Transformers ignores them
    normalize_before: bool = False
    normalize_embedding: bool = False
    add_final_layer_norm: bool = False
    static_position_embeddings: bool = True


def read_settings(config: Mapping[str, Any]) -> MarianSettings:
    """Return the settings of a MarianMT config.json."""
    if config.get("model_type", "marian") != "marian":
        raise CheckpointError(
            f"{CONFIG} is of a {shown(config['model_type'])} model. Only MarianMT ('marian') is supported."
        )
    reading = examine(MarianSettings, config)
    if reading.value is None or reading.mistakes:
        sentences = " ".join(mistake.sentence for mistake in reading.mistakes)
        raise CheckpointError(f"{CONFIG} is not a MarianMT config: {sentences}")
    return reading.value


def config_from_marian(settings: MarianSettings) -> ModelConfig:
    """Return the clearhead config of the same model, or raise CheckpointError with everything that is not supported."""
    eos = settings.eos_token_id if isinstance(settings.eos_token_id, list) else [settings.eos_token_id]
    target = settings.vocab_size if settings.share_encoder_decoder_embeddings else settings.decoder_vocab_size
    # if several of them are the same token, the last name counts
    starts: dict[int | None, str] = {settings.bos_token_id: "bos"}
    starts |= {**dict.fromkeys(eos, "eos"), settings.pad_token_id: "pad"}
    tied = (
        "none" if not settings.tie_word_embeddings else "three" if settings.share_encoder_decoder_embeddings else "two"
    )
    refusals = {
        f"decoder_start_token_id = {settings.decoder_start_token_id} is not pad, eos or bos": (
            settings.decoder_start_token_id not in starts
        ),
        f"eos_token_id = {settings.eos_token_id}, but only one end token is supported": len(eos) != 1,
        f"activation_function = {shown(settings.activation_function)} (supported: {', '.join(ACTIVATIONS)})": (
            settings.activation_function not in ACTIVATIONS
        ),
        "encoder and decoder have different numbers of heads": (
            settings.encoder_attention_heads != settings.decoder_attention_heads
        ),
        "encoder and decoder have different feed-forward widths": settings.encoder_ffn_dim != settings.decoder_ffn_dim,
        "it has only a decoder (is_encoder_decoder is false)": not settings.is_encoder_decoder,
        "normalize_before is true, but MarianMT is post-norm": settings.normalize_before,
        "normalize_embedding is true": settings.normalize_embedding,
        "add_final_layer_norm is true": settings.add_final_layer_norm,
        "its positions are learned (static_position_embeddings is false)": not settings.static_position_embeddings,
    }
    refuse("this MarianMT model is not supported", refusals)
    start = starts[settings.decoder_start_token_id]
    try:
        return read_config(
            {
                "source_vocabulary": settings.vocab_size,
                "target_vocabulary": target or settings.vocab_size,
                "encoder_blocks": settings.encoder_layers,
                "decoder_blocks": settings.decoder_layers,
                "d_model": settings.d_model,
                "num_heads": settings.encoder_attention_heads,
                "d_ff": settings.encoder_ffn_dim,
                "norm_place": "post",
                "epsilon": EPSILON,
                "sinusoids": "blocks",
                "max_length": settings.max_position_embeddings,
                "scale_embedding": settings.scale_embedding,
                "activation": ACTIVATIONS[settings.activation_function],
                "has_output_bias": True,
                "tied": tied,
                "start": start,
                "pad": settings.pad_token_id,
                # a bos token that no sentence starts with is an ordinary token
                "bos": settings.decoder_start_token_id if start == "bos" else eos[0],
                "eos": eos[0],
                "dropout": settings.dropout,
                "attention_dropout": settings.attention_dropout,
                "activation_dropout": settings.activation_dropout,
            }
        )
    except ConfigError as wrong:
        raise CheckpointError(f"{CONFIG} does not describe a valid model: {' '.join(wrong.mistakes)}") from None


def refuse(what: str, reasons: Mapping[str, bool]) -> None:
    """Raise CheckpointError with every reason that is true."""
    wrong = [reason for reason, is_so in reasons.items() if is_so]
    if wrong:
        raise CheckpointError(f"{what}: {'; '.join(wrong)}.")

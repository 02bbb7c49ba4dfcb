"""Which settings belong to which architecture, and the presets of each. This module does not import torch."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from clearhead.errors import Mistake

Architecture = Literal["transformer", "recurrent", "convolutional"]
Changes = Mapping[str, Any]  # differences from the defaults of ModelConfig

# Settings that only one architecture has; all others are shared.
_OWN: Mapping[str, tuple[str, ...]] = {
    "transformer": (
        "d_decoder", "num_heads", "heads_kept", "d_ff", "encoder_norm", "decoder_norm", "norm_place", "has_last_norm",
        "epsilon", "sinusoids", "scale_scores", "scale_embedding", "activation", "is_gated", "has_bias",
        "attention_dropout", "activation_dropout",
    ),
    "recurrent": ("cell", "is_bidirectional", "attention", "has_input_feeding", "has_residuals"),
    "convolutional": ("kernel",),
}  # fmt: skip
_OWNERS: Mapping[str, str] = {name: owner for owner, names in _OWN.items() for name in names}
# The kinds of positional encoding of the other architectures, whose states depend on the order of the tokens anyway.
POSITIONS: Mapping[str, str] = {"recurrent": "none", "convolutional": "learned"}

# Vocabularies come from the data. The presets of one name have nearly the same number of parameters in every
# architecture, with a joint vocabulary of 8,000 tokens.
PRESETS: Mapping[str, Changes] = {
    "tiny": {"encoder_blocks": 4, "decoder_blocks": 4, "d_model": 128, "d_ff": 256, "num_heads": 4},
    "small": {"d_model": 512, "d_ff": 1024, "num_heads": 4},
    "base": {"d_model": 512, "d_ff": 2048, "num_heads": 8},
    "big": {"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3},
    "deep-shallow": {"encoder_blocks": 12, "decoder_blocks": 1, "d_model": 512, "d_ff": 2048, "num_heads": 8},
}
_RECURRENT_PRESETS: Mapping[str, Changes] = {
    "tiny": {"encoder_blocks": 2, "decoder_blocks": 2, "d_model": 168},
    "small": {"encoder_blocks": 3, "decoder_blocks": 3, "d_model": 768},
    "base": {"encoder_blocks": 4, "decoder_blocks": 4, "d_model": 800},
    "big": {"encoder_blocks": 4, "decoder_blocks": 4, "d_model": 1616, "dropout": 0.3},
    "deep-shallow": {"encoder_blocks": 6, "decoder_blocks": 1, "d_model": 896},
}


_CONVOLUTIONAL_PRESETS: Mapping[str, Changes] = {
    "tiny": {"encoder_blocks": 4, "decoder_blocks": 5, "d_model": 128},
    "small": {"encoder_blocks": 9, "decoder_blocks": 8, "d_model": 512},
    "base": {"encoder_blocks": 12, "decoder_blocks": 12, "d_model": 512},
    "big": {"encoder_blocks": 12, "decoder_blocks": 12, "d_model": 1024, "dropout": 0.3},
    "deep-shallow": {"encoder_blocks": 24, "decoder_blocks": 2, "d_model": 512},
}
ALL_PRESETS: Mapping[str, Mapping[str, Changes]] = {
    "transformer": PRESETS,
    "recurrent": _RECURRENT_PRESETS,
    "convolutional": _CONVOLUTIONAL_PRESETS,
}


def presets_of(architecture: object) -> Mapping[str, Changes]:
    """Return the presets of an architecture; those of the Transformer for a value that is not an architecture."""
    return ALL_PRESETS.get(architecture, PRESETS) if isinstance(architecture, str) else PRESETS


def unused_settings(architecture: str, shape: str) -> set[str]:
    """Return the names of the settings that have no meaning in a model of this architecture and shape."""
    unused = {name for name, owner in _OWNERS.items() if owner != architecture}
    if architecture == "recurrent":
        unused |= {"positions"}
        unused |= set() if shape == "encoder-decoder" else {"attention", "has_input_feeding"}
        unused |= {"is_bidirectional"} if shape == "decoder" else set()
    return unused


def foreign_mistakes(architecture: str, names: Collection[str]) -> Iterator[Mistake]:
    """Yield an error for each given setting of another architecture."""
    for name in sorted(names):
        owner = _OWNERS.get(name, architecture)
        if owner != architecture:
            yield Mistake(
                (name, "architecture"),
                f"{name} is a setting of architecture: {owner}, but architecture = '{architecture}'. Remove {name}, "
                f"or set architecture: {owner}",
            )


def position_mistakes(architecture: str, positions: str) -> Iterator[Mistake]:
    """Yield an error if an architecture does not have this kind of positional encoding."""
    own = POSITIONS.get(architecture, positions)
    if positions != own:
        yield Mistake(
            ("positions", "architecture"),
            f"positions = '{positions}' is not possible with architecture = '{architecture}', whose positions are "
            f"'{own}'. Remove positions",
        )

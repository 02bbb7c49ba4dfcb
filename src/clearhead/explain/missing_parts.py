"""The parts of an explanation that a model of an architecture does not have, and why. Nothing here imports torch."""

from dataclasses import dataclass

from clearhead.model.config import ModelConfig

_LAYERS = {
    "recurrent": "a layer of a recurrent model reads one token after the other",
    "convolutional": "a layer of a convolutional model mixes each token with its neighbours",
}


@dataclass(frozen=True)
class MissingPart:
    """A part that an explanation does not have, and the reason, as the second half of a sentence."""

    part: str
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.reason}."


def missing_parts(config: ModelConfig) -> tuple[MissingPart, ...]:
    """Return what the explanation of a model does not have; nothing is missing for a Transformer."""
    if config.architecture == "transformer":
        return ()
    parts = [
        MissingPart(
            "self-attention heads", f"{_LAYERS[config.architecture]} and has no attention weights between tokens"
        ),
        MissingPart("attention rollout", "it multiplies the self-attention weights of all layers"),
        MissingPart("logit lens", "it reads the residual stream of a Transformer, layer by layer"),
    ]
    if config.shape == "encoder-decoder" and config.architecture == "recurrent" and not config.has_memory_attention:
        reason = "the decoder of this model sees the source only through the state that it starts with"
        parts.append(MissingPart("attention to the source", reason))
    return tuple(parts)

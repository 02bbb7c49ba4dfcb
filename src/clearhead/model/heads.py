"""The attention heads of a model by name: `encoder.2.self_attention.head.5`, the place of the head in a trace.

The heads of a pruned model are counted from 0 again; `heads_kept` of its config has the numbers from before.

This module does not import torch, so that names can be checked before a model is loaded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from clearhead.errors import ConfigError, did_you_mean, printable
from clearhead.model.config import ModelConfig


@dataclass(frozen=True, order=True)
class AttentionHead:
    """One head of an attention layer, counted from 0; `where` is the layer's place: `decoder.0.cross_attention`."""

    where: str
    number: int

    def __str__(self) -> str:
        return f"{self.where}.head.{self.number}"

    @property
    def kind(self) -> str:
        """The kind of attention: `encoder.self_attention`, `decoder.self_attention` or `decoder.cross_attention`."""
        stack, _, attention = self.where.split(".")
        return f"{stack}.{attention}"

    @property
    def layer(self) -> int:
        """The number of the layer in its stack, from 0."""
        return int(self.where.split(".")[1])


def attention_places(config: ModelConfig) -> list[str]:
    """Return the places of all attention layers: the encoder's, then self- and cross-attention of the decoder.

    Only a Transformer has attention layers with heads.
    """
    places: list[str] = []
    if config.architecture != "transformer":
        return places
    if config.shape != "decoder":
        places += [f"encoder.{layer}.self_attention" for layer in range(config.encoder_blocks)]
    if config.shape != "encoder":
        kinds = ("self_attention", "cross_attention") if config.shape == "encoder-decoder" else ("self_attention",)
        places += [f"decoder.{layer}.{kind}" for kind in kinds for layer in range(config.decoder_blocks)]
    return places


def every_head(config: ModelConfig) -> list[AttentionHead]:
    """Return all attention heads of a model, in the order of `attention_places`."""
    return [
        AttentionHead(where, number)
        for where in attention_places(config)
        for number in range(config.num_heads_at(where))
    ]


def find_heads(names: Sequence[str], config: ModelConfig, *, option: str | None = None) -> list[AttentionHead]:
    """Return the heads with these names; `*` in a name matches anything: `decoder.*.cross_attention.head.0`.

    `option` is the parameter that names them, for the message about a head that does not exist.
    """
    heads = every_head(config)
    matches: dict[AttentionHead, None] = {}
    for name in names:
        chosen = [head for head in heads if fnmatchcase(str(head), name)]
        if not chosen:
            options = () if option is None else (option,)
            raise ConfigError(_no_such_head(name[:80], heads, config), options=options)
        matches |= dict.fromkeys(chosen)
    return list(matches)


def _no_such_head(name: str, heads: Sequence[AttentionHead], config: ModelConfig) -> str:
    near = did_you_mean(name, [str(head) for head in heads])
    ranges = "; ".join(_ranges(config)) or "none"
    return f"there is no head '{printable(name)}' in this model.{near} Its heads are {ranges}, counted from 0."


def _ranges(config: ModelConfig) -> Iterator[str]:
    """Yield the names of the heads of each kind of attention: `encoder.0-5.self_attention.head.0-7`."""
    places = attention_places(config)
    if config.heads_kept:
        counts = {where: config.num_heads_at(where) for where in places}
        yield from (f"{where}.head.{_range(count)}" for where, count in counts.items() if count)
        return
    for kind in dict.fromkeys((place.split(".")[0], place.split(".")[2]) for place in places):
        layers = config.encoder_blocks if kind[0] == "encoder" else config.decoder_blocks
        yield f"{kind[0]}.{_range(layers)}.{kind[1]}.head.{_range(config.num_heads)}"


def _range(count: int) -> str:
    return "0" if count == 1 else f"0-{count - 1}"

"""The names and shapes of the tensors that a config requires, and what does not match them.

Those of a Transformer are found without torch, which engines without torch rely on.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Protocol

from clearhead.errors import CheckpointError, printable
from clearhead.model.config import ModelConfig

Shapes = Mapping[str, Sequence[int]]
Tensors = Iterator[tuple[str, tuple[int, ...]]]
_DTYPES = ("float16", "bfloat16", "float32", "float64")
_MAX_NAMED = 3
_MAX_NAME = 120  # characters of a clause about one tensor


class HasShape(Protocol):
    """A tensor of torch or an array of NumPy."""

    @property
    def shape(self) -> Sequence[int]:
        """Its size along each axis."""

    @property
    def dtype(self) -> object:
        """The type of its numbers."""


@lru_cache(maxsize=8)  # a run compares every checkpoint that it writes with the same shapes
def shapes_of(config: ModelConfig) -> Shapes:
    """Return the names and shapes of the tensors of a model, tied ones once, under their first name."""
    is_transformer = config.architecture == "transformer"
    return MappingProxyType(dict(_transformer_tensors(config) if is_transformer else _built_tensors(config)))


def _built_tensors(config: ModelConfig) -> Tensors:
    """Yield the names and shapes of a model that is built without memory for its numbers."""
    import torch

    from clearhead.model import build_model

    with torch.device("meta"):
        model = build_model(config)
    return ((name, tuple(parameter.shape)) for name, parameter in model.named_parameters())


def _transformer_tensors(config: ModelConfig) -> Tensors:
    is_tied = config.tied != "none" and config.shape != "encoder"
    if config.shape != "decoder":
        yield from _stack("encoder", config, config.d_model, config.source_vocabulary, config.encoder_norm)
        for number in range(config.encoder_blocks):
            yield from _block(f"encoder_blocks.{number}", config, config.d_model, config.encoder_norm)
    if config.shape != "encoder":
        width = config.decoder_width
        has_own_table = config.shape == "decoder" or config.tied != "three"
        vocabulary = config.target_size if has_own_table else None
        yield from _stack("decoder", config, width, vocabulary, config.decoder_norm)
        for number in range(config.decoder_blocks):
            yield from _block(f"decoder_blocks.{number}", config, width, config.decoder_norm)
    width = config.d_model if config.shape == "encoder" else config.decoder_width
    if not is_tied:
        yield "output.weight", (config.num_outputs, width)
    if config.has_output_bias or config.shape == "encoder":
        yield "output.bias", (config.num_outputs,)


def _stack(side: str, config: ModelConfig, width: int, vocabulary: int | None, norm: str) -> Tensors:
    if config.positions == "learned":
        yield f"{side}.position", (config.max_length, width)
    if vocabulary is not None:
        yield f"{side}.embedding.weight", (vocabulary, width)
    if config.ends_with_norm:
        yield from _norm(f"{side}.last_norm", norm, width)


def _block(place: str, config: ModelConfig, width: int, norm: str) -> Tensors:
    is_decoder = place.startswith("decoder")
    has_memory = is_decoder and config.shape == "encoder-decoder"
    linears = _attention(place, "self_attention", config, width)
    if has_memory:
        linears |= _attention(place, "cross_attention", config, width)
    linears["feed_forward.first"] = (config.d_ff, width)
    if config.is_gated:
        linears["feed_forward.gate"] = (config.d_ff, width)
    linears["feed_forward.second"] = (width, config.d_ff)
    for name, shape in linears.items():
        if all(shape):
            yield f"{place}.{name}.weight", shape
        if config.has_bias and shape[0]:
            yield f"{place}.{name}.bias", shape[:1]
    for number in range(3 if has_memory else 2):
        yield from _norm(f"{place}.residuals.{number}.norm", norm, width)


def _attention(place: str, kind: str, config: ModelConfig, width: int) -> dict[str, tuple[int, int]]:
    """Return the sizes of the matrices of an attention layer; without heads, only the bias of the output is left."""
    where = f"{place.replace('_blocks', '')}.{kind}"
    joined = config.num_heads_at(where) * config.head_width(where)
    if kind == "self_attention":
        return {f"{kind}.packed": (3 * joined, width), f"{kind}.output": (width, joined)}
    packed = {f"{kind}.query": (joined, width), f"{kind}.packed": (2 * joined, config.d_model)}
    return {**packed, f"{kind}.output": (width, joined)}


def _norm(name: str, norm: str, width: int) -> Tensors:
    yield f"{name}.gain", (width,)
    if norm != "rms":
        yield f"{name}.shift", (width,)


def misfits(tensors: Mapping[str, HasShape], wanted: Shapes) -> str:
    """Return clauses about tensors that are missing, extra, or of a wrong shape or dtype; empty if all match."""
    missing = [name for name in wanted if name not in tensors]
    extra = [name for name in tensors if name not in wanted]
    both = [name for name in wanted if name in tensors]
    shapes = [
        f"{name} is {_size(tensors[name].shape)} instead of {_size(wanted[name])}"
        for name in both
        if tuple(tensors[name].shape) != tuple(wanted[name])
    ]
    dtypes = {name: str(tensors[name].dtype).removeprefix("torch.") for name in both}
    kinds = [f"{name} is {dtype}" for name, dtype in dtypes.items() if dtype not in _DTYPES]
    return "; ".join(
        clause
        for clause in (
            _clause(missing, "missing"),
            _clause(extra, "not part of this model"),
            _clause(shapes, "of another shape"),
            _clause(kinds, "not float16, bfloat16, float32 or float64"),
        )
        if clause
    )


def _clause(names: Sequence[str], what: str) -> str:
    if not names:
        return ""
    count = f"{len(names)} tensor{'s are' if len(names) > 1 else ' is'} {what}"
    named = [printable(name[:_MAX_NAME]) + "…" * (len(name) > _MAX_NAME) for name in names[:_MAX_NAMED]]
    return f"{count} ({', '.join(named)}{' …' if len(names) > _MAX_NAMED else ''})"


def _size(shape: Sequence[int]) -> str:
    return "×".join(str(side) for side in shape) or "a single number"


def beyond_float16(name: str) -> CheckpointError:
    """Return the error about a tensor that would become infinite in float16."""
    return CheckpointError(
        f"{name} has numbers beyond ±65,504, the range of float16. Use float32 or bfloat16.", options=("precision",)
    )


def num_parameters(config: ModelConfig) -> int:
    """Return the number of parameters of a model, tied ones counted once."""
    return sum(math.prod(shape) for shape in shapes_of(config).values())

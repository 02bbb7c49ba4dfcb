"""A model's tensors by name: those of a model, those in a file, and their names in other programs.

Layout differences between clearhead and other programs are described by one table of mappings for both directions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from clearhead.errors import CheckpointError
from clearhead.formats.files import is_finite
from clearhead.formats.shapes import Shapes, beyond_float16, misfits, shapes_of
from clearhead.model import ModelConfig, SequenceModel, Transformer, build_model


@dataclass(frozen=True)
class WeightMapping:
    """Tensors of clearhead and of another program with the same rows; the other program's are equal parts."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]


def own_tensors(model: SequenceModel) -> dict[str, Tensor]:
    """Return the tensors of a model, tied ones once, under their first name."""
    tensor_ids: set[int] = set()
    own = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in tensor_ids:
            tensor_ids.add(id(tensor))
            own[name] = tensor
    return own


def build(
    config: ModelConfig,
    tensors: Mapping[str, Tensor],
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> SequenceModel:
    """Return the model with these weights, in eval mode; by default in their dtype."""
    if dtype is None:
        dtype = reduce(torch.promote_types, (tensor.dtype for tensor in tensors.values()))
    with torch.random.fork_rng(
        devices=[]
    ):  # the random weights are overwritten; do not change the caller's random state
        model = build_model(config)
    model = model.to(device=device, dtype=dtype)
    with torch.no_grad():
        for name, tensor in own_tensors(model).items():
            tensor.copy_(tensors[name])
    if dtype == torch.float16:
        check_float16(model)
    return model.eval()


def build_transformer(
    config: ModelConfig,
    tensors: Mapping[str, Tensor],
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
) -> Transformer:
    """Return the Transformer with these weights, as `build` does."""
    model = build(config, tensors, device, dtype)
    assert isinstance(model, Transformer)
    return model


def check_float16(model: SequenceModel) -> None:
    """Raise CheckpointError if a weight is beyond the range of float16, and would become infinite."""
    for name, tensor in own_tensors(model).items():
        if not is_finite(tensor.detach().to(torch.float16)):
            raise beyond_float16(name)


def shapes_elsewhere(mappings: Iterable[WeightMapping], shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of these tensors in another program."""
    their_shapes = {}
    for mapping in mappings:
        rows = sum(shapes[name][0] for name in mapping.ours)
        for name in mapping.theirs:
            their_shapes[name] = (rows // len(mapping.theirs), *shapes[mapping.ours[0]][1:])
    return their_shapes


def to_ours(tensors: Mapping[str, Tensor], mappings: Iterable[WeightMapping], shapes: Shapes) -> dict[str, Tensor]:
    """Return the tensors with clearhead's names and layout."""
    our_tensors: dict[str, Tensor] = {}
    for mapping in mappings:
        stacked = torch.cat([tensors[name] for name in mapping.theirs])
        parts = torch.split(stacked, [shapes[name][0] for name in mapping.ours])
        our_tensors.update(zip(mapping.ours, parts, strict=True))
    return our_tensors


def to_theirs(tensors: Mapping[str, Tensor], mappings: Iterable[WeightMapping]) -> dict[str, Tensor]:
    """Return the tensors with the other program's names and layout."""
    their_tensors: dict[str, Tensor] = {}
    for mapping in mappings:
        stacked = torch.cat([tensors[name].detach() for name in mapping.ours])
        parts = stacked.chunk(len(mapping.theirs))
        their_tensors.update((name, part.contiguous()) for name, part in zip(mapping.theirs, parts, strict=True))
    return their_tensors


def checked_tensors(model: SequenceModel) -> dict[str, Tensor]:
    """Return a model's tensors, or raise CheckpointError if they do not match its config."""
    own = own_tensors(model)
    wrong = misfits(own, shapes_of(model.config))
    if wrong:
        raise CheckpointError(
            f"the model no longer matches its config: {wrong}. "
            "Was a tied table replaced, or a layer changed? "
            "Build a model from the config and copy the weights into it."
        )
    return own

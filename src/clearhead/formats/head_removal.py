"""Remove attention heads from the weights of a model, and put them back as zeros for programs that need all of them.

A head h of width E owns E rows of each of W_Q, W_K and W_V (as PyTorch stores them), E numbers of their biases, and E
columns of W_O. Removing it removes these; the bias of W_O stays. Nothing here imports torch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy.typing as npt

from clearhead.formats.shapes import shapes_of
from clearhead.model.config import ModelConfig, read_config
from clearhead.model.heads import AttentionHead

if TYPE_CHECKING:
    from torch import Tensor

    from clearhead.model import Transformer

T = TypeVar("T", "Tensor", npt.NDArray[Any])
_COPIES = {"packed": {"self_attention": 3, "cross_attention": 2}}  # of a head's rows: Q, K, V, or K, V


def config_without(config: ModelConfig, heads: Iterable[AttentionHead]) -> ModelConfig:
    """Return the config of the model without these heads, which are numbered as in `config`."""
    heads_kept = {where: list(numbers) for where, numbers in config.heads_kept.items()}
    removed: dict[str, set[int]] = {}
    for head in heads:
        removed.setdefault(head.where, set()).add(head.number)
    for where, numbers in removed.items():
        own = heads_kept.get(where, list(range(config.num_heads)))
        heads_kept[where] = [original for number, original in enumerate(own) if number not in numbers]
    return read_config({**config.model_dump(), "heads_kept": heads_kept})


def tensors_without(config: ModelConfig, smaller: ModelConfig, tensors: Mapping[str, T]) -> dict[str, T]:
    """Return the tensors of a model with the config `smaller`, which has some of the heads of `config`."""
    wanted = shapes_of(smaller)
    reduced: dict[str, T] = {name: tensor for name, tensor in tensors.items() if name in wanted}
    for where, originals in smaller.heads_kept.items():
        before = config.heads_kept.get(where, tuple(range(config.num_heads)))
        numbers = [before.index(original) for original in originals]
        for name, part in _parts(where, wanted).items():
            index = _index(numbers, len(before), config.head_width(where), _copies(where, part))
            reduced[name] = reduced[name][:, index] if part == "output" else reduced[name][index]
    return reduced


def tensors_with_all(
    config: ModelConfig, tensors: Mapping[str, T], zeros: Callable[[Sequence[int]], T]
) -> tuple[ModelConfig, dict[str, T]]:
    """Return the config and the tensors with removed heads as zeros: a model with the same outputs.

    `zeros` makes a tensor of a shape.
    """
    full = config.model_copy(update={"heads_kept": {}})
    wanted, complete = shapes_of(full), dict(tensors)
    for where, originals in config.heads_kept.items():
        for name, part in _parts(where, wanted).items():
            full_tensor = zeros(wanted[name])
            if name in tensors:
                index = _index(originals, config.num_heads, config.head_width(where), _copies(where, part))
                if part == "output":
                    full_tensor[:, index] = tensors[name]
                else:
                    full_tensor[index] = tensors[name]
            complete[name] = full_tensor
    return full, complete


def _parts(where: str, names: Iterable[str]) -> dict[str, str]:
    """Return the tensors of an attention layer that belong to heads, each with the part of the layer: `packed`."""
    stack, layer, kind = where.split(".")
    place = f"{stack}_blocks.{layer}.{kind}."
    parts = {name: name.removeprefix(place).split(".")[0] for name in names if name.startswith(place)}
    return {name: part for name, part in parts.items() if not name.endswith(".output.bias")}


def _copies(where: str, part: str) -> int:
    return _COPIES.get(part, {}).get(where.split(".")[2], 1)


def _index(numbers: Sequence[int], num_heads: int, width: int, copies: int) -> list[int]:
    """Return the rows of these heads in `copies` matrices of `num_heads` heads, one below the other."""
    return [
        (copy * num_heads + number) * width + row
        for copy in range(copies)
        for number in numbers
        for row in range(width)
    ]


# Models of PyTorch


def without_heads(model: "Transformer", heads: Iterable[AttentionHead]) -> "Transformer":
    """Return a smaller model without these heads, in eval mode and on the same device."""
    from clearhead.formats.weights import build_transformer, own_tensors

    smaller = config_without(model.config, heads)
    tensors = {name: tensor.detach() for name, tensor in own_tensors(model).items()}
    return build_transformer(smaller, tensors_without(model.config, smaller, tensors), model.device, model.dtype)


def with_all_heads(model: "Transformer") -> "Transformer":
    """Return a model with the same outputs in which every layer has all heads; removed ones are zeros.

    A model with all heads is returned unchanged.
    """
    if not model.config.heads_kept:
        return model
    from clearhead.formats.weights import build_transformer, own_tensors

    tensors = {name: tensor.detach() for name, tensor in own_tensors(model).items()}
    config, complete = tensors_with_all(model.config, tensors, model.output.weight.detach().new_zeros)
    return build_transformer(config, complete, model.device, model.dtype)

"""The kernel of the loss, run line by line without Triton: its language is a dozen operations, played here by torch.

What only a GPU can show, that Triton compiles it to the same numbers, is in test_fused_loss.py.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

VOCABULARY, ROWS, IGNORED, BLOCK = 23, 6, 0, 8  # the last block of a row is not full


@dataclass(frozen=True)
class Pointer:
    """An address inside a tensor, or as many as an index has numbers."""

    numbers: Tensor
    index: Tensor

    def __add__(self, offset: Any) -> "Pointer":
        return Pointer(self.numbers, self.index + offset)


def load(pointer: Pointer, mask: Tensor | None = None, other: float = 0.0) -> Tensor:
    if mask is None:
        return pointer.numbers[pointer.index]
    loaded = torch.full(mask.shape, other, dtype=pointer.numbers.dtype)
    loaded[mask] = pointer.numbers[pointer.index[mask]]
    return loaded


def store(pointer: Pointer, value: Any, mask: Tensor | None = None) -> None:
    index = pointer.index if mask is None else pointer.index[mask]
    pointer.numbers[index] = torch.as_tensor(value if mask is None else value[mask], dtype=pointer.numbers.dtype)


class Launcher:
    """Runs a kernel once for each program of a grid."""

    def __init__(self, kernel: Callable[..., None], language: ModuleType) -> None:
        self.kernel, self.language = kernel, language

    def __call__(self, *arguments: Any) -> Any:
        return self.kernel(*arguments)

    def __getitem__(self, grid: tuple[int]) -> Callable[..., None]:
        return partial(self.launch, grid[0])

    def launch(self, programs: int, *arguments: Any, num_warps: int = 1, **constants: Any) -> None:
        pointers = [
            Pointer(argument.view(-1), torch.tensor(0)) if isinstance(argument, Tensor) else argument
            for argument in arguments
        ]
        for number in range(programs):
            self.language.program_id = lambda axis, number=number: torch.tensor(number)  # type: ignore[attr-defined]
            self.kernel(*pointers, **constants)


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """The kernel, with torch in place of Triton's language."""
    language, triton = ModuleType("triton.language"), ModuleType("triton")
    operations: dict[str, Any] = {
        "load": load, "store": store, "arange": torch.arange, "zeros": lambda shape, dtype: torch.zeros(shape, dtype=dtype),
        "exp": lambda x: torch.exp(torch.as_tensor(x)), "log": torch.log, "where": torch.where, "constexpr": object,
        "max": lambda x, axis: x.amax(axis), "sum": lambda x, axis: x.sum(axis), "float32": torch.float32,
        "maximum": lambda a, b: torch.maximum(torch.as_tensor(a), torch.as_tensor(b)), "int64": torch.int64,
    }  # fmt: skip
    for name, operation in operations.items():
        setattr(language, name, operation)
    triton.jit = lambda kernel: Launcher(kernel, language)  # type: ignore[attr-defined]
    triton.language = language  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", language)
    monkeypatch.delitem(sys.modules, "clearhead.training.loss_kernel", raising=False)
    from clearhead.training.loss_kernel import loss_kernel

    yield loss_kernel
    sys.modules.pop("clearhead.training.loss_kernel")


def expected_losses(logits: Tensor, labels: Tensor, smoothing: float, r_drop: float) -> Tensor:
    """The formula in the kernel's docstring, in torch's own operations; 0 where the label is ignored."""
    losses = F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing, ignore_index=IGNORED)
    if not r_drop:
        return losses
    first, second = logits.log_softmax(dim=-1).chunk(2)
    apart = ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)
    counted = labels.chunk(2)[0] != IGNORED
    return sum(losses.chunk(2)) / 2 + r_drop * torch.where(counted, apart, 0.0) / 4


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("r_drop", [0.0, 2.0])
def test_the_kernel_gives_the_losses_and_puts_the_gradient_in_place_of_the_logits(
    launch: Any, smoothing: float, r_drop: float
) -> None:
    random = torch.Generator().manual_seed(5)
    labels = torch.randint(1, VOCABULARY, (ROWS,), generator=random)
    labels[1] = IGNORED
    programs = ROWS
    if r_drop:
        programs, labels = ROWS, torch.cat((labels, labels))
    logits = 3 * torch.randn(len(labels), VOCABULARY, generator=random)
    logits[0, 5] = 60.0  # larger than exp can hold
    wanted = logits.clone().requires_grad_()
    losses = expected_losses(wanted, labels, smoothing, r_drop)
    losses.sum().backward()

    result = torch.full((programs,), float("nan"))
    arguments = (logits, labels, result, programs, VOCABULARY, IGNORED, smoothing, r_drop)
    launch[(programs,)](*arguments, IS_PAIR=bool(r_drop), BLOCK=BLOCK, num_warps=8)
    torch.testing.assert_close(result, losses.detach(), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logits, wanted.grad, rtol=1e-5, atol=1e-5)
    assert result[1] == 0.0
    assert not logits[1].any(), "padding teaches nothing"

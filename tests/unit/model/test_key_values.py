"""Cached keys and values: the same in buffers and by concatenation, and values already read never change."""

import pytest
import torch

from clearhead.model.key_values import KeyValues

BATCH, HEADS, WIDTH = 5, 3, 7


def some(length: int, seed: int) -> torch.Tensor:
    return torch.randn(BATCH, HEADS, length, WIDTH, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("has_gradients", [True, False])
def test_tokens_are_appended_beyond_the_initial_capacity(has_gradients: bool) -> None:
    with torch.set_grad_enabled(has_gradients):
        cache = KeyValues(some(0, 0), some(0, 0))
        for number in range(1, 90):
            cache.append(some(1, number), some(1, -number))
    assert torch.equal(cache.k, torch.cat([some(1, number) for number in range(1, 90)], dim=2))
    assert torch.equal(cache.v, torch.cat([some(1, -number) for number in range(1, 90)], dim=2))


@pytest.mark.parametrize("has_gradients", [True, False])
def test_entries_are_right_after_many_reorderings_of_different_sizes(has_gradients: bool) -> None:
    random = torch.Generator().manual_seed(11)
    with torch.set_grad_enabled(has_gradients):
        cache, expected = KeyValues(some(2, 1), some(2, 2)), some(2, 1)
        for number, size in enumerate((5, 13, 13, 13, 11, 7, 7, 17, 1, 2)):
            index = torch.randint(len(expected), (size,), generator=random)
            new = torch.randn(size, HEADS, 4, WIDTH, generator=random)
            cache.reorder(index)
            cache.append(new, -new)
            expected = torch.cat((expected[index], new), dim=2)
            assert torch.equal(cache.k, expected), number
            assert torch.equal(cache.v[:, :, 2:], -expected[:, :, 2:]), number


def test_replaced_values_are_not_overwritten() -> None:
    """A trace keeps what it showed: whatever is added or reordered afterwards, it stays."""
    with torch.no_grad():
        cache = KeyValues(some(0, 0), some(0, 0))
        cache.append(some(3, 1), some(3, 2))
        shown, copy = cache.k, cache.k.clone()
        cache.replace(torch.cat((shown, some(1, 3)), dim=2), some(4, 4))
        for _ in range(3):
            cache.append(some(1, 5), some(1, 6))
            cache.reorder(torch.tensor([1, 1, 0, 2, 2]))
    assert torch.equal(shown, copy)


def test_the_dtype_follows_what_is_added() -> None:
    with torch.no_grad():
        cache = KeyValues(some(0, 0), some(0, 0))
        cache.append(some(2, 1).bfloat16(), some(2, 2).bfloat16())
        cache.append(some(1, 3).bfloat16(), some(1, 4).bfloat16())
    assert cache.k.dtype == cache.v.dtype == torch.bfloat16
    assert torch.equal(cache.k[:, :, :2], some(2, 1).bfloat16())

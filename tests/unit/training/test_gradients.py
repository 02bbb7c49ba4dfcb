"""Gradients in one flat tensor."""

import torch
from torch import nn

from clearhead.training.step import FlatGradients


def test_backward_adds_to_the_flat_tensor() -> None:
    first, second = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(5))
    gradients = FlatGradients([first, second])
    for _ in range(2):
        (first.sum() + 7 * second.sum()).backward()
    assert gradients.flat.tolist() == [2.0] * 6 + [14.0] * 5
    gradients.flat *= 3  # as an all-reduce of three equal ranks does
    assert first.grad is not None
    assert first.grad.tolist() == [[6.0] * 3] * 2


def test_gradients_are_attached_again() -> None:
    parameter = nn.Parameter(torch.ones(3))
    gradients = FlatGradients([parameter])
    parameter.sum().backward()
    parameter.grad = None
    gradients.attach()
    assert not gradients.flat.any()
    parameter.sum().backward()
    assert gradients.flat.tolist() == [1.0] * 3

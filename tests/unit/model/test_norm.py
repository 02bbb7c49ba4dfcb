"""Norms compared with plain arithmetic; the norm over a sentence excludes its padding."""

import pytest
import torch

from clearhead.model.norm import NORMS, LayerNorm, RMSNorm, SentenceNorm, dropout
from tests.tolerances import assert_close


def filled(norm: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(0)
    for parameter in norm.parameters():
        parameter.data = torch.randn_like(parameter.data)
    return norm.double()


def test_layer_norm_of_one_token_by_hand() -> None:
    # mean of 1, 3, 8 is 4; deviations -3, -1, 4; the biased variance is (9 + 1 + 16) / 3
    norm = LayerNorm(3, 0.0).double()
    root = (26 / 3) ** 0.5
    assert_close(norm(torch.tensor([[[1.0, 3.0, 8.0]]]).double()).detach(), [[[-3 / root, -1 / root, 4 / root]]])


def test_rms_norm_of_one_token_by_hand() -> None:
    # 1, 1 and 4 squared are 1, 1 and 16: their mean is 6
    norm = RMSNorm(3, 0.0).double()
    assert_close(norm(torch.tensor([[[1.0, 1.0, 4.0]]]).double()).detach(), [[[1 / 6**0.5, 1 / 6**0.5, 4 / 6**0.5]]])


def test_the_norm_of_a_sentence_takes_all_its_numbers_and_no_padding() -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    keys = torch.tensor([[True] * 5, [True, True, False, False, False]])
    norm = filled(SentenceNorm(3, 1e-5))
    output = norm(x, keys)
    for row, length in enumerate((5, 2)):
        real = x[row, :length]
        mean, variance = real.mean(), real.var(unbiased=False)
        expected = (real - mean) / (variance + 1e-5).sqrt() * norm.gain + norm.shift
        assert_close(output[row, :length].detach(), expected.detach())
    other = x.masked_fill(~keys[..., None], 99.0)
    assert_close(norm(other, keys)[1, :2].detach(), output[1, :2].detach())


@pytest.mark.parametrize("name", NORMS)
def test_no_norm_overflows_on_padding_alone_even_if_repeated(name: str) -> None:
    norm = NORMS[name](6, 1e-5)
    x = (torch.randn(2, 5, 6) * 0.01).requires_grad_()
    keys = torch.tensor([[True] * 5, [False] * 5])
    y = x
    for _ in range(30):
        y = norm(y, keys)
    y[0].sum().backward()
    assert y.abs().max() < 10
    assert x.grad is not None
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("name", ["layer", "rms"])
def test_a_token_is_normalised_independently_of_others(name: str) -> None:
    norm, x = filled(NORMS[name](6, 1e-5)), torch.randn(2, 5, 6, dtype=torch.float64)
    assert_close(norm(x)[:, 1:2].detach(), norm(x[:, 1:2]).detach())


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.randn(5, 7)
    assert dropout(x, 0.3, is_training=False) is x
    assert dropout(x, 0.0, is_training=True) is x


def test_a_tenth_is_dropped_and_the_mean_does_not_change() -> None:
    torch.manual_seed(0)
    y = dropout(torch.ones(1013, 1009), 0.1, is_training=True)
    assert abs((y == 0).double().mean().item() - 26 / 256) < 2e-3, "a tenth is 26 of 256"
    assert abs(y.double().mean().item() - 1.0) < 3e-3
    assert set(y.unique().tolist()) == {0.0, torch.tensor(256 / 230).item()}


def test_neighbours_and_rows_are_dropped_independently() -> None:
    torch.manual_seed(0)
    dropped = (dropout(torch.ones(2003, 64), 0.5, is_training=True) == 0).double()
    pairs = torch.corrcoef(dropped.T) - torch.eye(64, dtype=torch.float64)
    assert pairs.abs().max() < 0.12, "every one of the eight bytes of a word is as random as the others"


def test_gradients_flow_through_what_was_kept() -> None:
    torch.manual_seed(0)
    x = torch.randn(31, 37, requires_grad=True)
    y = dropout(x, 0.3, is_training=True)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad == 0, y == 0)


def test_the_same_seed_drops_the_same() -> None:
    drawn = []
    for _ in range(2):
        torch.manual_seed(11)
        drawn.append(dropout(torch.ones(13, 17), 0.2, is_training=True))
    assert torch.equal(*drawn)

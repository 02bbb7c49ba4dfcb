import torch

from clearhead.model.dropout import dropout


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

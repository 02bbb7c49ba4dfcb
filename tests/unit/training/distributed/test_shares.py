"""The rows of each rank, and batches that cannot be divided."""

from typing import Any

import pytest
import torch

from clearhead.data.layout import Shape
from clearhead.errors import ConfigError
from clearhead.model import Batch
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.shares import check_rows, rank_seed, share_of_batch
from clearhead.training.distributed.world import World
from tests.unit.training.models import tiny_batch, tiny_model


def of_size(size: int, rank: int = 0) -> World:
    world: Any = World()
    world.size, world.rank = size, rank
    return world


@pytest.mark.parametrize(("rows", "size"), [(7, 2), (7, 3), (11, 4), (5, 5)])
def test_the_shares_are_all_rows_in_their_order(rows: int, size: int) -> None:
    batch = tiny_batch(rows)
    shares = [share_of_batch(batch, of_size(size, rank), 0) for rank in range(size)]
    counts = [share.num_rows for share in shares]
    assert max(counts) - min(counts) <= 1
    for side in ("source", "target"):
        assert torch.equal(torch.cat([getattr(share, side) for share in shares]), getattr(batch, side))


def test_a_rank_without_rows_takes_part_with_a_loss_of_zero() -> None:
    model, batch = tiny_model(), tiny_batch(2)
    shares = [share_of_batch(batch, of_size(3, rank), model.ignore_index) for rank in range(3)]
    losses = [model.loss(share) for share in shares]
    assert [int(loss.num_tokens) for loss in losses].count(0) == 1
    assert float(losses[0].total.detach()) == 0.0
    losses[0].total.backward()
    assert all(not parameter.grad.any() for parameter in model.parameters() if parameter.grad is not None)
    assert sum(int(loss.num_tokens) for loss in losses) == int(model.loss(batch).num_tokens)


def test_a_classifier_without_rows_has_no_label() -> None:
    batch = Batch(torch.ones(1, 3, dtype=torch.int64), labels=torch.tensor([1]))
    share = share_of_batch(batch, of_size(2, 0), -100)
    assert share.labels is not None
    assert share.labels.tolist() == [-100]


def test_batches_with_too_few_rows_are_refused() -> None:
    config = TrainingConfig(batch_tokens=1009)
    with pytest.raises(ConfigError) as error:
        list(check_rows([Shape(3, 31, 37), Shape(2, 61, 67)], config, of_size(5)))
    assert str(error.value) == (
        "training.batch_tokens = 1,009 gives batches of 3 rows, which cannot be divided among 5 processes. Use at most 3 "
        "processes, or a training.batch_tokens of at least 1,682."
    )
    with pytest.raises(ConfigError, match="gives batches of 1 row, .* Use 1 process, or"):
        list(check_rows([Shape(1, 31, 37)], config, of_size(2)))


def test_a_few_small_batches_are_noted() -> None:
    config, shapes = TrainingConfig(batch_tokens=1009), [Shape(7, 31, 37), Shape(2, 61, 67)]
    (note,) = check_rows(shapes, config, of_size(3))
    assert note.startswith("The smallest batches have 2 rows, fewer than the 3 processes: some processes only wait")
    assert not list(check_rows(shapes, config, of_size(2)))


def test_every_rank_has_its_own_seed() -> None:
    seeds = {rank_seed(seed, rank) for seed in range(7) for rank in range(11)}
    assert len(seeds) == 77
    assert rank_seed(1, 2) != rank_seed(1, 2, 500)

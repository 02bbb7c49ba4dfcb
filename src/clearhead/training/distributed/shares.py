"""The share of each rank in a batch: the same batches in the same order whatever the number of ranks, split by rows."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from clearhead.data.layout import Shape
from clearhead.errors import ConfigError
from clearhead.model import Batch
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.world import World


def share_of_batch(batch: Batch, world: World, ignored: int) -> Batch:
    """Return the rows of a rank. A rank without rows gets one whose labels are `ignored`, so that all take part."""
    rows = batch.num_rows
    start, end = (number * rows // world.size for number in (world.rank, world.rank + 1))
    if start == end:
        return _without_labels(rows_of(batch, 0, 1), ignored)
    return rows_of(batch, start, end)


def rows_of(batch: Batch, start: int, end: int) -> Batch:
    """Return some rows of a batch."""
    return batch.changed(lambda tensor: tensor[start:end])


def _without_labels(batch: Batch, ignored: int) -> Batch:
    """Return a batch whose loss is 0 and counts no tokens."""
    if batch.labels is not None:
        return batch._replace(labels=torch.full_like(batch.labels, ignored))
    assert batch.target is not None
    sentences = None if batch.target_sentences is None else torch.zeros_like(batch.target_sentences)
    return batch._replace(target=torch.full_like(batch.target, ignored), target_sentences=sentences)


def check_rows(shapes: Sequence[Shape], config: TrainingConfig, world: World) -> Iterator[str]:
    """Raise ConfigError if no batch has a row for each rank; yield a note if some batches have too few."""
    most, fewest = (choose(shape.rows for shape in shapes) for choose in (max, min))
    if most < world.size:
        rows, processes = ("1 row", "1 process") if most == 1 else (f"{most} rows", f"at most {most} processes")
        raise ConfigError(
            f"training.batch_tokens = {config.tokens_per_batch:,} gives batches of {rows}, which cannot be divided "
            f"among {world.size} processes. Use {processes}, or a training.batch_tokens of at least "
            f"{-(-config.tokens_per_batch * world.size // most):,}.",
            options=("devices",),
        )
    if fewest < world.size:
        yield (
            f"The smallest batches have {fewest} row{'s' if fewest > 1 else ''}, fewer than the {world.size} "
            "processes: some processes only wait for these. A larger training.batch_tokens avoids that."
        )


def rank_seed(seed: int, *place: int) -> int:
    """Return the seed of a rank, whose random numbers differ from those of all other ranks."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1, np.uint32)[0])

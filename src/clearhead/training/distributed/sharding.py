"""FSDP2: each rank keeps a part of every weight, gradient and optimiser state, and gathers a layer when it is used.

The parts of torch that this needs take half a second to import, so they are imported only for a sharded run.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.model import Batch, Loss, TrainableModel
from clearhead.training.config import TrainingConfig
from clearhead.training.distributed.world import World
from clearhead.training.objective import objective


class ShardedObjective(nn.Module):
    """The training objective of a sharded model: one forward, so that FSDP gathers and releases every weight."""

    def __init__(self, model: TrainableModel, config: TrainingConfig, world: World) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

        super().__init__()
        assert isinstance(model, nn.Module)
        self.model, self._config = model, config
        mesh = init_device_mesh(model.device.type, (world.size,))
        # The sums stay in float32; autocast chooses the precision of matrix products, as without sharding.
        policy = MixedPrecisionPolicy(cast_forward_inputs=False)
        for block in model.blocks():
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(self, mesh=mesh, mp_policy=policy)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the summed loss and the number of tokens."""
        model: Any = self.model
        loss = objective(model, batch, self._config)
        return loss.total, loss.num_tokens

    def loss(self, batch: Batch) -> Loss:
        """Return the loss of a batch."""
        total, num_tokens = self(batch)
        return Loss(total, num_tokens)


def is_sharded(tensor: Tensor) -> bool:
    """Whether this rank has only a part of a tensor."""
    return hasattr(tensor, "to_local")  # a DTensor, or a parameter that is one


def local_part(tensor: Tensor) -> Tensor:
    """Return the part of a tensor that this rank has."""
    sharded: Any = tensor
    return sharded.to_local() if is_sharded(tensor) else tensor


def full_tensor(tensor: Tensor) -> Tensor:
    """Return a tensor gathered from all ranks, which all must call this."""
    sharded: Any = tensor
    return sharded.full_tensor() if is_sharded(tensor) else tensor


def full_tensors(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors gathered from all ranks."""
    return {name: full_tensor(tensor.detach()) for name, tensor in tensors.items()}


@torch.no_grad()
def copy_into(tensor: Tensor, full: Tensor) -> None:
    """Copy a complete tensor into one of which this rank may have only a part."""
    if not is_sharded(tensor):
        tensor.copy_(full)
        return
    from torch.distributed.tensor import distribute_tensor

    sharded: Any = tensor
    own = distribute_tensor(full.to(tensor.device), sharded.device_mesh, sharded.placements, src_data_rank=None)
    sharded.to_local().copy_(own.to_local())

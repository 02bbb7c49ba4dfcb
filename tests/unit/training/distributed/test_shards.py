"""Sharded tensors and their checkpoints: parts in, complete tensors out, and files that are damaged."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.errors import CheckpointError
from clearhead.training.distributed.sharding import copy_into, full_tensor, full_tensors, is_sharded, local_part
from clearhead.training.distributed.shards import (
    load_shards,
    read_shards,
    save_shards,
    seal_shards,
    shard_shapes,
    verify_shards,
)
from clearhead.training.distributed.world import World
from tests.ranks import RankServer

SIZES = {"weight.wide": (7, 3), "weight.short": (1, 5), "adamw.0.exp_avg": (11,)}


def complete_tensors() -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(5)
    return {name: torch.randn(size, generator=random) for name, size in SIZES.items()}


def write(world: World, folder: str) -> dict[str, Any]:
    """Shard tensors, write them, and read them again into tensors that are sharded too."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, zeros

    mesh = init_device_mesh("cpu", (world.size,))
    expected = complete_tensors()
    sharded, again = (
        {name: zeros(*size, device_mesh=mesh, placements=[Shard(0)]) for name, size in SIZES.items()} for _ in range(2)
    )
    for name, tensor in sharded.items():
        copy_into(tensor, expected[name])
    is_complete = all(torch.equal(full_tensors(sharded)[name], tensor) for name, tensor in expected.items())
    save_shards(Path(folder), sharded)
    if world.is_first:
        seal_shards(Path(folder))
    world.wait_for_all()
    load_shards(Path(folder), again)
    is_same = all(torch.equal(local_part(again[name]), local_part(tensor)) for name, tensor in sharded.items())
    rows = len(local_part(sharded["weight.wide"]))
    return {
        "is_complete": is_complete,
        "is_same": is_same,
        "rows": rows,
        "is_sharded": is_sharded(again["weight.wide"]),
    }


@pytest.fixture(scope="module")
def folder(ranks: RankServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sharded") / "shards"
    results = ranks.run(2, write, folder=str(place))
    assert [result.pop("rows") for result in results] == [4, 3]
    assert results == [{"is_complete": True, "is_same": True, "is_sharded": True}] * 2
    return place


def test_one_process_reads_the_parts_of_all(folder: Path) -> None:
    expected = complete_tensors()
    tensors = read_shards(folder)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert read_shards(folder, "weight.").keys() == {"wide", "short"}
    assert shard_shapes(folder)["weight.wide"] == (torch.Size((7, 3)), torch.float32)


def test_a_changed_or_missing_file_is_found(folder: Path, tmp_path: Path) -> None:
    files = sorted(path for path in folder.iterdir())
    for damage in ("changed", "missing"):
        copy = tmp_path / damage
        copy.mkdir()
        for path in files:
            (copy / path.name).write_bytes(path.read_bytes())
        victim = copy / "shard-00002-model-00001-of-00001.safetensors"
        if damage == "changed":
            content = bytearray(victim.read_bytes())
            content[-1] ^= 1
            victim.write_bytes(content)
        else:
            victim.unlink()
        message = "has changed since it was written" if damage == "changed" else "does not exist"
        with pytest.raises(CheckpointError, match=message):
            verify_shards(copy)
        with pytest.raises(CheckpointError, match=message):
            read_shards(copy)


def test_a_file_that_is_no_safetensors_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "shard-00001-model-00001-of-00001.safetensors").write_bytes(b"\x80\x04nothing")
    with pytest.raises(CheckpointError, match=r"cannot be read \("):
        shard_shapes(tmp_path)


def test_a_tensor_that_is_not_sharded_is_its_own_part() -> None:
    tensor = nn.Parameter(torch.zeros(3))
    assert not is_sharded(tensor)
    assert local_part(tensor) is tensor
    assert full_tensor(tensor) is tensor
    copy_into(tensor, torch.ones(3))
    assert tensor.tolist() == [1.0] * 3

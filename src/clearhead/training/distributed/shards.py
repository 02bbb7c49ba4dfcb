"""Sharded checkpoints by torch.distributed.checkpoint, in safetensors files: each rank writes and reads its own parts.

No file is pickled, and a run with another number of ranks (or one process) can read them. The parts of torch that this
needs take half a second to import, so they are imported only for a sharded run.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from clearhead.errors import CheckpointError, printable
from clearhead.files.manifest import read_manifest, verify_if_listed
from clearhead.files.writing import sync_file, write_manifest

SHARDS = "shards"  # the folder in a checkpoint
_NO_GROUP = "torch.distributed is disabled, unavailable or uninitialized"


def save_shards(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write the parts of sharded tensors. All ranks must call this, with the same folder."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageWriter
    from torch.distributed.checkpoint.state_dict_saver import save

    try:
        save(dict(tensors), storage_writer=HuggingFaceStorageWriter(str(folder), save_distributed=True))
    except CheckpointException as wrong:
        rank, (error, _) = next(iter(wrong.failures.items()))
        raise CheckpointError(f"rank {rank} could not write {printable(str(folder))} ({error}).") from None


def seal_shards(folder: Path) -> None:
    """Flush the files of all ranks to disk and write their hashes, when all are complete. Only one rank does this."""
    names = _file_names(folder)
    for name in names:
        sync_file(folder / name)
    write_manifest(folder, names)


def load_shards(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Copy a sharded checkpoint into tensors, complete or sharded over any number of ranks."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    from torch.distributed.checkpoint.state_dict_loader import load

    try:
        with warnings.catch_warnings():
            # each rank reads what it needs, without asking the others
            warnings.filterwarnings("ignore", message=_NO_GROUP)
            load(dict(tensors), storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=True)
    except (CheckpointException, SafetensorError, OSError, KeyError, ValueError, RuntimeError) as wrong:
        raise CheckpointError(
            f"{printable(str(folder))} cannot be read ({printable(str(wrong).splitlines()[0])})."
        ) from None


def read_shards(folder: Path, prefix: str = "") -> dict[str, Tensor]:
    """Return the tensors of a sharded checkpoint, complete, on the CPU: its consolidated form.

    With a prefix, return only the tensors whose names begin with it, without the prefix.
    """
    verify_shards(folder)
    shapes = {name: entry for name, entry in shard_shapes(folder).items() if name.startswith(prefix)}
    tensors = {name: torch.empty(shape, dtype=dtype) for name, (shape, dtype) in shapes.items()}
    load_shards(folder, tensors)
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}


def shard_shapes(folder: Path) -> dict[str, tuple[torch.Size, torch.dtype]]:
    """Return the name, shape and dtype of every tensor in a sharded checkpoint."""
    from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

    try:
        entries: Any = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
        return {name: (entry.size, entry.properties.dtype) for name, entry in entries.items()}
    except (SafetensorError, OSError, KeyError, ValueError) as wrong:
        raise CheckpointError(f"{printable(str(folder))} cannot be read ({printable(str(wrong))}).") from None


def verify_shards(folder: Path) -> None:
    """Raise CheckpointError if a file is missing or has changed since it was written."""
    verify_if_listed(folder, read_manifest(folder) or ())


def _file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".safetensors")

"""Files of a model: read and write safetensors, find config and weights in a folder, reject pickles.

A pickle can run any code when it is opened, so clearhead never opens one.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from clearhead.errors import CheckpointError, printable
from clearhead.files.reading import missing_file_hint
from clearhead.files.writing import FileWriter
from clearhead.formats.int8 import T, from_int8

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

CONFIG, WEIGHTS = "config.json", "model.safetensors"
_MAX_HEADER = 8 * 2**20  # bytes; that of a model with 400 layers has less than one million
_MAX_REASON = 200  # characters of a message of safetensors, which can quote the file
# CVE-2026-24747: before 2.10, a crafted file could run code although it was read with weights_only=True.
_CONVERT = (
    "If you trust it, convert it once with PyTorch 2.10 or newer (in older versions such a file can run code even with "
    "weights_only=True), in an environment without anything of value: "
)
PICKLE_ADVICE = (
    f"{_CONVERT}read it with torch.load(…, weights_only=True) and write it with safetensors.torch.save_file."
)
MARIAN_ADVICE = (
    f"{_CONVERT}"
    "python -c \"from transformers import MarianMTModel as M; M.from_pretrained('OLD').save_pretrained('NEW')\""
)
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_PICKLE_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def tensor_writer(tensors: Mapping[str, "Tensor"]) -> FileWriter:
    """Return a function that writes tensors as safetensors; equal tensors always give the same bytes."""
    from safetensors.torch import save_file  # it loads torch, which is not needed to read a config

    return _writer(save_file, {name: tensor.detach().contiguous() for name, tensor in tensors.items()})


def array_writer(arrays: "Mapping[str, npt.NDArray[Any]]") -> FileWriter:
    """Return a function that writes NumPy arrays as safetensors, as `tensor_writer` writes tensors."""
    import numpy as np
    from safetensors.numpy import save_file

    return _writer(save_file, {name: np.ascontiguousarray(array) for name, array in arrays.items()})


def _writer(save_file: Callable[..., None], tensors: Mapping[str, Any]) -> FileWriter:
    def write(path: Path) -> None:
        try:
            save_file(tensors, path, {"format": "pt"})  # several entries would be written in a random order
        except SafetensorError as wrong:  # raised when the disk is full
            raise OSError(str(wrong)) from None

    return write


def find_files(folder: Path, advice: str) -> tuple[Path, Path]:
    """Return the paths of config.json and model.safetensors; `advice` explains how to convert a pickle."""
    shown = printable(str(folder))
    if folder.is_file():
        refuse_other_formats(folder, advice)
        raise CheckpointError(f"{shown} is a file. Give the folder that contains {CONFIG} and {WEIGHTS}.")
    if not folder.is_dir():
        raise CheckpointError(
            f"{shown} does not exist.{missing_file_hint(folder)} Give the folder that contains {CONFIG} and {WEIGHTS}."
        )
    if not (folder / WEIGHTS).is_file():
        for path in sorted(folder.iterdir()):
            if path.suffix in _PICKLES and path.is_file():
                raise CheckpointError(_refusal(path, advice))
    for name in (CONFIG, WEIGHTS):
        if not (folder / name).is_file():
            held = sorted(printable(path.name) for path in folder.iterdir())
            there = f"It contains {', '.join(held[:5])}{' …' if len(held) > 5 else ''}." if held else "It is empty."
            raise CheckpointError(f"{shown} has no {name}. {there} A model is two files: {CONFIG} and {WEIGHTS}.")
    refuse_other_formats(folder / WEIGHTS, advice)
    return folder / CONFIG, folder / WEIGHTS


def refuse_other_formats(path: Path, advice: str) -> None:
    """Raise CheckpointError if the file is a pickle, a zip archive or a Git LFS pointer."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as wrong:
        raise CheckpointError(f"{printable(str(path))} cannot be read: {wrong}.") from None
    is_pickle = start.startswith(_PICKLE_STARTS) and not _is_header(start)
    if is_pickle or path.suffix in _PICKLES:
        raise CheckpointError(_refusal(path, advice))
    if start.startswith(b"version https://"):
        raise CheckpointError(f"{printable(str(path))} is a Git LFS pointer, not the weights. Run git lfs pull there.")


def _is_header(start: bytes) -> bool:
    """Return whether the bytes are the start of a safetensors file: the header's length (eight bytes), then `{`."""
    return start[5:8] == b"\0\0\0" and start[8:9] == b"{"


def _refusal(path: Path, advice: str) -> str:
    return f"{printable(str(path))} is a pickle, which can run any code when it is opened, so it is not read. {advice}"


def read_tensors(path: Path) -> tuple[dict[str, "Tensor"], dict[str, str]]:
    """Return the tensors of a safetensors file, all of them finite, and its metadata; int8 matrices become float32."""
    try:
        _check_header(path)
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())  # the file object is not iterable
            tensors, metadata = {name: file.get_tensor(name) for name in names}, dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as wrong:
        raise _damaged(path, wrong) from None
    broken = next((name for name, tensor in tensors.items() if not is_finite(tensor)), None)
    if broken is not None:
        raise _unusable(path, broken)
    return _with_path(path, tensors), metadata


def read_arrays(path: Path) -> "dict[str, npt.NDArray[Any]] | None":
    """Return the same as NumPy arrays, without torch; None if the file has bfloat16, which NumPy does not have."""
    import numpy as np

    try:
        _check_header(path)
        with safe_open(path, framework="numpy") as file:
            names = list(file.keys())
            if any(file.get_slice(name).get_dtype() == "BF16" for name in names):
                return None
            arrays = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, ValueError) as wrong:
        raise _damaged(path, wrong) from None
    for name, array in arrays.items():
        if array.dtype.kind == "f" and array.size and not np.isfinite([array.min(), array.max()]).all():
            raise _unusable(path, name)
    return _with_path(path, arrays)


def _with_path(path: Path, tensors: "Mapping[str, T]") -> "dict[str, T]":
    try:
        return from_int8(tensors)
    except CheckpointError as wrong:
        raise CheckpointError(f"{printable(str(path))}: {wrong}") from None


def _damaged(path: Path, wrong: Exception) -> CheckpointError:
    return CheckpointError(
        f"{printable(str(path))} is damaged ({printable(str(wrong)[:_MAX_REASON])}); it has {path.stat().st_size:,} "
        "bytes. It may have been truncated by a copy: copy it again, or use an earlier checkpoint."
    )


def _unusable(path: Path, name: str) -> CheckpointError:
    return CheckpointError(
        f"{printable(str(path))} is not usable: {printable(name)} contains numbers that are NaN or infinite. "
        "Use another checkpoint, or copy the file again from its source."
    )


def _check_header(path: Path) -> None:
    """Raise ValueError for a header that would take long to read; safetensors allows 100 MB, which takes a minute."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if length > _MAX_HEADER:
        raise ValueError(f"its header has {length:,} bytes, but the limit is {_MAX_HEADER:,}")


def is_finite(tensor: "Tensor") -> bool:
    """Return whether no number of a tensor is NaN or infinite.

    The smallest and the largest number show it, which takes a fortieth of the time of `isfinite` on every number.
    """
    if not tensor.numel() or not tensor.is_floating_point():
        return True
    return all(bool(extreme.isfinite()) for extreme in tensor.aminmax())

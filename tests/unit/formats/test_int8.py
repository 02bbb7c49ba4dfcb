"""Matrices as int8: small errors, the same numbers for torch and NumPy, and damaged files."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from clearhead.errors import CheckpointError
from clearhead.formats import load_checkpoint, save_checkpoint
from clearhead.formats.arrays import arrays_of
from clearhead.formats.files import WEIGHTS, array_writer, read_arrays, read_tensors
from clearhead.formats.int8 import from_int8, to_int8
from clearhead.formats.weights import own_tensors
from tests.unit.decoding.toys import random_model


def test_a_matrix_by_hand() -> None:
    matrix = np.array([[127.0, -63.6, 0.4], [0.0, 0.0, 0.0], [-2.54, 1.27, 0.02]], dtype=np.float32)
    stored = to_int8({"w.weight": matrix, "w.bias": np.array([0.1, 0.2], dtype=np.float32)})
    assert stored["w.weight"].tolist() == [[127, -64, 0], [0, 0, 0], [-127, 64, 1]]
    assert stored["w.weight.scale"] == pytest.approx([1.0, 0.0, 0.02])
    assert stored["w.bias"].dtype == np.float32
    restored = from_int8(stored)
    assert set(restored) == {"w.weight", "w.bias"}
    assert restored["w.weight"] == pytest.approx(np.array([[127, -64, 0], [0, 0, 0], [-2.54, 1.28, 0.02]]), rel=1e-6)


def test_no_number_moves_by_more_than_half_a_step() -> None:
    matrix = np.random.default_rng(7).normal(size=(31, 53)).astype(np.float32)
    stored = to_int8({"w": matrix})
    error = np.abs(from_int8(stored)["w"] - matrix)
    assert (error <= stored["w.scale"][:, None] * 0.5001).all()


def test_torch_and_numpy_read_the_same_numbers(tmp_path: Path) -> None:
    model = random_model().float()
    array_writer(to_int8(arrays_of(model).arrays))(tmp_path / WEIGHTS)
    tensors, _ = read_tensors(tmp_path / WEIGHTS)
    arrays = read_arrays(tmp_path / WEIGHTS)
    assert arrays is not None
    assert set(arrays) == set(tensors) == set(own_tensors(model))
    for name, array in arrays.items():
        assert array.dtype == np.float32
        assert np.array_equal(array, tensors[name].numpy()), name


def test_a_checkpoint_with_int8_weights_is_loaded_in_float32(tmp_path: Path) -> None:
    model = random_model().float()
    save_checkpoint(model, tmp_path)
    (tmp_path / "SHA256SUMS").unlink()
    array_writer(to_int8(arrays_of(model).arrays))(tmp_path / WEIGHTS)
    loaded = load_checkpoint(tmp_path)
    assert loaded.dtype == torch.float32
    assert not torch.equal(loaded.output.weight, model.output.weight)
    assert torch.allclose(loaded.output.weight, model.output.weight, atol=0.02)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"w.scale": np.ones(2, dtype=np.float32)}, "w is int8 of shape (3, 5) and its scale float32 of shape (2,)"),
        ({"w.scale": np.ones(3, dtype=np.float64)}, "its scale float64 of shape (3,)"),
        ({"w.scale": np.array([1, np.nan, 1], dtype=np.float32)}, "w.scale contains numbers that are NaN"),
        ({"w": np.ones(3, dtype=np.int8)}, "w is int8 of shape (3,)"),
    ],
    ids=["rows", "type", "NaN", "vector"],
)
def test_a_damaged_file_is_named_by_both_readers(tmp_path: Path, changes: dict[str, np.ndarray], sentence: str) -> None:
    tensors = {"w": np.ones((3, 5), dtype=np.int8), "w.scale": np.ones(3, dtype=np.float32), **changes}
    save_file(tensors, tmp_path / WEIGHTS)
    for read in (read_arrays, read_tensors):
        with pytest.raises(CheckpointError) as wrong:
            read(tmp_path / WEIGHTS)
        assert str(tmp_path / WEIGHTS) in str(wrong.value)
        assert sentence in str(wrong.value)


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    save_file({"w": np.ones((30, 50), dtype=np.int8), "w.scale": np.ones(30, dtype=np.float32)}, tmp_path / WEIGHTS)
    (tmp_path / WEIGHTS).write_bytes((tmp_path / WEIGHTS).read_bytes()[:1000])
    with pytest.raises(CheckpointError, match="is damaged .* it has 1,000 bytes"):
        read_arrays(tmp_path / WEIGHTS)


def test_numpy_leaves_bfloat16_to_torch(tmp_path: Path) -> None:
    header = json.dumps({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0\0\0")
    assert read_arrays(tmp_path / WEIGHTS) is None

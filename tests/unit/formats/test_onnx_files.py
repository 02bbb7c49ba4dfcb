"""ONNX files: only those that clearhead exported are opened, and their weights can be read back."""

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="it is an extra: pip install '.[onnx]'")

import onnx

from clearhead.errors import CheckpointError
from clearhead.formats.model_folder import find_model, load_arrays
from clearhead.formats.onnx_files import read_onnx_arrays, read_onnx_models
from clearhead.formats.onnx_graph import MARK, OPSET

FIRST = Path(__file__).parents[2] / "golden" / "first_release"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIRST / "onnx", tmp_path / "onnx"))


def test_the_weights_of_the_model_are_read_back_bit_for_bit() -> None:
    expected, weights = load_arrays(find_model(FIRST / "run")), read_onnx_arrays(FIRST / "onnx")
    assert weights.config == expected.config
    assert set(weights.arrays) == set(expected.arrays)
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(weights.arrays[name], array, err_msg=name)


def test_another_opset_is_refused(folder: Path) -> None:
    model = onnx.load(folder / "step.onnx")
    model.opset_import[0].version = OPSET + 2
    onnx.save(model, folder / "step.onnx")
    with pytest.raises(
        CheckpointError,
        match=r"step.onnx uses the operations of ai.onnx 19, but clearhead writes and reads opset 17. Export the model",
    ):
        read_onnx_models(folder)


def test_operations_of_another_vendor_are_refused(folder: Path) -> None:
    model = onnx.load(folder / "encoder.onnx")
    model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    onnx.save(model, folder / "encoder.onnx")
    with pytest.raises(CheckpointError, match="uses the operations of ai.onnx 17, com.example 1"):
        read_onnx_models(folder)


@pytest.mark.parametrize("content", [b"\xff\xff not protobuf", b"\x80\x04pickle", b"PK\x03\x04" * 9])
def test_a_file_that_is_not_onnx_is_refused(folder: Path, content: bytes) -> None:
    (folder / "encoder.onnx").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"encoder.onnx (is not an ONNX file|uses the operations of no opset)"):
        read_onnx_models(folder)


def test_a_graph_of_another_program_or_the_other_graph_is_refused(folder: Path) -> None:
    shutil.copy(folder / "encoder.onnx", folder / "step.onnx")
    with pytest.raises(CheckpointError, match="step.onnx is not the step of a model that clearhead exported"):
        read_onnx_models(folder)
    model = onnx.load(folder / "encoder.onnx")
    next(entry for entry in model.metadata_props if entry.key == MARK).value = "7"
    onnx.save(model, folder / "encoder.onnx")
    with pytest.raises(CheckpointError, match="encoder.onnx is not the encoder of a model that clearhead exported"):
        read_onnx_models(folder)


def test_weights_in_other_files_are_not_read(folder: Path) -> None:
    model = onnx.load(folder / "encoder.onnx")
    onnx.external_data_helper.set_external_data(model.graph.initializer[0], "../../secret")
    (folder / "encoder.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(CheckpointError, match="keeps weights in other files, which are not read"):
        read_onnx_models(folder)

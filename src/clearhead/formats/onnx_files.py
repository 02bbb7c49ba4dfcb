"""Read the ONNX files of an export: check that clearhead wrote them, and read their weights back."""

from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import numpy_helper

from clearhead.errors import CheckpointError, printable
from clearhead.formats.arrays import Array, ModelArrays
from clearhead.formats.export_file import ONNX_ENCODER, ONNX_STEP, read_export
from clearhead.formats.onnx_graph import FORMAT, MARK, OPSET
from clearhead.formats.onnx_transformer import OnnxModels
from clearhead.formats.shapes import misfits, shapes_of

_ADVICE = "Export the model again with this version of clearhead."


def read_onnx_models(folder: Path) -> OnnxModels:
    """Return the two graphs of an export, whose hashes are verified already."""
    return OnnxModels(_read_graph(folder / ONNX_ENCODER, "encoder"), _read_graph(folder / ONNX_STEP, "step"))


def _read_graph(path: Path, graph: str) -> onnx.ModelProto:
    shown = printable(str(path))
    try:
        model = onnx.load_model_from_string(path.read_bytes())
    except DecodeError:
        raise CheckpointError(f"{shown} is not an ONNX file, or it is truncated. {_ADVICE}") from None
    except OSError as wrong:
        raise CheckpointError(f"{shown} cannot be read: {wrong.strerror}.") from None
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    if opsets != {"": OPSET}:
        listed = ", ".join(f"{printable(domain) or 'ai.onnx'} {version}" for domain, version in opsets.items())
        raise CheckpointError(
            f"{shown} uses the operations of {listed or 'no opset'}, but clearhead writes and reads opset {OPSET}. "
            f"{_ADVICE}"
        )
    properties = {entry.key: entry.value for entry in model.metadata_props}
    if properties.get(MARK) != str(FORMAT) or properties.get("graph") != graph:
        raise CheckpointError(f"{shown} is not the {graph} of a model that clearhead exported. {_ADVICE}")
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer):
        raise CheckpointError(f"{shown} keeps weights in other files, which are not read. {_ADVICE}")
    return model


def read_onnx_arrays(folder: Path) -> ModelArrays:
    """Return the weights of an export in float32, under the names of a checkpoint."""
    description = read_export(folder)
    if description.precision != "float32":
        raise CheckpointError(
            f"{printable(str(folder))} has rounded weights ({description.precision}), so the model cannot be restored "
            "from it. Import an export in float32, or use the model that it was exported from."
        )
    models = read_onnx_models(folder)
    shapes = shapes_of(description.config)
    arrays: dict[str, Array] = {}
    for model in (models.encoder, models.step):
        for tensor in model.graph.initializer:
            if tensor.name in shapes:
                arrays[tensor.name] = np.array(numpy_helper.to_array(tensor), dtype=np.float32)
    wrong = misfits(arrays, shapes)
    if wrong:
        raise CheckpointError(f"{printable(str(folder))}: the graphs do not match export.json: {wrong}. {_ADVICE}")
    return ModelArrays(description.config, arrays)

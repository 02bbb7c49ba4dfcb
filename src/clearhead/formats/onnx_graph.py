"""Build an ONNX graph node by node: weights in float32 or int8, and the operations that a Transformer needs.

Weights keep the names and the shapes of a checkpoint, so that they can be read back. The package onnx is needed.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from clearhead import __version__

OnnxPrecision = Literal["float32", "int8"]
OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # of that opset
MARK, FORMAT = "clearhead_onnx", 1
SCALE, ROUNDED = ".scale", ".int8"  # added to the name of a matrix in int8
_ZERO = 128  # an unsigned byte that means 0: products of unsigned bytes never saturate on older CPUs
_LARGEST = 127
_NO_ATTRIBUTES: Mapping[str, Any] = {}


class OnnxGraphBuilder:
    """A graph under construction. Every operation returns the name of its output."""

    def __init__(self, weights: Mapping[str, npt.NDArray[np.float32]], precision: OnnxPrecision) -> None:
        self.weights, self.precision = weights, precision
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: dict[str, onnx.TensorProto] = {}
        self._derived: dict[str, str] = {}  # outputs that depend on weights only

    # Nodes and constants

    def node(self, operation: str, *inputs: str, attributes: Mapping[str, Any] = _NO_ATTRIBUTES) -> str:
        """Add an operation with one output."""
        return self.nodes(operation, inputs, 1, attributes)[0]

    def nodes(
        self, operation: str, inputs: Sequence[str], num_outputs: int, attributes: Mapping[str, Any] = _NO_ATTRIBUTES
    ) -> list[str]:
        """Add an operation with several outputs."""
        outputs = [f"{operation}_{len(self._nodes)}_{number}" for number in range(num_outputs)]
        self._nodes.append(helper.make_node(operation, list(inputs), outputs, **attributes))
        return outputs

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Return the name of a constant; equal constants are stored once."""
        array = np.asarray(value, dtype=dtype)
        return self._tensor(f"constant_{array.dtype}_{'x'.join(map(str, array.shape))}_{array.tolist()}", array)

    def _tensor(self, name: str, array: npt.NDArray[Any]) -> str:
        if name not in self._tensors:
            self._tensors[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def weight(self, name: str) -> str:
        """Return the name of a weight in float32."""
        return self._tensor(name, self.weights[name])

    def _derive(self, operation: str, source: str) -> str:
        """Add an operation on a weight once; the runtime computes it when it loads the graph."""
        key = f"{operation} {source}"
        if key not in self._derived:
            self._derived[key] = self.node(operation, source)
        return self._derived[key]

    # The operations of a Transformer

    def embed(self, table: str, ids: str) -> str:
        """Look up the rows of a table."""
        if self.precision == "float32":
            return self.node("Gather", self.weight(table), ids)
        rounded, scale = self._rounded(table)
        rows = self.node("Cast", self.node("Gather", rounded, ids), attributes={"to": TensorProto.FLOAT})
        centred = self.node("Sub", rows, self.constant(float(_ZERO)))
        return self.node("Mul", centred, self.node("Gather", self.node("Unsqueeze", scale, self._axis(-1)), ids))

    def linear(self, x: str, name: str, table: str | None = None) -> str:
        """x Wᵀ + b, where b can be missing; `table` names W if it is tied to another weight."""
        matrix = table or f"{name}.weight"
        if self.precision == "float32":
            y = self.node("MatMul", x, self._derive("Transpose", self.weight(matrix)))
        else:
            y = self._rounded_product(x, matrix)
        bias = f"{name}.bias"
        return self.node("Add", y, self.weight(bias)) if bias in self.weights else y

    def _rounded_product(self, x: str, matrix: str) -> str:
        """x Wᵀ in integers: every row of x and every row of W has its own scale, so that rows stay independent."""
        rounded, scale = self._rounded(matrix)
        largest = self.node("ReduceMax", self.node("Abs", x), attributes={"axes": [-1], "keepdims": 1})
        row_scale = self.node("Div", self.node("Max", largest, self.constant(1e-30)), self.constant(float(_LARGEST)))
        shifted = self.node("Add", self.node("Round", self.node("Div", x, row_scale)), self.constant(float(_ZERO)))
        row = self.node("Cast", shifted, attributes={"to": TensorProto.UINT8})
        zero = self.constant(_ZERO, np.uint8)
        sums = self.node("MatMulInteger", row, self._derive("Transpose", rounded), zero, zero)
        product = self.node("Cast", sums, attributes={"to": TensorProto.FLOAT})
        return self.node("Mul", self.node("Mul", product, scale), row_scale)

    def _rounded(self, matrix: str) -> tuple[str, str]:
        """Return the names of a matrix in unsigned bytes and of the scale of each of its rows."""
        scale_name, name = f"{matrix}{SCALE}", f"{matrix}{ROUNDED}"
        if name not in self._tensors:
            array = self.weights[matrix]
            scale = np.maximum(np.abs(array).max(axis=1), np.float32(1e-30)) / np.float32(_LARGEST)
            self._tensor(scale_name, scale.astype(np.float32))
            self._tensor(name, (np.rint(array / scale[:, None]) + _ZERO).astype(np.uint8))
        return name, scale_name

    def norm(self, x: str, name: str, epsilon: float) -> str:
        """γ (x - μ) / √(σ² + ε) + β, or without μ and β for an RMS norm, which has no shift"""
        gain, shift = self.weight(f"{name}.gain"), f"{name}.shift"
        if shift in self.weights:
            attributes = {"axis": -1, "epsilon": epsilon}
            return self.node("LayerNormalization", x, gain, self.weight(shift), attributes=attributes)
        mean = self.node("ReduceMean", self.node("Mul", x, x), attributes={"axes": [-1], "keepdims": 1})
        root = self.node("Sqrt", self.node("Add", mean, self.constant(epsilon)))
        return self.node("Mul", self.node("Div", x, root), gain)

    def activate(self, x: str, kind: str) -> str:
        """Apply relu, gelu (exact, by the error function) or silu."""
        if kind == "relu":
            return self.node("Relu", x)
        if kind == "silu":
            return self.node("Mul", x, self.node("Sigmoid", x))
        half = self.node("Mul", x, self.constant(0.5))
        error = self.node("Erf", self.node("Div", x, self.constant(math.sqrt(2.0))))
        return self.node("Mul", half, self.node("Add", error, self.constant(1.0)))

    def attend(self, q: str, transposed_k: str, v: str, width: int, is_hidden: str | None = None) -> str:
        """softmax(Q Kᵀ / √d_k) V, over the last two axes"""
        scores = self.node("Div", self.node("MatMul", q, transposed_k), self.constant(math.sqrt(width)))
        if is_hidden is not None:
            scores = self.node("Where", is_hidden, self.constant(-math.inf), scores)
        return self.node("MatMul", self.node("Softmax", scores, attributes={"axis": -1}), v)

    def split(self, x: str, num_parts: int, width: int) -> list[str]:
        """Split the last axis into equal parts."""
        return self.nodes("Split", (x, self.constant([width] * num_parts, np.int64)), num_parts, {"axis": -1})

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Reshape; 0 keeps an axis as it is."""
        return self.node("Reshape", x, self.constant(shape, np.int64))

    def swap(self, x: str, order: Sequence[int]) -> str:
        """Put axes into another order."""
        return self.node("Transpose", x, attributes={"perm": list(order)})

    def _axis(self, axis: int) -> str:
        return self.constant([axis], np.int64)

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """Insert axes of size 1."""
        return self.node("Unsqueeze", x, self.constant(list(axes), np.int64))

    # The finished model

    def model(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Mapping[str, onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        """Return the checked model; `outputs` gives each output's description by the name of its value."""
        for value, description in outputs.items():
            self._nodes.append(helper.make_node("Identity", [value], [description.name]))
        graph = helper.make_graph(
            self._nodes, name, list(inputs), list(outputs.values()), initializer=list(self._tensors.values())
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="clearhead",
            producer_version=__version__,
        )
        helper.set_model_props(model, {MARK: str(FORMAT), "graph": name, "precision": self.precision})
        onnx.checker.check_model(model)
        return model

"""Turn one sentence of a model's trace into a numpy worksheet that can be shown, saved and marked.

Padding is removed where the masks show that no token attended to it, and embedding tables are reduced to the rows used.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from clearhead.errors import TraceError
from clearhead.steps import Given, Record, Trace
from clearhead.worksheet.arrays import AnyArray, Ids
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.worksheet import Worksheet

Side = Literal["source", "target", ""]  # the tokens along an axis; "" for an axis that is not over tokens
Sides = tuple[Side, Side]  # of rows and columns

_KEEPS_ROWS = ("a", "b", "x", "scores", "weights", "ids", "positions")  # inputs with the same rows as the value
_KEEPS_COLUMNS = ("scale", "mask", "softmax")


def save_trace(
    trace: Trace,
    path: str | Path,
    sentence: int = 0,
    title: str = "",
    tokens: Sequence[str] = (),
    target_tokens: Sequence[str] = (),
) -> None:
    """Write one sentence of a trace to a worksheet JSON file, atomically; see `sheet_of_trace`."""
    sheet_of_trace(trace, sentence, title, tokens, target_tokens).save(path)


def sheet_of_trace(
    trace: Trace, sentence: int = 0, title: str = "", tokens: Sequence[str] = (), target_tokens: Sequence[str] = ()
) -> Worksheet:
    """Return one sentence of a traced batch as a worksheet.

    `tokens` are the names of the encoder's input (of the decoder's, if there is no encoder), `target_tokens` those of
    the decoder's input, starting with the start token. Source padding is removed according to its mask. A decoder has
    no mask for padding, because no earlier token can attend to it; it is cut to the number of names given.
    """
    return _Sentence(trace, sentence).sheet(title, tokens, target_tokens)


class _Sentence:
    """Converts one sentence of a trace from tensors with a batch axis to matrices without one."""

    def __init__(self, trace: Trace, sentence: int) -> None:
        if not trace.records:
            raise TraceError("this trace has no steps. Trace a model with output, trace = model.trace(batch).")
        size = max(len(record.value) for record in trace)
        if not 0 <= sentence < size:
            raise TraceError(f"sentence = {sentence}, but the batch has {size} sentences. Give 0 to {size - 1}.")
        self.trace, self.sentence = trace, sentence
        self.arrays: dict[int, AnyArray] = {}  # keyed by the id() of the tensor, which the trace keeps alive
        self.sides: dict[int, Sides] = {}
        for record in trace:
            self._take(record)
        self.has_source = any("source" in sides for sides in self.sides.values())

    # From tensors to arrays

    def _take(self, record: Record) -> None:
        for name, value in record.inputs.items():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Tensor) and id(part) not in self.arrays:
                    # the parts of a list, such as heads that are joined or the matrices of a filter, are matrices
                    rank = 2 if isinstance(value, tuple) else len(record.step.input(name).axes)
                    self.arrays[id(part)] = self._without_batch(part, rank, f"{record.where}: input '{name}'")
                    self.sides[id(part)] = self._given_sides(record, name)
        self.arrays[id(record.value)] = self._without_batch(record.value, 2, f"{record.where}: {record.symbol}")
        self.sides[id(record.value)] = self._worked_sides(record)

    def _without_batch(self, value: Tensor, rank: int, place: str) -> AnyArray:
        """Select this sentence from the batch; shared values (weights, positions) have no batch axis, or one of 1."""
        if value.ndim not in (rank, rank + 1):
            raise TraceError(
                f"{place} has {value.ndim} axes, but {rank} axes, or {rank + 1} with the batch, are expected. "
                "Trace a single layer of it."
            )
        if value.ndim > rank:
            value = value[self.sentence if len(value) > 1 else 0]
        is_whole = not (value.is_floating_point() or value.dtype == torch.bool)
        # booleans become 0 and 1, as in a worksheet; numpy has no bfloat16
        kind = torch.int64 if is_whole else torch.float64
        return np.array(value.detach().to(device="cpu", dtype=kind).numpy(), order="C")

    # Which tokens are along an axis

    def _given_sides(self, record: Record, name: str) -> Sides:
        own = self._side(record)
        if name in ("allowed", "scores", "weights"):
            return own, self._key_side(record)
        if name in ("k", "v"):
            return self._key_side(record), ""
        counts_tokens = record.step.input(name).axes[:1] in ("T", "Q") or record.step.name == "join"
        return (own, "") if counts_tokens else ("", "")

    def _side(self, record: Record) -> Side:
        """Return the tokens that a record works on; keys and values of cross-attention belong to the source."""
        if _is_across(record.where) and {"key", "value"} & set(record.where.split(".")):
            return "source"
        is_of_encoder = record.where.partition(".")[0] in ("input", "encoder")
        return "source" if is_of_encoder or record.step.name == "mean" else "target"  # a classifier's mean

    def _key_side(self, record: Record) -> Side:
        return "source" if _is_across(record.where) else self._side(record)

    def _worked_sides(self, record: Record) -> Sides:
        input_sides = {name: self.sides[id(v)] for name, v in record.inputs.items() if isinstance(v, Tensor)}
        step = record.step.name
        if step == "score":
            return input_sides["q"][0], input_sides["k"][0]
        if step == "append" or record.inputs.get("over", "features") != "features":
            return "", ""
        if step == "join":
            return self.sides[id(record.inputs["parts"][0])]
        if step == "multiply":  # of scores by a gate, or of states
            return input_sides["a"]
        height = len(self.arrays[id(record.value)])
        rows: Side = ""
        for name in _KEEPS_ROWS:  # a single row, such as a query, can be added to every token of the other side
            if name in input_sides and len(self.arrays[id(record.inputs[name])]) == height:
                rows = rows or input_sides[name][0]
        return rows, input_sides["scores"][1] if step in _KEEPS_COLUMNS else ""

    # The length of the sentence

    def _length(self, side: Side) -> int:
        """Return the number of tokens of a side, including padding."""
        return max(
            (
                self.arrays[key].shape[axis]
                for key, sides in self.sides.items()
                for axis in (0, 1)
                if sides[axis] == side
            ),
            default=0,
        )

    def _real_length(self, side: Side) -> int:
        """Return the number of tokens without those at the end that nothing attended to or counted."""
        padded_length = self._length(side)
        visible = np.zeros(padded_length, dtype=bool)
        has_mask = False
        for key, name in self._uses("allowed", "counted"):
            array, sides = self.arrays[key], self.sides[key]
            if name == "allowed" and sides[1] == side:
                visible, has_mask = visible | array.any(axis=0), True
            elif name == "counted" and sides[0] == side:
                visible, has_mask = visible | array.astype(bool), True
        real = np.flatnonzero(visible)
        return int(real[-1]) + 1 if has_mask and real.size else padded_length  # a sentence of padding only is unchanged

    def _may_cut(self, side: Side, length: int) -> bool:
        """Return whether the first `length` tokens of a side do not depend on the others."""
        for key, name in self._uses("allowed", "counted"):
            array, sides = self.arrays[key], self.sides[key]
            if name == "counted" and sides[0] == side and array[length:].any():
                return False
            if name == "allowed" and sides[1] == side:
                askers = slice(length) if sides[0] == side else slice(None)
                if array[askers, length:].any():
                    return False
        for record in self.trace:
            if record.step.name == "convolve" and _looks_ahead(record):
                key = id(record.inputs["x"])
                if self.sides[key][0] == side and self.arrays[key][length:].any():
                    return False
        return not any(record.step.name == "append" or _counts_all(record) for record in self.trace)

    def _uses(self, *names: str) -> list[tuple[int, str]]:
        """Return the ids of the arrays that records have as inputs of these names."""
        return [(id(record.inputs[name]), name) for record in self.trace for name in names if name in record.inputs]

    def _named(self, side: Side, names: Sequence[str], parameter: str) -> tuple[int, tuple[str, ...]]:
        """Return the number of tokens of a side to keep, and their names."""
        padded_length, real = self._length(side), self._real_length(side)
        is_fixed = real < padded_length and not self._may_cut(side, real)
        if is_fixed:
            real = padded_length
        if not names or len(names) == real:
            return real, tuple(names)
        if len(names) == padded_length:
            return real, tuple(names[:real])
        if len(names) < real and self._may_cut(side, len(names)):
            return len(names), tuple(names)
        if is_fixed:
            raise TraceError(
                f"{parameter} has {len(names)} names, but sentence {self.sentence} has {real} tokens with its padding, "
                f"which is part of the steps of this model. Trace the sentence alone, or give {real} names."
            )
        raise TraceError(
            f"{parameter} has {len(names)} names, but sentence {self.sentence} has {real} tokens"
            + (f" ({padded_length} with its padding)" if real < padded_length else "")
            + f". Give {real} names, or omit {parameter}."
        )

    # The worksheet

    def sheet(self, title: str, tokens: Sequence[str], target_tokens: Sequence[str]) -> Worksheet:
        """Return the worksheet, with padding removed and tokens named."""
        if tokens and target_tokens and not self.has_source:
            raise TraceError(
                "this trace has only a decoder, so tokens and target_tokens mean the same. Give tokens only."
            )
        target_names = target_tokens if self.has_source else tokens or target_tokens
        cuts = {
            "source": self._named("source", tokens if self.has_source else (), "tokens"),
            "target": self._named("target", target_names, "target_tokens" if self.has_source else "tokens"),
        }
        for key, sides in self.sides.items():
            array = self.arrays[key]
            cut = tuple(slice(cuts[side][0] if side else None) for side in sides[: array.ndim])
            self.arrays[key] = np.ascontiguousarray(array[cut])
        looked_up = self._cut_tables(cuts)
        sheet = Trace()
        for name, origin in self.trace.givens.items():
            if id(origin.value) in self.arrays:
                array, sides = self.arrays[id(origin.value)], self.sides[id(origin.value)]
                names = [cuts[side][1] if side else () for side in sides]
                names[0] = looked_up.get(id(origin.value), names[0])
                # a single row can apply to all tokens, and then has no name
                rows, columns = (n if array.shape[i : i + 1] == (len(n),) else () for i, n in enumerate(names))
                sheet.givens[name] = Given(name, origin.symbol, array, rows, columns)
        for record in self.trace:
            inputs = {name: self._value(value) for name, value in record.inputs.items()}
            if record.step.name == "convolve":
                inputs["count"] = len(self.arrays[id(record.value)])  # the number of windows without padding
            sheet.records.append(Record(record.step, record.where, inputs, self._value(record.value), record.symbol))
        precision = self._precision()
        notes = () if precision == "float64" else (f"Computed in {precision}; use trace_in_float64 for more digits.",)
        return Worksheet("trace", title, Rounding(), sheet, notes, precision=precision)

    def _value(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return tuple(self._value(part) for part in value)
        return self.arrays[id(value)] if isinstance(value, Tensor) else value

    def _cut_tables(self, cuts: dict[str, tuple[int, tuple[str, ...]]]) -> dict[int, tuple[str, ...]]:
        """Reduce each table to the rows that were looked up, and renumber the ids; return the names of the rows.

        A row is named after its token, or after its index in the original table.
        """
        users: dict[int, list[Record]] = {}
        for record in self.trace:
            if record.step.name == "embed":
                users.setdefault(id(record.inputs["table"]), []).append(record)
        names = {}
        for table, records in users.items():
            keys = list(dict.fromkeys(id(record.inputs["ids"]) for record in records))
            rows: Ids = np.unique(np.concatenate([self.arrays[key] for key in keys]))
            words = {int(row): str(row) for row in rows}
            for key in keys:
                side = self.sides[key][0]
                words |= dict(zip(self.arrays[key].tolist(), cuts[side][1] if side else (), strict=False))
                self.arrays[key] = np.searchsorted(rows, self.arrays[key])
            self.arrays[table] = np.ascontiguousarray(self.arrays[table][rows])
            is_of_tokens = any(record.where.endswith("embedding") for record in records)
            names[table] = tuple(words[int(row)] if is_of_tokens else str(row) for row in rows)
        return names

    def _precision(self) -> str:
        """Return the least precise number type among the values of the steps."""
        types = {record.value.dtype for record in self.trace if record.value.is_floating_point()}
        coarsest = max(types, key=lambda kind: torch.finfo(kind).eps)
        return str(coarsest).removeprefix("torch.")


def _counts_all(record: Record) -> bool:
    """Return whether a mean is over all tokens, including padding."""
    return record.inputs.get("over", "features") != "features" and "counted" not in record.inputs


def _looks_ahead(record: Record) -> bool:
    """Return whether the windows of a convolution contain later tokens than their own."""
    return int(record.inputs["first"]) + len(record.inputs["taps"]) > 1


def _is_across(where: str) -> bool:
    """Return whether a part of the decoder uses the states of the encoder: attention, or a recurrent start state."""
    words = where.split(".")
    return "cross_attention" in words or words[:2] == ["decoder", "start"]

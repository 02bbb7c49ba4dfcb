"""What the script of a page needs to mark a working: the given numbers, every step with its inputs, the printed cells.

The results of the steps are not included: the script computes them from the given numbers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from clearhead.check.graph import FromGiven, FromParts, FromRecord, Graph, Plain, Source
from clearhead.errors import QuizError
from clearhead.quiz.sheet import QuizSheet
from clearhead.steps import Record
from clearhead.worksheet.expression import Number, write
from clearhead.worksheet.rounding import Digits
from clearhead.worksheet.view import StepView
from clearhead.worksheet.working import WORKINGS

# The inputs of every step that the script computes with. All others (ids, widths, formulas …) must be given.
NUMERIC_INPUTS: Mapping[str, tuple[str, ...]] = {
    "embed": ("table",),
    "position": (),
    "angle": (),
    "rotate": ("x", "angles"),
    "add": ("a", "b"),
    "project": ("x", "w", "b"),
    "transform": ("x", "w", "b"),
    "split": ("x",),
    "append": ("cached", "new"),
    "score": ("q", "k"),
    "kernel": (),
    "scale": ("scores",),
    "mask": ("scores",),
    "shift": ("scores",),
    "exponentiate": ("scores",),
    "row_sum": ("x",),
    "softmax": ("scores", "exponentials", "total"),
    "divide": ("scores",),
    "mix": ("weights", "v"),
    "join": ("parts",),
    "activate": ("x",),
    "mean": ("x",),
    "variance": ("x", "mean"),
    "deviation": ("variance",),
    "normalise": ("x", "mean", "variance", "gain", "shift", "deviation"),
    "root_mean_square": ("x",),
    "rms_normalise": ("x", "gain", "rms"),
    "convolve": ("x", "taps", "b"),
    "pick": ("x",),
    "copy": ("x",),
    "multiply": ("a", "b"),
    "complement": ("x",),
    "choose": ("probabilities",),
    "loss": ("probabilities",),
    "total": ("x",),
    "gradient": ("probabilities",),
    "one_hot": (),
    "idf": (),
    "length": ("x",),
    "cosine": ("dots", "lengths"),
}
ACTIVATIONS = ("tanh", "relu", "sigmoid", "gelu", "silu")
_NO_TEMPLATE = frozenset({"shift"})  # its sum names the greatest score, which may be another one in the student's row
_MAX_SHOWN_TERMS = 12


def script_data(sheet: QuizSheet, *, has_comma: bool = False) -> dict[str, Any]:
    """Return the data of a sheet for the script; raise QuizError if it has a step that the script cannot compute."""
    graph = Graph(sheet.worksheet)
    templates = _Templates(sheet, graph)
    records = []
    for index, (record, step) in enumerate(zip(graph.records, sheet.view.steps, strict=True)):
        check_step(record, graph.sources[index])
        records.append(
            {
                "step": record.step.name,
                "symbol": record.symbol,
                "where": record.where,
                "inputs": {name: _source_data(source) for name, source in graph.sources[index].items()},
                "shown": _shown_cells(step, is_turned=graph.is_turned),
                "rule": f"{record.symbol} = {step.equation}",
                "sentence": record.step.sentence,
                "sums": templates.of(record, step),
            }
        )
    names = [(record["where"], record["symbol"]) for record in records]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise QuizError(
            f"two lines of sheet {sheet.number} have the name {repeated[1]}, so the file of a working could not tell "
            "them apart. Write this sheet in another form."
        )
    used = {name for sources in graph.sources for name in _given_names(sources.values())}
    return {
        "number": sheet.number,
        "hasComma": has_comma,
        "isTurned": graph.is_turned,
        "decimals": sheet.worksheet.rounding.shown_decimals,
        "significant": sheet.worksheet.rounding.significant,
        "givens": {name: _plain_data(graph.givens[name].value) for name in graph.givens if name in used},
        "records": records,
    }


def check_step(record: Record, sources: Mapping[str, Source]) -> None:
    """Raise QuizError if the script would not compute a record as the reference does."""
    name = record.step.name
    if name not in NUMERIC_INPUTS:
        raise QuizError(f"the step '{name}' cannot be marked in a page. Write this sheet in another form.")
    for key, source in sources.items():
        if key not in NUMERIC_INPUTS[name] and not isinstance(source, FromGiven | Plain):
            raise QuizError(
                f"the input '{key}' of the step '{name}' is calculated, so this sheet cannot be marked in a page. "
                "Write it in another form."
            )
    if name == "activate" and record.inputs["function"] not in ACTIVATIONS:
        raise QuizError(
            f"the activation '{record.inputs['function']}' cannot be marked in a page. "
            "Write this sheet in another form."
        )
    if np.ndim(record.value) != 2:
        raise QuizError(f"the line {record.symbol} is not a matrix. Write this sheet in another form.")


def _source_data(source: Source) -> dict[str, Any]:
    match source:
        case FromRecord(index):
            return {"record": index}
        case FromGiven(name):
            return {"given": name}
        case FromParts(parts):
            return {"parts": [_source_data(part) for part in parts]}
        case Plain(value):
            return {"value": _plain_data(value)}


def _plain_data(value: Any) -> Any:
    """Return a value as JSON has it; -∞, the fill of a mask, becomes "-inf"."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain_data(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        assert value < 0, "a problem has no other infinite number"
        return "-inf"
    return value


def _given_names(sources: Any) -> list[str]:
    names = []
    for source in sources:
        if isinstance(source, FromGiven):
            names.append(source.name)
        elif isinstance(source, FromParts):
            names += _given_names(source.parts)
    return names


def _shown_cells(step: StepView, *, is_turned: bool) -> list[list[str | None]]:
    """Return the printed digits with tokens as rows, None for the cells to fill in."""
    height, width = step.matrix.value.shape
    digits = step.matrix.digits
    rows = [[None if digits.is_hidden(i, j) else digits.text(i, j) for j in range(width)] for i in range(height)]
    return [list(column) for column in zip(*rows, strict=True)] if is_turned else rows


class _Templates:
    """The sum of a cell as text, with `{record:row,column}` for numbers that the student may have typed."""

    max_terms = _MAX_SHOWN_TERMS

    def __init__(self, sheet: QuizSheet, graph: Graph) -> None:
        self.is_left_first = not graph.is_turned
        self._homes = {id(record.value): index for index, record in enumerate(graph.records)}
        rounding = sheet.worksheet.rounding
        self._digits = {
            id(matrix.value): Digits(np.asarray(matrix.value), rounding, is_given=True)
            for matrix in graph.givens.values()
        }
        self._is_turned = graph.is_turned

    def cell(self, value: Any, *index: int) -> Number:
        """Return a placeholder for a number of an earlier line, the digits of a given number."""
        home = self._homes.get(id(value))
        if home is None:
            return Number(self._digits[id(value)].text(*index))
        return Number(f"{{{home}:{','.join(map(str, index))}}}")

    def plain(self, number: float) -> Number:
        """Return a single number with its own digits."""
        return Number(np.format_float_positional(float(number), precision=12, unique=True, trim="-"))

    def of(self, record: Record, step: StepView) -> dict[str, str]:
        """Return the sums of the cells to fill in, by `row,column` with tokens as rows."""
        if record.step.name in _NO_TEMPLATE:
            return {}
        sums = {}
        height, width = record.value.shape
        for row in range(height):
            for column in range(width):
                shown = (column, row) if self._is_turned else (row, column)
                if step.matrix.digits.is_hidden(*shown):
                    expression = WORKINGS[record.step.name](record, row, column, self)
                    if expression is not None:
                        sums[f"{row},{column}"] = write(expression)
        return sums

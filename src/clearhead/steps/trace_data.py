"""Convert a Trace to plain data and back. Inputs are written as references, so that no number is stored twice.

Values are not converted here: the code that writes the file knows the array type.
"""

from collections.abc import Callable, Mapping
from typing import Any

from clearhead.errors import TraceError, did_you_mean
from clearhead.steps.trace import Given, Record, Trace
from clearhead.steps.vocabulary import STEPS

Data = dict[str, Any]
Plain = bool | int | float | str | None


def trace_to_data(trace: Trace) -> Data:
    """Return `{layout, given, records}`; an input is a `{given: …}`, `{record: …}`, `{list: […]}` or `{is: …}`.

    Any other input breaks the chain from the answer to the question and raises TraceError.
    """
    sources: dict[int, Data] = {id(entry.value): {"given": name} for name, entry in trace.givens.items()}
    records = []
    for index, record in enumerate(trace):
        inputs = {name: _reference(value, sources, record, name) for name, value in record.inputs.items()}
        records.append(
            {
                "step": record.step.name,
                "where": record.where,
                "symbol": record.symbol,
                "inputs": inputs,
                "value": record.value,
            }
        )
        sources[id(record.value)] = {"record": index}
    givens = [
        {"name": g.name, "symbol": g.symbol, "rows": list(g.rows), "columns": list(g.columns), "value": g.value}
        for g in trace.givens.values()
    ]
    return {"layout": trace.layout, "given": givens, "records": records}


def _reference(value: Any, sources: Mapping[int, Data], record: Record, name: str) -> Data:
    if id(value) in sources:
        return sources[id(value)]
    if isinstance(value, tuple | list):
        return {"list": [_reference(element, sources, record, name) for element in value]}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"is": "inf" if value > 0 else "-inf", "type": "number"}
    if isinstance(value, Plain):
        return {"is": value}
    raise TraceError(
        f"{record.where or 'the trace'}: input '{name}' of step '{record.step.name}' is neither a given value nor the "
        "result of an earlier step. Call trace.give(name, value) first."
    )


def trace_from_data(data: Mapping[str, Any], make_value: Callable[[Any], Any]) -> Trace:
    """Rebuild a Trace from the result of `trace_to_data`; `make_value` converts nested lists to arrays."""
    try:
        trace = Trace(data["layout"])
        for entry in data["given"]:
            value, name = make_value(entry["value"]), _text(entry, "name")
            rows, columns = _names(entry, "rows"), _names(entry, "columns")
            if value.ndim == 2 and any(
                names and len(names) < length for names, length in zip((rows, columns), value.shape, strict=True)
            ):
                raise ValueError(f"{name} has too few names of rows or columns")
            trace.givens[name] = Given(name, _text(entry, "symbol"), value, rows, columns)
        for entry in data["records"]:
            if entry["step"] not in STEPS:
                raise TraceError(f"'{entry['step']}' is not a step.{did_you_mean(str(entry['step']), STEPS)}")
            inputs = {name: _resolve(reference, trace) for name, reference in entry["inputs"].items()}
            value = make_value(entry["value"])
            where, symbol = _text(entry, "where"), _text(entry, "symbol")
            trace.records.append(Record(STEPS[entry["step"]], where, inputs, value, symbol))
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as problem:
        raise TraceError(f"this is not a trace written by clearhead: {type(problem).__name__} {problem}.") from problem
    return trace


def _text(entry: Mapping[str, Any], key: str) -> str:
    if not isinstance(entry[key], str):
        raise ValueError(f"{key} is not a text")
    return str(entry[key])


def _names(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    if not isinstance(entry[key], list) or not all(isinstance(name, str) for name in entry[key]):
        raise ValueError(f"{key} is not a list of texts")
    return tuple(entry[key])


def _resolve(reference: Mapping[str, Any], trace: Trace) -> Any:
    if "given" in reference:
        return trace.givens[reference["given"]].value
    if "record" in reference:
        return trace.records[reference["record"]].value
    if "list" in reference:
        return tuple(_resolve(element, trace) for element in reference["list"])
    return float(reference["is"]) if reference.get("type") == "number" else reference["is"]

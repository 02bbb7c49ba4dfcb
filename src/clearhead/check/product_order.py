"""The order of the products in a multiplicative score, sᵀ(W h) or (sᵀW) h, as the working shows it.

Both orders give the same score, so the sheet follows the order of the student's lines, whatever the question shows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clearhead.check.line_words import word_key
from clearhead.check.names import matches_place, split_pick
from clearhead.check.working import Working, WrittenLine

_ORDER_BY_NAME = {"stw": "(sW)h", "sw": "(sW)h", "wts": "(sW)h", "wh": "s(Wh)", "whi": "s(Wh)"}


def with_written_order(working: Working) -> Mapping[str, Any]:
    """Return the problem with the order of products that the lines of the working have."""
    problem, parts = working.problem, working.problem.get("parts")
    if isinstance(parts, list | tuple):
        return {
            **problem,
            "parts": [_ordered(part, _lines_of_part(working.lines, n)) for n, part in enumerate(parts)],
        }
    ordered: Mapping[str, Any] = _ordered(problem, working.lines)
    return ordered


def _lines_of_part(lines: Sequence[WrittenLine], number: int) -> list[WrittenLine]:
    return [line for line in lines if matches_place(line.where, f"part.{number}.attention.query")]


def _ordered(problem: Any, lines: Sequence[WrittenLine]) -> Any:
    if not isinstance(problem, Mapping) or problem.get("score") != "multiplicative":
        return problem
    orders = {_ORDER_BY_NAME.get(word_key(split_pick(line.name).name.partition("=")[0])) for line in lines} - {None}
    return {**problem, "order": orders.pop()} if len(orders) == 1 else problem

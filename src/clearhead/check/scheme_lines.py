"""The lines that a mark scheme names: find them in an exercise, and report names that it does not have."""

from collections.abc import Collection, Mapping
from typing import Any

from clearhead.check.graph import Graph
from clearhead.check.marks import Scheme
from clearhead.check.names import find_records, split_pick
from clearhead.errors import ProblemError, did_you_mean
from clearhead.worksheet.problem import shorten
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from clearhead.worksheet.view import SheetView

_WORDS = ("queries", "keys", "values", "scores", "scaled scores", "masked scores", "weights", "output", "positions",
          "input", "norm", "residual", "state", "logits", "probabilities")  # fmt: skip
_MAX_SYMBOLS = 20  # of an exercise in a sentence


class SchemeLineError(ProblemError):
    """A mark scheme that names lines which the exercise does not have."""


def scheme_nodes(graph: Graph, name: str) -> tuple[int, ...]:
    """Return the records that a name in a scheme can mean, the most likely first; the marks belong to the first."""
    where, _, symbol = name.rpartition(":")
    return find_records(graph, split_pick(symbol.strip()).name, where.strip()).nodes


def check_scheme(scheme: Scheme, problem: Mapping[str, Any]) -> None:
    """Raise an error if the scheme names lines that the exercise, in its default convention, does not have."""
    if scheme.lines:
        check_scheme_lines(scheme, _default_graph(problem))


def _default_graph(problem: Mapping[str, Any]) -> Graph:
    return Graph(solve(parse_problem(problem), Rounding()))


def check_scheme_lines(scheme: Scheme, graph: Graph, problem: Mapping[str, Any] | None = None) -> None:
    """Raise an error that lists all names in the scheme that are unknown, or that mean the same line as another.

    If `graph` has the convention of one working, `problem` is the exercise: its lines are known as well.
    """
    mistakes, names = [], dict[int, str]()
    for name in scheme.lines:
        nodes = scheme_nodes(graph, name)
        if not nodes:
            if not problem or not scheme_nodes(_default_graph(problem), name):
                mistakes.append(_unknown_line(graph, name))
        elif nodes[0] in names:
            mistakes.append(
                f"lines: {shorten(names[nodes[0]])} and {shorten(name)} mean the same line, "
                f"{graph.records[nodes[0]].symbol}. Remove one of them."
            )
        else:
            names[nodes[0]] = name
    if mistakes:
        raise SchemeLineError(mistakes)


def _unknown_line(graph: Graph, name: str) -> str:
    symbols = list(dict.fromkeys(record.symbol for record in graph.records))
    words = [word for word in _WORDS if find_records(graph, word, "").nodes]
    near = did_you_mean(name.rpartition(":")[2].strip(), [*words, *symbols])
    shown = ", ".join(symbols[:_MAX_SYMBOLS]) + (" …" if len(symbols) > _MAX_SYMBOLS else "")
    return f"lines: {shorten(name)} is not a line of this exercise.{near} Its lines are {shown}."


def other_steps(view: SheetView, nodes: Collection[int]) -> tuple[str, ...]:
    """Return the symbols of the steps that are not among these nodes, with their sections if there are several."""
    steps = [step for node, step in enumerate(view.steps) if node not in nodes]
    is_one = len({step.section for step in view.steps}) == 1
    return tuple(step.record.symbol if is_one else f"{step.record.symbol} ({step.section})" for step in steps)

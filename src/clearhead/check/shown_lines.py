"""Mark lines that an exercise does not show: exponentials, their sum and the standard deviation.

A student may write them, with or without subtracting the largest score of each row first. The exercise is then solved
with these lines, so that they are marked as lines of their own, and later lines follow from them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clearhead.check.limits import WorkLimitError
from clearhead.check.line_words import EXPONENTIAL_SYMBOLS, word_key
from clearhead.check.names import split_pick
from clearhead.check.working import Note, Working
from clearhead.errors import ProblemError
from clearhead.worksheet.cells import read_shown_lines

if TYPE_CHECKING:
    from clearhead.check.report_writer import ComparedWorking

Compare = Callable[[Working], "ComparedWorking"]
_EXPONENTIALS = ("exponentials", "shifted-exponentials")
_STEPS_OF_SOFTMAX = frozenset({"shift", "exponentiate", "row_sum"})
_STEPS_OF_NORM = frozenset({"deviation", "root_mean_square"})
_STEPS = _STEPS_OF_SOFTMAX | _STEPS_OF_NORM
_NORMS = frozenset({"normalise", "rms_normalise"})


def compare_with_shown_lines(working: Working, compare: Compare) -> "ComparedWorking":
    """Compare a working with the exercise as it is and, if lines have no place there, with more lines shown."""
    best = compare(working)
    if not _may_have_more_lines(working, best):
        return best
    chosen: tuple[str, ...] | None = None
    steps = {record.step.name for record in best.graph.records}
    for show in _options(working.problem):
        if not all(steps & (_NORMS if name == "deviation" else {"softmax"}) for name in show):
            continue  # the exercise has no step that such a line belongs to
        try:
            other = compare(replace(working, problem={**working.problem, "show": list(show)}))
        except WorkLimitError:
            raise
        except ProblemError:
            continue
        if _has_all(other, show) and _rank(other) < _rank(best):
            best, chosen = other, show
    if chosen is not None:
        best.placing.notes.append(Note("placed", _note(best)))
    return best


def _may_have_more_lines(working: Working, compared: "ComparedWorking") -> bool:
    """Return whether a line has no place, or one of these lines (or a line with an ambiguous name) is wrong."""
    if _num_unplaced(compared):
        return True
    records = compared.graph.records
    for judged in compared.comparison.judged:
        line = judged.statement.line
        is_one = records[judged.statement.node].step.name in _STEPS or _is_ambiguous(working, line)
        if is_one and compared.num_wrong_in(line):
            return True
    return False


def _is_ambiguous(working: Working, line: int) -> bool:
    return word_key(split_pick(working.lines[line].name).name) in EXPONENTIAL_SYMBOLS


def _options(problem: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the lists of lines that the exercise could show instead, those with the fewest additions first."""
    try:
        present = read_shown_lines(problem.get("show", ()))
    except ValueError:
        return
    is_deviation = "deviation" in present
    own = tuple(name for name in present if name in _EXPONENTIALS)
    for rest in ((), ("deviation",)) if not is_deviation else (("deviation",),):
        for exponentials in (own, *((name,) for name in _EXPONENTIALS if name not in own)):
            if {*exponentials, *rest} != set(present):
                yield (*exponentials, *rest)


def _has_all(compared: "ComparedWorking", show: tuple[str, ...]) -> bool:
    """Return whether the working has at least one of the lines that each name shows."""
    steps = {compared.graph.records[node].step.name for node in compared.placing.statements}
    return all(steps & (_STEPS_OF_NORM if name == "deviation" else _STEPS_OF_SOFTMAX) for name in show)


def _rank(compared: "ComparedWorking") -> tuple[int, int, int]:
    """Order comparisons: lines without a place, then wrong cells, then lines that nobody wrote."""
    records, statements = compared.graph.records, compared.placing.statements
    unwritten = sum(record.step.name in _STEPS and index not in statements for index, record in enumerate(records))
    return _num_unplaced(compared), compared.num_wrong, unwritten


def _num_unplaced(compared: "ComparedWorking") -> int:
    placing = compared.placing
    return sum(note.is_unknown_line for note in placing.notes) + len(placing.misshapen)


def _note(compared: "ComparedWorking") -> str:
    """Return a sentence that names the lines of the working that the exercise does not show."""
    records = compared.graph.records
    extra = [records[node] for node in sorted(compared.placing.statements) if records[node].step.name in _STEPS]
    symbols = list(dict.fromkeys(record.symbol for record in extra))
    listed = " and ".join([", ".join(symbols[:-1]), symbols[-1]] if len(symbols) > 1 else symbols)
    is_shifted = any(record.step.name == "shift" for record in records)
    shifted = " D is each score minus the largest of its row." if is_shifted else ""
    marked = "They were" if len(symbols) > 1 else "It was"
    return f"Your working also has {listed}, which the exercise does not show. {marked} marked too.{shifted}"

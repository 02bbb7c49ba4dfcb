"""Mark a working: solve its problem, match its lines to steps, compare every cell, name the errors, give marks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from clearhead.check.compare import compare
from clearhead.check.comparison import SheetInput
from clearhead.check.conventions import compare_by_best_convention
from clearhead.check.graph import Graph
from clearhead.check.limits import (
    MAX_SHEET_CELLS,
    MAX_SHEET_STEPS,
    MAX_WRITTEN_CELLS,
    MAX_WRITTEN_LINES,
    WorkLimitError,
)
from clearhead.check.line_words import FINAL_WORDS, symbol_key, word_key
from clearhead.check.marks import Scheme
from clearhead.check.names import words_for
from clearhead.check.numbered_sheet import PRINTED, scheme_of_sheet, with_printed_lines
from clearhead.check.placing import Placer
from clearhead.check.product_order import with_written_order
from clearhead.check.report import Report
from clearhead.check.report_writer import ComparedWorking, ReportWriter
from clearhead.check.shown_lines import compare_with_shown_lines
from clearhead.check.statement import Placing, Statement
from clearhead.check.style import Style
from clearhead.check.sums import plain_number
from clearhead.check.unknown_input import has_unknown_input, with_placeholder, with_stated_norm, without_numbers
from clearhead.check.working import Note, Working
from clearhead.errors import ProblemError, did_you_mean
from clearhead.exercises.check.read.problem_source import unusable_problem
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.reading import parse_problem
from clearhead.worksheet.rounding import Rounding
from clearhead.worksheet.solver import solve
from clearhead.worksheet.worksheet import Worksheet

# The allowed error of a full-precision number, relative to itself or to 1: the rounding of one step of a model.
_TOLERANCES = {"float64": 1e-9, "float32": 1e-4, "float16": 5e-3, "bfloat16": 4e-2}
_MAX_DOUBTS = 4  # ambiguous lines, and records for each of them, that are tried


def mark(working: Working, scheme: Scheme | None = None) -> Report:
    """Mark a working against its problem."""
    if not working.problem:
        raise ProblemError(
            f"it does not name the problem, so nothing can be marked. {_as_sentences(working.notes)}"
            "Name one: a file, or an exercise of the gallery.",
            options=("problem",),
        )
    if len(working.lines) > MAX_WRITTEN_LINES:
        raise ProblemError(
            f"contains {len(working.lines):,} lines; the limit is {MAX_WRITTEN_LINES:,}. "
            "Give the lines of one problem only."
        )
    num_cells = sum(len(row) for line in working.lines for row in line.cells)
    if num_cells > MAX_WRITTEN_CELLS:
        raise ProblemError(
            f"contains {num_cells:,} written numbers; the limit is {MAX_WRITTEN_CELLS:,}. Give fewer lines."
        )
    sheet, working = working.sheet, with_stated_norm(with_printed_lines(working))
    try:
        marked = compare_by_best_convention(working, _compare)
    except WorkLimitError:
        raise
    except ProblemError:
        if not working.problem_file:
            raise
        raise unusable_problem(f"problem {working.problem_file}") from None
    if not marked.comparison.judged and not marked.placing.misshapen:
        raise _nothing_marked(working, marked)
    with np.errstate(all="ignore"):
        report = ReportWriter(working, marked, scheme_of_sheet(scheme or Scheme(), working, marked.graph)).report()
    number, quiz = ("", "") if sheet is None else (sheet.number, sheet.quiz)
    return replace(report, sheet=number, quiz=quiz, notes=tuple(note for note in report.notes if note.place != PRINTED))


def _as_sentences(notes: Sequence[Note]) -> str:
    """Return the first few notes as sentences."""
    return "".join(f"{note.sentence[:1].upper()}{note.sentence[1:].rstrip('. ')}. " for note in notes[:3])


def _nothing_marked(working: Working, marked: ComparedWorking) -> ProblemError:
    """Return the error that explains why nothing could be marked, with all unknown names in one sentence."""
    lost = [note for note in marked.placing.notes if note.is_unknown_line]
    if not lost or len(lost) < len(marked.placing.notes):
        notes = _as_sentences((*working.notes, *marked.placing.notes))
        notes = (
            notes or "No line with a name and numbers was found, such as 'Q = [[1, 2], [3, 4]]' or 'weights: 0.4 0.6'."
        )
        return ProblemError(f"nothing in this working could be marked. {notes}".strip())
    names = list(dict.fromkeys(line.name for line in working.lines))
    symbols = list(dict.fromkeys(record.symbol for record in marked.graph.records))
    are = "is" if len(names) == 1 else "are"
    near = did_you_mean(names[0], [*symbols, *words_for(marked.graph)]) if len(names) == 1 else ""
    return ProblemError(
        f"nothing in this working could be marked: {_first_few(names)} {are} not in this problem "
        f"({marked.graph.sheet.kind}).{near} Its lines are {_first_few(symbols)}. If the working belongs to another "
        "problem, name that problem.",
        options=("problem",),
    )


def _first_few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "")


def mark_all(exercises: Sequence[Working | Worksheet], scheme: Scheme | None = None) -> list[Report]:
    """Mark every exercise of a document; one that cannot be marked is reported, and the others are still marked."""
    if len(exercises) == 1:
        only = exercises[0]
        return [_mark_loaded_worksheet(only, scheme) if isinstance(only, Worksheet) else mark(only, scheme)]
    reports, problems = [], []
    for exercise in exercises:
        try:
            reports.append(
                _mark_loaded_worksheet(exercise, scheme) if isinstance(exercise, Worksheet) else mark(exercise, scheme)
            )
        except ProblemError as wrong:
            problems.append(wrong)
            assert isinstance(exercise, Working)
            note = Note("unplaced", f"This part could not be marked: {wrong.mistakes[0]}")
            reports.append(
                Report(exercise.title, "", exercise.student, "rows", (), (), (*exercise.notes, note), 0.0, 0.0)
            )
    if problems and len(problems) == len(exercises):
        raise problems[0]
    if not exercises:
        raise ProblemError("no exercise with numbers was found. Write matrices like this: Q = [[1, 2], [3, 4]].")
    return reports


def _mark_loaded_worksheet(sheet: Worksheet, scheme: Scheme | None) -> Report:
    """Mark a worksheet that was read from a file and may have been edited."""
    if not sheet.trace:
        raise ProblemError("contains no lines, so nothing can be marked. Solve the problem again and save it as JSON.")
    try:
        return mark_worksheet(sheet, scheme)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError) as wrong:
        raise ProblemError(
            f"is a worksheet with lines that do not fit together ({type(wrong).__name__}). "
            "Solve the problem again and save it as JSON."
        ) from wrong


def _compare(working: Working) -> ComparedWorking:
    """Compare a working, also with the lines that it has and the exercise does not show."""
    return compare_with_shown_lines(working, _compare_as_shown)


def _compare_as_shown(working: Working) -> ComparedWorking:
    """Compare a working; an ambiguous line is read as the record that its numbers fit best."""
    problem = with_written_order(working)
    is_unknown = has_unknown_input(problem)
    sheet = solve(parse_problem(with_placeholder(problem, working) if is_unknown else problem), Rounding())
    sheet = without_numbers(sheet) if is_unknown else sheet
    _check_sheet_size(sheet)
    graph = Graph(sheet)
    with np.errstate(all="ignore"):
        best, decided = _compare_placed(graph, working, {}), dict[int, int]()
        doubts = [(line, others) for line, others in best.placing.doubtful.items() if best.num_wrong_in(line)]
        for line, others in doubts[:_MAX_DOUBTS]:
            for node in others[:_MAX_DOUBTS] if best.num_wrong_in(line) else ():
                if _is_repeat(best, working, line, node):
                    continue
                other = _compare_placed(graph, working, {**decided, line: node})
                # a wrong number can fit another record by chance, so most of the line must fit, and not only possibly
                gain = best.num_wrong - max(other.num_wrong, other.num_unproved_in(line))
                if gain > best.num_wrong_in(line) / 2:
                    best, decided = other, {**decided, line: node}
    return best


def _is_repeat(best: ComparedWorking, working: Working, line: int, node: int) -> bool:
    """Return whether a line with a name of its own would repeat another line: O = Z is not a second Z.

    The name is the symbol of its record, or says that it is the last line, which follows from the other one.
    """
    statements, graph = best.placing.statements, best.graph
    own = [index for index, group in statements.items() if any(statement.line == line for statement in group)]
    name = working.lines[line].name
    has_own_name = any(
        symbol_key(graph.records[index].symbol) == symbol_key(name)
        or (node in graph.parents[index] and word_key(name) in FINAL_WORDS)
        for index in own
    )
    return has_own_name and any(statement.line != line for statement in statements.get(node, ()))


def _check_sheet_size(sheet: Worksheet) -> None:
    """Raise an error for an exercise that nobody calculates by hand: it is compared many times."""
    num_steps, arrays = len(sheet.trace.records), [entry.value for entry in sheet.trace.givens.values()]
    num_cells = sum(np.size(value) for value in [*arrays, *(record.value for record in sheet.trace)])
    if num_cells > MAX_SHEET_CELLS or num_steps > MAX_SHEET_STEPS:
        raise WorkLimitError(
            f"the exercise has {num_steps:,} steps with {num_cells:,} numbers; a working is checked against at most "
            f"{MAX_SHEET_STEPS:,} steps with {MAX_SHEET_CELLS:,} numbers. Give fewer tokens."
        )


def _compare_placed(graph: Graph, working: Working, decided: Mapping[int, int]) -> ComparedWorking:
    placing = Placer(graph, working, decided).place()
    sheet = SheetInput(
        graph,
        placing.statements,
        placing.copies,
        _rounded_units(graph, working.rounded),
        frozenset(wrong_shape.node for wrong_shape in placing.misshapen),
        printed=frozenset(number for number, line in enumerate(working.lines) if line.place == PRINTED),
        stated_unit=None if working.sheet is None else 10.0**-graph.sheet.rounding.shown_decimals,
    )
    return ComparedWorking(graph, placing, compare(sheet))


def _rounded_units(graph: Graph, names: Sequence[str]) -> dict[str, Array]:
    """Return the unit of every rounded given, named by its symbol or by a place that contains it."""
    units, wanted = {}, frozenset(names)
    for name, matrix in graph.givens.items():
        value = np.asarray(matrix.value)
        is_meant = not wanted.isdisjoint((matrix.symbol, name, *name.split(".")))
        if is_meant and value.dtype.kind == "f":
            decimals = max((len(f"{v:.12g}".partition(".")[2]) for v in value.flat), default=0)
            units[name] = np.full(value.shape, 10.0**-decimals)
    return units


def mark_worksheet(sheet: Worksheet, scheme: Scheme | None = None) -> Report:
    """Mark a worksheet of clearhead or the trace of a model: every record is a line in full precision."""
    graph = Graph(sheet)
    statements = {index: [_full_statement(index, record.value, sheet)] for index, record in enumerate(graph.records)}
    comparison = compare(SheetInput(graph, statements, is_in_full=True))
    working = Working({}, (), title=sheet.title)
    marked = ComparedWorking(graph, Placing(statements=statements), comparison)
    with np.errstate(all="ignore"):
        return ReportWriter(working, marked, scheme or Scheme()).report()


def _full_statement(index: int, value: Array, sheet: Worksheet) -> Statement:
    value, rounding = np.asarray(value, dtype=np.float64), sheet.rounding
    if rounding.lines == "exact":
        unit = (
            2.0
            * _TOLERANCES.get(sheet.precision, 1e-9)
            * np.maximum(1.0, np.abs(np.where(np.isfinite(value), value, 1.0)))
        )
        style = Style(decimals=12)
    else:
        style = Style(figures=rounding.significant) if rounding.significant else Style(decimals=rounding.shown_decimals)
        unit = style.unit(value)
    texts = tuple(tuple(plain_number(float(number)) for number in row) for row in value)
    nothing = np.zeros(value.shape, dtype=bool)
    return Statement(index, index, value, unit, unit, nothing, texts, style, nothing)

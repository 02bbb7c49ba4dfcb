"""What the dialogue of `clearhead practise` shows: matrices as text, and sentences about a marked step."""

from collections.abc import Sequence

from clearhead.check.report import CellMark
from clearhead.quiz.practice.exercise import PracticeExercise, StepMark
from clearhead.worksheet.view import MatrixView

_MAX_LISTED = 4  # wrong numbers that are named


def matrix_text(matrix: MatrixView, cells: Sequence[Sequence[str]] | None = None) -> str:
    """Return a matrix as aligned text; `cells` are texts to show instead of the printed ones."""
    height, width = matrix.value.shape
    texts = cells or [[matrix.digits.text(row, column) for column in range(width)] for row in range(height)]
    table = [[matrix.symbol, *(matrix.column_name(column) for column in range(width))]]
    table += [[row_name(matrix, row), *texts[row]] for row in range(height)]
    widths = [max(len(line[column]) for line in table) for column in range(width + 1)]
    lines = []
    for name, *numbers in table:
        padded = [text.rjust(size) for text, size in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join([f"  {name.ljust(widths[0])}", *padded]).rstrip())
    return "\n".join(lines)


def heading(exercise: PracticeExercise, index: int) -> str:
    """Return the equation of a step, after the part of the model that it is in."""
    step = exercise.view(index)
    section = f"{step.section}: " if step.section else ""
    return f"{section}{step.matrix.symbol} = {step.equation}"


def has_blanks(matrix: MatrixView) -> bool:
    """Return whether a cell of the matrix is to be filled in."""
    height, width = matrix.value.shape
    return any(matrix.digits.is_hidden(row, column) for row in range(height) for column in range(width))


def row_name(matrix: MatrixView, row: int) -> str:
    """Return the name of a row; its number if its name would give the answer."""
    return str(row + 1) if matrix.is_choice else matrix.row_name(row)


def column_names(matrix: MatrixView, columns: Sequence[int]) -> str:
    """Return the names of some columns."""
    return ", ".join(matrix.column_name(column) for column in columns)


def praise(marked: StepMark) -> str:
    """Return what to say about a step without an error."""
    if marked.is_unsupported:
        return "– These numbers cannot be judged, because too many earlier lines were left out."
    if marked.is_carried:
        return "✓ Right: these numbers follow from your own lines, which have an error further up."
    if marked.rounding:
        return (
            f"✓ Right, but look at the last digit of {', '.join(cell.text for cell in marked.rounding[:_MAX_LISTED])}."
        )
    return "✓ Right."


def complaint(exercise: PracticeExercise, index: int, wrong: Sequence[CellMark]) -> str:
    """Return which numbers are wrong, without the right ones."""
    matrix = exercise.view(index).matrix
    places = [
        f"row {row_name(matrix, cell.row)}, column {matrix.column_name(cell.column)} ({cell.text})" for cell in wrong
    ]
    more = f" and {len(places) - _MAX_LISTED} more" if len(places) > _MAX_LISTED else ""
    does = "This number does" if len(places) == 1 else f"These {len(places)} numbers do"
    return (
        f"✗ {does} not follow from the lines above: {'; '.join(places[:_MAX_LISTED])}{more}. Type the row again, or "
        "hint, sum, answer or skip."
    )


def more_decimals(exercise: PracticeExercise, text: str) -> str:
    """Return that a number has too few decimals."""
    decimals = exercise.sheet.worksheet.rounding.shown_decimals
    return f"{text} has too few decimals: write every number to {decimals} decimals. Type the row again."


def slip_name(exercise: PracticeExercise, index: int, marked: StepMark) -> str:
    """Return the name under which an error is remembered."""
    name = marked.finding.name if marked.finding is not None else ""
    return name or f"slip in {exercise.view(index).step.name}"

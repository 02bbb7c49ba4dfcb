"""Ask for one step of an exercise, row by row, until it is right or the student goes on."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from clearhead.check.read.number import read_cell
from clearhead.errors import ClearheadError
from clearhead.quiz.practice.exercise import PracticeExercise, StepMark
from clearhead.quiz.practice.progress import OpenSheet
from clearhead.quiz.practice.row_text import split_row
from clearhead.quiz.practice.sentences import (
    column_names,
    complaint,
    matrix_text,
    more_decimals,
    praise,
    row_name,
    slip_name,
)

COMMANDS = {
    "hint": "a hint for this step",
    "sum": "the calculation of the first number that is missing or wrong, without its result",
    "answer": "the numbers of this step, which count as written",
    "skip": "go on to the next step; a complete line stays as you wrote it",
    "quit": "stop; everything is saved",
    "?": "this list",
}


class CommandError(Exception):
    """The student typed a command instead of numbers."""


class Talk(Protocol):
    """What a step needs from the session."""

    has_decimal_comma: bool

    def ask(self, prompt: str) -> str:
        """Return a line, or raise CommandError."""

    def tell(self, text: str) -> None:
        """Show a text."""


class StepDialogue:
    """One step: the rows that are typed so far, and the last mark."""

    def __init__(
        self, talk: Talk, exercise: PracticeExercise, index: int, state: OpenSheet, save: Callable[[OpenSheet], None]
    ) -> None:
        self.talk, self.exercise, self.index, self.state = talk, exercise, index, state
        self._save = save
        self._columns = exercise.blank_columns(index)
        self._typed = {
            row: list(state.typed[str(row)])
            for row, columns in self._columns.items()
            if len(state.typed.get(str(row), ())) == len(columns)
            and not any(read_cell(text).problem for text in state.typed[str(row)])
        }
        self._open_rows = [row for row in self._columns if row not in self._typed]
        self._last: StepMark | None = None

    def run(self) -> OpenSheet:
        """Ask until the step is right or the student goes on; return the state after it."""
        for row in self._typed:
            self.talk.tell(f"{self._place(row)}: {' '.join(self._typed[row])} (typed earlier)")
        while True:
            try:
                while self._open_rows:
                    self._ask_row(self._open_rows[0])
            except CommandError as command:
                if str(command) in ("answer", "skip"):
                    return self._answer() if str(command) == "answer" else self._skip()
                self._help(str(command))
                continue
            if self._is_right():
                self._write(self.exercise.fill(self.index, self._typed))
                return self.state

    # Typing

    def _place(self, row: int) -> str:
        matrix, columns = self.exercise.view(self.index).matrix, self._columns[row]
        only = "" if len(columns) == matrix.value.shape[1] else f", column {column_names(matrix, columns)}"
        return f"{matrix.symbol}, row {row_name(matrix, row)}{only}"

    def _ask_row(self, row: int) -> None:
        """Ask for a row; an empty line keeps what was typed before."""
        count = len(self._columns[row])
        text = self.talk.ask(f"{self._place(row)} ({count} number{'s' * (count != 1)}): ")
        if text or row not in self._typed:
            try:
                self._typed[row] = split_row(text, count, has_decimal_comma=self.talk.has_decimal_comma)
            except ValueError as reason:
                self.talk.tell(str(reason))
                return
            typed = {str(place): tuple(cells) for place, cells in self._typed.items()}
            self._keep(replace(self.state, typed=typed))
        self._open_rows.remove(row)

    def _is_right(self) -> bool:
        """Mark the line, and say what is wrong; return whether the step is done."""
        cells = self.exercise.fill(self.index, self._typed)
        coarse = self.exercise.coarse_cells(self.index, cells)
        if coarse:
            self.talk.tell(more_decimals(self.exercise, cells[coarse[0][0]][coarse[0][1]]))
            self._open_rows = [row for row in self._columns if row in {place[0] for place in coarse}]
            return False
        try:
            self._last = self.exercise.mark(self.index, cells)
        except ClearheadError as reason:  # the marker explains what it cannot read
            self.talk.tell(str(reason))
            self._typed, self._open_rows = {}, list(self._columns)
            return False
        if not self._last.wrong:
            self.talk.tell(praise(self._last))
            return True
        slip = slip_name(self.exercise, self.index, self._last)
        if slip not in self.state.slips:
            self._keep(replace(self.state, slips=(*self.state.slips, slip)))
        self.talk.tell(complaint(self.exercise, self.index, self._last.wrong))
        wrong_rows = {cell.row for cell in self._last.wrong}
        self._open_rows = [row for row in self._columns if row in wrong_rows] or list(self._columns)
        return False

    # Commands

    def _help(self, command: str) -> None:
        if command == "hint":
            self.talk.tell(self.exercise.hint(self.index, self._last))
        elif command == "sum":
            self._keep(replace(self.state, is_helped=True))
            self.talk.tell(self.exercise.calculation(self.index, *self._cell_in_question()))
        else:
            self.talk.tell("\n".join(f"  {name:<7} {meaning}" for name, meaning in COMMANDS.items()))

    def _cell_in_question(self) -> tuple[int, int]:
        """Return the first cell that is wrong, or else the first one that is missing."""
        if self._last is not None and self._last.wrong:
            return self._last.wrong[0].row, self._last.wrong[0].column
        row = self._open_rows[0]
        return row, self._columns[row][0]

    def _answer(self) -> OpenSheet:
        """Show the right numbers and write them."""
        self.state = replace(self.state, is_helped=True)
        self._write(self.exercise.answer(self.index))
        self.talk.tell(matrix_text(self.exercise.view(self.index).matrix, self.exercise.lines[self.index]))
        return self.state

    def _skip(self) -> OpenSheet:
        """Go on: a line that was marked stays as it was written, with its errors; another one is left out."""
        name, step = self.exercise.name(self.index), self.exercise.view(self.index).step.name
        if self._last is None:
            self.talk.tell("This step is left out.")
            self.exercise.lines[self.index] = ()
            slips = (*self.state.slips, f"left out: {step}")
            self.state = replace(self.state, slips=slips, lines={**self.state.lines, name: ()}, typed={})
            return self.state
        self.talk.tell("Your numbers stay. The next steps are marked from them.")
        self.exercise.has_error.add(self.index)
        self.state = replace(self.state, errors=(*self.state.errors, name))
        self._write(self.exercise.fill(self.index, self._typed))
        return self.state

    def _write(self, cells: tuple[tuple[str, ...], ...]) -> None:
        self.exercise.lines[self.index] = cells
        lines = {**self.state.lines, self.exercise.name(self.index): cells}
        self.state = replace(self.state, lines=lines, typed={})

    def _keep(self, state: OpenSheet) -> None:
        self.state = state
        self._save(state)

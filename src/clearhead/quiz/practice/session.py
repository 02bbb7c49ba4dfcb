"""The dialogue of `clearhead practise`: choose an exercise, ask for one step after the other, and remember the result.

The progress is saved after every row, before the next question, so that an interruption loses nothing.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from clearhead.errors import QuizError
from clearhead.quiz.draw import draw_sheet, quiz_kinds, sheet_of_number
from clearhead.quiz.practice.exercise import PracticeExercise
from clearhead.quiz.practice.progress import (
    OpenSheet,
    PracticeProgress,
    PractisedKind,
    load_progress,
    save_progress,
)
from clearhead.quiz.practice.row_text import shown
from clearhead.quiz.practice.sentences import has_blanks, heading, matrix_text
from clearhead.quiz.practice.step_dialogue import COMMANDS, CommandError, StepDialogue
from clearhead.quiz.request import MAX_SEED, MAX_VARIANT, QuizRequest, check_request
from clearhead.quiz.sheet import QuizSheet

_MAX_SLIPS = 3  # earlier errors that are named before an exercise


class Dialogue(Protocol):
    """Where the student reads and types."""

    def ask(self, prompt: str) -> str:
        """Return a line; raise EOFError at the end of the input."""

    def tell(self, text: str) -> None:
        """Show a text."""


class _QuitError(Exception):
    """The student stops."""


@dataclass(frozen=True)
class PracticeOptions:
    """What is practised; `kind` is None if the progress decides."""

    kind: str | None = None
    difficulty: int = 1
    seed: int = 0
    has_decimal_comma: bool = False


class PracticeSession:
    """A student's session: exercises until the student stops."""

    def __init__(self, dialogue: Dialogue, path: Path, options: PracticeOptions) -> None:
        check_request(QuizRequest(options.kind or quiz_kinds()[0], options.difficulty, options.seed))
        self.dialogue, self.path, self.options = dialogue, path, options
        self.has_decimal_comma = options.has_decimal_comma
        self.progress: PracticeProgress = load_progress(path)

    def run(self) -> None:
        """Practise until the student stops or the input ends."""
        self.progress = load_progress(self.path)
        self.tell(f"Your progress is saved in {self.path}. Type ? for help.")
        try:
            while True:
                self._practise(self._next_key())
                self._pause()
        except (_QuitError, EOFError):
            self.tell("\nSaved. Start again at any time to continue.")

    def tell(self, text: str) -> None:
        """Show a text with the decimal sign that is wanted."""
        self.dialogue.tell(shown(text, has_decimal_comma=self.has_decimal_comma))

    def ask(self, prompt: str) -> str:
        """Ask for a line; raise CommandError for a command."""
        text = self.dialogue.ask(prompt).strip()
        word = text.lower()
        if word in ("quit", "exit"):
            raise _QuitError
        if word in COMMANDS or word == "help":
            raise CommandError("?" if word == "help" else word)
        return text

    def _pause(self) -> None:
        """Wait until the student wants the next exercise."""
        while True:
            try:
                self.ask("\nPress Enter for the next exercise, or type quit: ")
                return
            except CommandError:
                self.tell("The exercise is finished. Press Enter for the next one, or type quit.")

    # Which exercise

    def _next_key(self) -> str:
        kinds = quiz_kinds() if self.options.kind is None else (self.options.kind,)
        return self.progress.next_key([f"{kind} {self.options.difficulty}" for kind in kinds])

    def _open(self, key: str) -> tuple[QuizSheet, OpenSheet]:
        """Return the unfinished sheet of a kind, or a new one."""
        state = self.progress.open_sheets.get(key)
        if state is not None:
            try:
                return sheet_of_number(state.number), state
            except QuizError as wrong:
                self.tell(f"The unfinished exercise is left out: {wrong}")
        last = self.progress.kinds.get(key, PractisedKind())
        seed = self.options.seed
        variant = last.variant + 1 if last.seed == seed else 1
        if variant > MAX_VARIANT:
            seed, variant = (seed + 1) % (MAX_SEED + 1), 1
        sheet = draw_sheet(QuizRequest(key.rpartition(" ")[0], self.options.difficulty, seed, variant))
        self.progress = self.progress.with_drawn(key, seed, variant)
        return sheet, OpenSheet(sheet.number)

    # One exercise

    def _practise(self, key: str) -> None:
        sheet, state = self._open(key)
        exercise = PracticeExercise(sheet)
        exercise.resume(state.lines, state.errors)
        self._introduce(key, sheet)
        self._save_open(key, state)
        for number, index in enumerate(exercise.steps, 1):
            self._show_before(exercise, number)
            if index in exercise.lines:
                self._tell_matrix(matrix_text(exercise.view(index).matrix, exercise.lines[index]))
                continue
            self.tell(f"\nStep {number} of {len(exercise.steps)}. {heading(exercise, index)}")
            step = StepDialogue(self, exercise, index, state, lambda changed: self._save_open(key, changed))
            state = step.run()
            self._save_open(key, state)
        self._finish(key, state)

    def _introduce(self, key: str, sheet: QuizSheet) -> None:
        self.tell(f"\n{sheet.title}\n{' '.join(sheet.instructions)}")
        slips = list(self.progress.kinds.get(key, PractisedKind()).slips)[:_MAX_SLIPS]
        if slips:
            self.tell(f"Earlier errors in this kind: {', '.join(slips)}.")

    def _show_before(self, exercise: PracticeExercise, number: int) -> None:
        """Show the given matrices and the printed lines between the step before and this one."""
        first = exercise.steps[number - 2] + 1 if number > 1 else 0
        for index in range(first, exercise.steps[number - 1] + 1):
            step = exercise.view(index)
            for matrix in step.givens:
                self._tell_matrix(matrix_text(matrix))
            if index not in exercise.steps and not has_blanks(step.matrix):
                self.tell(f"\n{heading(exercise, index)}\n{matrix_text(step.matrix)}")

    def _tell_matrix(self, text: str) -> None:
        self.tell(f"\n{text}")

    def _finish(self, key: str, state: OpenSheet) -> None:
        is_right = not state.slips and not state.is_helped
        self.progress = self.progress.with_finished(key, is_right=is_right, slips=state.slips)
        save_progress(self.path, self.progress)
        wait = 2 ** self.progress.kinds[key].box
        result = "Finished without an error or help." if is_right else "Finished."
        errors = f" Errors: {', '.join(state.slips)}." if state.slips else ""
        again = "1 other exercise" if wait == 1 else f"{wait} other exercises"
        self.tell(f"\n{result}{errors} This kind comes again after {again}.")

    def _save_open(self, key: str, state: OpenSheet) -> None:
        self.progress = self.progress.with_open(key, state)
        save_progress(self.path, self.progress)

"""The dialogue: a student who types, makes an error, asks for help, stops and continues."""

from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.errors import QuizError
from clearhead.quiz import sheet_of_number
from clearhead.quiz.practice.exercise import PracticeExercise
from clearhead.quiz.practice.progress import load_progress, save_progress
from clearhead.quiz.practice.sentences import matrix_text
from clearhead.quiz.practice.session import PracticeOptions, PracticeSession
from clearhead.quiz.practice.step_dialogue import COMMANDS


class Script:
    """A student who types the lines of a list, and then nothing more."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.said = list(lines), list[str]()

    def ask(self, prompt: str) -> str:
        self.said.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def tell(self, text: str) -> None:
        self.said.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.said)


def practise(path: Path, *lines: str, kind: str | None = "softmax", difficulty: int = 1, comma: bool = False) -> Script:
    script = Script(*lines)
    PracticeSession(script, path, PracticeOptions(kind, difficulty, 7, comma)).run()
    return script


def current(path: Path, key: str = "softmax 1") -> PracticeExercise:
    return PracticeExercise(sheet_of_number(load_progress(path).open_sheets[key].number))


def rows(exercise: PracticeExercise, index: int) -> list[str]:
    """Return what to type for a step: the right numbers, row by row."""
    answer = exercise.answer(index)
    return [" ".join(answer[row][column] for column in columns)
            for row, columns in exercise.blank_columns(index).items()]  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "practice.json"


def test_a_student_without_an_error_finishes_and_the_kind_comes_again_later(path: Path) -> None:
    practise(path, kind="self-attention", difficulty=2)
    work = current(path, "self-attention 2")
    lines = [row for index in work.steps for row in rows(work, index)]
    script = practise(path, *lines, "quit", kind="self-attention", difficulty=2)
    assert script.said.count("✓ Right.") == len(work.steps)
    assert "Finished without an error or help. This kind comes again after 2 other exercises." in script.text
    kind = load_progress(path).kinds["self-attention 2"]
    assert (kind.box, kind.num_right, kind.num_wrong) == (1, 1, 0)


def test_help_comes_in_three_steps_and_is_remembered(path: Path) -> None:
    practise(path)
    work = current(path)
    (index,) = work.steps
    script = practise(path, "?", "hint", "sum", "answer", "quit")
    assert all(f"  {name:<7} {meaning}" in script.text for name, meaning in COMMANDS.items())
    assert work.hint(index, None) in script.text
    row, columns = next(iter(work.blank_columns(index).items()))
    assert work.calculation(index, row, columns[0]) in script.text
    assert matrix_text(work.view(index).matrix, work.answer(index)) in script.text
    assert "Finished. This kind comes again after 1 other exercise." in script.text
    assert load_progress(path).kinds["softmax 1"].num_wrong == 1


def test_a_hint_alone_is_not_help(path: Path) -> None:
    practise(path)
    work = current(path)
    script = practise(path, "hint", *rows(work, work.steps[0]), "quit")
    assert "Finished without an error or help." in script.text


def test_a_wrong_number_is_named_without_the_right_one_and_only_its_row_is_asked_for_again(path: Path) -> None:
    practise(path, kind="positions")
    work = current(path, "positions 1")
    (index,) = work.steps
    right = rows(work, index)
    first = right[0].split()
    wrong = " ".join([f"{float(first[0]) + 0.31:.2f}", *first[1:]])
    script = practise(path, wrong, *right[1:], right[0], "quit", kind="positions")
    complaint = next(text for text in script.said if text.startswith("✗"))
    assert complaint.startswith("✗ This number does not follow from the lines above: row ")
    assert first[0] not in complaint.split()
    assert "✓ Right." in script.said
    assert "Finished. Errors: " in script.text
    assert sum(load_progress(path).kinds["positions 1"].slips.values()) == 1
    again = practise(path, kind="positions")
    assert "Earlier errors in this kind: " in again.text


def test_skipped_errors_are_carried_forward(path: Path) -> None:
    practise(path, kind="self-attention", difficulty=2)
    work = current(path, "self-attention 2")
    first, *others = work.steps
    typed = rows(work, first)
    numbers = typed[0].split()
    typed[0] = " ".join([f"{float(numbers[0]) + 1:.3f}", *numbers[1:]])
    work.lines[first] = work.fill(
        first, {row: text.split() for row, text in zip(work.blank_columns(first), typed, strict=True)}
    )
    work.has_error.add(first)
    lines = [*typed, "skip"]
    for index in others:
        lines += rows(work, index)
        work.lines[index] = work.answer(index)
    script = practise(path, *lines, "quit", kind="self-attention", difficulty=2)
    assert "Your numbers stay. The next steps are marked from them." in script.text
    assert script.text.count("✗") == 1
    assert "✓ Right: these numbers follow from your own lines, which have an error further up." in script.said
    assert "Finished. Errors: " in script.text


def test_a_step_can_be_left_out(path: Path) -> None:
    practise(path, kind="feed-forward", difficulty=2)
    work = current(path, "feed-forward 2")
    work.lines[work.steps[0]] = ()
    second = rows(work, work.steps[1])
    script = practise(path, "skip", *second, kind="feed-forward", difficulty=2)
    assert "This step is left out." in script.text
    state = load_progress(path).open_sheets["feed-forward 2"]
    assert state.lines[work.name(work.steps[0])] == ()
    assert work.name(work.steps[1]) in state.lines


def test_every_row_is_saved_as_soon_as_it_is_typed(path: Path) -> None:
    practise(path, kind="positions")
    work = current(path, "positions 1")
    right = rows(work, work.steps[0])
    practise(path, right[0], kind="positions")  # then the input ends
    assert load_progress(path).open_sheets["positions 1"].typed == {"0": tuple(right[0].split())}
    script = practise(path, *right[1:], "quit", kind="positions")
    assert f"{' '.join(right[0].split())} (typed earlier)" in script.text
    assert "Finished without an error or help." in script.text


def test_another_exercise_of_the_kind_is_another_sheet(path: Path) -> None:
    practise(path)
    first = load_progress(path).open_sheets["softmax 1"].number
    practise(path, "answer", "")
    second = load_progress(path).open_sheets["softmax 1"].number
    assert first != second
    assert sheet_of_number(second).request.variant == 2


class Helpless(Script):
    """A student who wants the answer of every step, for some exercises."""

    def __init__(self, num_exercises: int) -> None:
        super().__init__()
        self.num_exercises = num_exercises

    def ask(self, prompt: str) -> str:
        self.said.append(prompt)
        if not prompt.startswith("\nPress Enter"):
            return "answer"
        self.num_exercises -= 1
        return "" if self.num_exercises else "quit"


def test_without_a_kind_the_progress_decides(path: Path) -> None:
    script = Helpless(5)
    PracticeSession(script, path, PracticeOptions()).run()
    titles = [text.split(" · ")[0].strip() for text in script.said if " · sheet " in text]
    # every exercise needs help, so each comes again after one other: two in turn, and nothing new in between
    first, second = titles[:2]
    assert first != second
    assert titles == [first, second, first, second, first]


def test_decimal_commas_are_read_and_shown(path: Path) -> None:
    practise(path, kind="positions")
    work = current(path, "positions 1")
    lines = [row.replace(".", ",") for row in rows(work, work.steps[0])]
    script = practise(path, *lines, "quit", kind="positions", comma=True)
    assert "✓ Right." in script.said
    assert "Finished without an error or help." in script.text


def test_rows_that_cannot_be_used_are_asked_for_again(path: Path) -> None:
    practise(path)
    work = current(path)
    script = practise(path, "", "one two three", "1", *rows(work, work.steps[0]), "quit")
    assert "numbers are needed, and you wrote 0." in script.text
    assert "cannot be used: it is not a number." in script.text
    assert "✓ Right." in script.said


def test_an_open_sheet_of_an_unknown_version_is_left_out(path: Path) -> None:
    practise(path)
    content = path.read_text()
    number = load_progress(path).open_sheets["softmax 1"].number
    path.write_text(content.replace(number, "softmax-1-7-01-v99-K"))
    script = practise(path)
    assert "The unfinished exercise is left out: 'softmax-1-7-01-v99-K'" in script.text
    assert load_progress(path).open_sheets["softmax 1"].number != number


def test_lines_that_do_not_fit_the_sheet_are_asked_for_again(path: Path) -> None:
    practise(path, kind="feed-forward", difficulty=2)
    work = current(path, "feed-forward 2")
    first = work.steps[0]
    practise(path, *rows(work, first), kind="feed-forward", difficulty=2)
    progress = load_progress(path)
    state = progress.open_sheets["feed-forward 2"]
    for cells in ((("1",),), tuple(tuple("x" for _ in row) for row in work.answer(first))):
        edited = replace(state, lines={work.name(first): cells}, typed={"0": ("1",), "1": ("x", "y", "z"), "a": ()})
        save_progress(path, progress.with_open("feed-forward 2", edited))
        script = practise(path, kind="feed-forward", difficulty=2)
        assert f"Step 1 of {len(work.steps)}." in script.text
        assert "typed earlier" not in script.text


def test_an_unknown_kind_has_a_close_match(path: Path) -> None:
    with pytest.raises(QuizError, match=r"'sofmax' is not a kind of exercise\. Did you mean 'softmax'\?"):
        practise(path, kind="sofmax")
    assert not path.exists()

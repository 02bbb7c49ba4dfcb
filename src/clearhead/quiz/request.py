"""What a practice sheet is requested with, and the settings that are possible."""

from dataclasses import dataclass

from clearhead.errors import QuizError, did_you_mean
from clearhead.quiz.kinds import kinds_with_generator

DIFFICULTIES = (1, 2, 3)
BLANKS = ("all", "row", "hard")
MIN_DECIMALS, MAX_DECIMALS = 1, 4
MAX_SEED = 999_999
MAX_VARIANT = 999


@dataclass(frozen=True)
class QuizRequest:
    """A kind of exercise, its difficulty, and which of the many sheets of that kind.

    `variant` counts the sheets of one seed from 1. `blanks` are the cells to fill in: all of them, one row of every
    line, or only the hard lines. `decimals` is None for the rounding of the difficulty.
    """

    kind: str
    difficulty: int = 1
    seed: int = 0
    variant: int = 1
    blanks: str = "all"
    decimals: int | None = None


def check_request(request: QuizRequest) -> None:
    """Raise a QuizError for a setting that is not possible."""
    kinds = kinds_with_generator()
    if request.kind not in kinds:
        raise QuizError(
            f"'{request.kind}' is not a kind of exercise.{did_you_mean(request.kind, kinds)} Kinds: {', '.join(kinds)}."
        )
    if request.difficulty not in DIFFICULTIES:
        raise QuizError(
            f"difficulty = {request.difficulty} is not possible. Choose 1, 2 or 3.", options=("difficulty",)
        )
    if request.blanks not in BLANKS:
        raise QuizError(
            f"blanks = '{request.blanks}' is not possible.{did_you_mean(request.blanks, BLANKS)} "
            f"Choices: {', '.join(BLANKS)}.",
            options=("blanks",),
        )
    _check_range("seed", request.seed, 0, MAX_SEED)
    _check_range("variant", request.variant, 1, MAX_VARIANT)
    if request.decimals is not None:
        _check_range("decimals", request.decimals, MIN_DECIMALS, MAX_DECIMALS)


def _check_range(name: str, number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        raise QuizError(f"{name} = {number} is out of range. Give an integer from {least} to {most}.", options=(name,))

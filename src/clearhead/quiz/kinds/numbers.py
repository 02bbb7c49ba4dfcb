"""The numbers of a problem: small integers or one-decimal numbers, in matrices whose rows and columns differ."""

from typing import Any

from clearhead.errors import QuizError
from clearhead.quiz.chance import Chance

Data = dict[str, Any]
WORDS = ("we", "go", "home", "cats", "sleep", "now", "rain", "falls", "birds", "sing", "tea", "cools")
_MAX_TRIES = 500


class Numbers:
    """Draws numbers between −largest and largest, in tenths if `decimals` is 1."""

    def __init__(self, chance: Chance, decimals: int, largest: int) -> None:
        self.chance, self.decimals, self.largest = chance, decimals, largest

    @property
    def unit(self) -> int:
        """The number of steps from one integer to the next."""
        return int(10**self.decimals)

    def within(self, largest: int) -> "Numbers":
        """Return numbers of the same style with another limit."""
        return Numbers(self.chance, self.decimals, largest)

    def number(self) -> float:
        """Draw a number."""
        return self.as_number(self.chance.between(-self.largest * self.unit, self.largest * self.unit))

    def as_number(self, steps: int) -> float:
        """Return an integer, or tenths as a decimal number."""
        return steps if self.decimals == 0 else steps / self.unit

    def distinct(self, count: int) -> list[float]:
        """Draw different numbers."""
        steps = range(-self.largest * self.unit, self.largest * self.unit + 1)
        if count > len(steps):
            raise QuizError(
                f"{count} different numbers were requested, but there are only {len(steps)} from {-self.largest} to "
                f"{self.largest}. Ask for fewer numbers."
            )
        return [self.as_number(step) for step in self.chance.sample(steps, count)]

    def vector(self, width: int) -> list[float]:
        """Draw a vector that is not 0 everywhere; its numbers differ if there are enough of them."""
        num_choices = 2 * self.largest * self.unit + 1
        return self.distinct(width) if width <= num_choices else [self.number() for _ in range(width)]

    def matrix(self, rows: int, columns: int) -> list[list[float]]:
        """Draw a matrix whose rows differ, whose columns differ, without a row or column of zeros, not symmetric."""
        for _ in range(_MAX_TRIES):
            matrix = [[self.number() for _ in range(columns)] for _ in range(rows)]
            if _is_telling(matrix):
                return matrix
        raise QuizError(
            f"no {rows} × {columns} matrix with different rows and columns was found from {-self.largest} to "
            f"{self.largest}. Ask for fewer numbers."
        )

    def words(self, count: int) -> list[str]:
        """Draw different words."""
        return self.chance.sample(WORDS, count)


def _is_telling(matrix: list[list[float]]) -> bool:
    columns = [list(column) for column in zip(*matrix, strict=True)]
    has_zeros = any(not any(line) for line in (*matrix, *columns))
    is_distinct = all(
        first != second
        for lines in (matrix, columns)
        for place, first in enumerate(lines)
        for second in lines[:place]
        if len(lines) > 1
    )
    is_symmetric = len(matrix) > 1 and matrix == columns
    return is_distinct and not has_zeros and not is_symmetric

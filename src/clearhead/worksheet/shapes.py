"""Do the given shapes fit? Collects a sentence for every pair that does not: which, both shapes, what would fit."""

from clearhead.errors import Mistake
from clearhead.steps.step import Layout
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import count


def size(value: Array) -> str:
    """Write a shape as people do: 3 × 4 for a matrix, its length for a vector."""
    return " × ".join(str(length) for length in value.shape)


class Shapes:
    """Collect misfits. `tokens` and `width` of a matrix are read in the student's own layout.

    A mistake carries the keys of the problem it concerns; `keys` says them where the names in a sentence are not keys.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.mistakes: list[Mistake] = []
        self._token_axis = 0 if layout == "rows" else 1
        self._row, self._column = ("row", "column") if layout == "rows" else ("column", "row")

    def add(self, keys: tuple[str, ...], sentence: str) -> None:
        """Add a mistake that concerns some keys of the problem."""
        self.mistakes.append(Mistake(keys, sentence))

    def include(self, place: str, inner: "Shapes") -> None:
        """Add the mistakes that were found inside a part of the problem."""
        self.mistakes += [Mistake(mistake.paths, f"{place}: {mistake.sentence}") for mistake in inner.mistakes]

    def tokens(self, matrix: Array) -> int:
        """How many tokens the matrix holds."""
        return int(matrix.shape[self._token_axis])

    def width(self, matrix: Array) -> int:
        """How wide a token's vector is; for weights, how wide they make it."""
        return int(matrix.shape[1 - self._token_axis])

    def inner(self, weights: Array) -> int:
        """How wide a token's vector must be for these weights to take it."""
        return int(weights.shape[self._token_axis])

    def product(
        self, x_name: str, x_width: int, x: Array | None, w_name: str, w: Array, keys: tuple[str, ...] = ()
    ) -> None:
        """The weights must take vectors as wide as the tokens' (`x` is None where it is itself computed)."""
        if self.inner(w) == x_width:
            return
        shown = f"{x_name} is {size(x)}" if x is not None else f"{x_name} is {x_width} wide"
        product = f"{x_name} {w_name}" if self.layout == "rows" else f"{w_name} {x_name}"
        self.add(
            keys or (x_name, w_name),
            f"{shown} and {w_name} is {size(w)}, so {product} does not fit. "
            f"Give {w_name} {count(x_width, self._row)}, or {x_name} {count(self.inner(w), self._column)}.",
        )

    def bias(self, b_name: str, b: Array, w_name: str, w: Array, keys: tuple[str, ...] = ()) -> None:
        """A bias has one number for each dimension that the weights make."""
        self.vector(b_name, b, self.width(w), f"{w_name} is {size(w)}", keys or (b_name, w_name))

    def vector(self, name: str, vector: Array, length: int, because: str, keys: tuple[str, ...] = ()) -> None:
        """A vector must have this length."""
        if len(vector) != length:
            self.add(
                keys or (name,),
                f"{name} has {count(len(vector), 'number')}, but {because}. Give {name} {count(length, 'number')}.",
            )

    def same_tokens(self, a_name: str, a: Array, b_name: str, b: Array, why: str, keys: tuple[str, ...] = ()) -> None:
        """Two matrices must hold equally many tokens."""
        if self.tokens(a) != self.tokens(b):
            self.add(
                keys or (a_name, b_name),
                f"{a_name} is {size(a)} and {b_name} is {size(b)}: {why}. "
                f"Give {b_name} {count(self.tokens(a), self._row)}, or {a_name} {self.tokens(b)}.",
            )

    def shape(self, name: str, value: Array, tokens: int, width: int, because: str, keys: tuple[str, ...] = ()) -> None:
        """A matrix must have exactly this many tokens and this width."""
        if (self.tokens(value), self.width(value)) != (tokens, width):
            right = (tokens, width) if self.layout == "rows" else (width, tokens)
            sentence = f"{name} is {size(value)}, but {because}. Make it {right[0]} × {right[1]}."
            self.add(keys or (name,), sentence)

    def names(self, name: str, tokens: tuple[str, ...], matrix_name: str, num_tokens: int) -> None:
        """There must be as many names as tokens."""
        if tokens and len(tokens) != num_tokens:
            self.add(
                (name, matrix_name),
                f"{name} has {count(len(tokens), 'name')}, but {matrix_name} has {count(num_tokens, 'token')}. "
                f"Give {count(num_tokens, 'name')}, or leave {name} out.",
            )

"""Check that the given shapes match, and collect a sentence for every mismatch: the names, both shapes and the fix."""

from clearhead.errors import Mistake
from clearhead.steps.step import Layout
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import count


def size(value: Array) -> str:
    """Write a shape as text: `3 × 4` for a matrix, the length for a vector."""
    return " × ".join(str(length) for length in value.shape)


class Shapes:
    """Collect shape errors. `tokens` and `width` of a matrix are read in the layout of the problem.

    A mistake lists the keys that it concerns; pass `keys` where the names in the sentence are not keys.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.mistakes: list[Mistake] = []
        self._token_axis = 0 if layout == "rows" else 1
        self._row, self._column = ("row", "column") if layout == "rows" else ("column", "row")

    def add(self, keys: tuple[str, ...], sentence: str) -> None:
        """Add an error that concerns some keys of the problem."""
        self.mistakes.append(Mistake(keys, sentence))

    def include(self, place: str, inner: "Shapes") -> None:
        """Add the errors that were found inside a part of the problem."""
        self.mistakes += [Mistake(mistake.paths, f"{place}: {mistake.sentence}") for mistake in inner.mistakes]

    def tokens(self, matrix: Array) -> int:
        """Return the number of tokens of a matrix."""
        return int(matrix.shape[self._token_axis])

    def width(self, matrix: Array) -> int:
        """Return the width of a token's vector; for weights, the width of their output."""
        return int(matrix.shape[1 - self._token_axis])

    def inner(self, weights: Array) -> int:
        """Return the width of the vectors that these weights can be multiplied with."""
        return int(weights.shape[self._token_axis])

    def product(
        self, x_name: str, x_width: int, x: Array | None, w_name: str, w: Array, keys: tuple[str, ...] = ()
    ) -> None:
        """Check that the weights fit the width of the tokens (`x` is None if it is computed, not given)."""
        if self.inner(w) == x_width:
            return
        shown = f"{x_name} is {size(x)}" if x is not None else f"{x_name} is {x_width} wide"
        product = f"{x_name} {w_name}" if self.layout == "rows" else f"{w_name} {x_name}"
        self.add(
            keys or (x_name, w_name),
            f"{shown} and {w_name} is {size(w)}, so {product} cannot be multiplied. "
            f"Give {w_name} {count(x_width, self._row)}, or {x_name} {count(self.inner(w), self._column)}.",
        )

    def bias(self, b_name: str, b: Array, w_name: str, w: Array, keys: tuple[str, ...] = ()) -> None:
        """Check that a bias has one number for each output dimension of the weights."""
        self.vector(b_name, b, self.width(w), f"{w_name} is {size(w)}", keys or (b_name, w_name))

    def vector(self, name: str, vector: Array, length: int, because: str, keys: tuple[str, ...] = ()) -> None:
        """Check the length of a vector."""
        if len(vector) != length:
            self.add(
                keys or (name,),
                f"{name} has {count(len(vector), 'number')}, but {because}. Give {name} {count(length, 'number')}.",
            )

    def same_tokens(self, a_name: str, a: Array, b_name: str, b: Array, why: str, keys: tuple[str, ...] = ()) -> None:
        """Check that two matrices have the same number of tokens."""
        if self.tokens(a) != self.tokens(b):
            self.add(
                keys or (a_name, b_name),
                f"{a_name} is {size(a)} and {b_name} is {size(b)}: {why}. "
                f"Give {b_name} {count(self.tokens(a), self._row)}, or {a_name} {self.tokens(b)}.",
            )

    def shape(self, name: str, value: Array, tokens: int, width: int, because: str, keys: tuple[str, ...] = ()) -> None:
        """Check the number of tokens and the width of a matrix."""
        if (self.tokens(value), self.width(value)) != (tokens, width):
            right = (tokens, width) if self.layout == "rows" else (width, tokens)
            sentence = f"{name} is {size(value)}, but {because}. Make it {right[0]} × {right[1]}."
            self.add(keys or (name,), sentence)

    def names(self, name: str, tokens: tuple[str, ...], matrix_name: str, num_tokens: int) -> None:
        """Check that the number of names is the number of tokens."""
        if tokens and len(tokens) != num_tokens:
            self.add(
                (name, matrix_name),
                f"{name} has {count(len(tokens), 'name')}, but {matrix_name} has {count(num_tokens, 'token')}. "
                f"Give {count(num_tokens, 'name')}, or omit {name}.",
            )

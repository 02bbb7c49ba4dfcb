"""The input tokens of a problem: their vectors, given or looked up, and the positions added to them."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from clearhead.errors import did_you_mean
from clearhead.steps.vocabulary import ADD, EMBED, POSITION
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Count, Embedding, Matrix, Real, Tokens
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields
from clearhead.worksheet.shapes import Shapes

_MAX_WORDS = 50  # words of an embedding that a message lists
_MAX_HINTS = 5  # missing words for which a similar one is searched


class PositionRule(ProblemFields):
    """The rule that gives each position its vector."""

    formula: Literal["sinusoidal", "sinusoidal-odd-exponent", "learned", "one-hot", "count", "given"] = Field(
        "sinusoidal",
        description="sinusoidal: the formula of Vaswani et al. (2017); sinusoidal-odd-exponent: the variant with 2i+1 "
        "in the exponent of the cosine; learned: look up each position in `table`; one-hot; count: the position as a "
        "number; given: `table` contains the vectors to add, one for each token",
    )
    base: Real = Field(10000.0, gt=0, description="the base of the sinusoids' wavelengths")
    start: Count = Field(0, ge=0, le=10**9, description="the position of the first token")
    table: Matrix | None = Field(None, description="learned positions: one vector for each position")

    def work(self, pen: Pen, count: int, width: int, rows: tuple[str, ...]) -> Array:
        """Write the vectors of `count` positions."""
        pen = pen.at("position")
        places = np.arange(self.start, self.start + count)
        if self.table is not None:
            if self.formula == "given":
                return pen.give("P", self.table, rows=rows)
            table = pen.give(
                "P",
                self.table,
                symbol="P",
                rows=tuple(str(p) for p in range(self.table.shape[pen.layout == "columns"])),
            )
            return pen.work(EMBED, symbol="P", ids=pen.give_as_rows("positions", places, rows=rows), table=table)
        positions = pen.give_as_rows("positions", places.astype(np.float64), symbol="pos", rows=rows)
        return work_positions(pen, positions, np.arange(width), width, self)

    def mistakes(self, shapes: Shapes, name: str, count: int, width: int) -> None:
        """Report a missing table, or one that does not fit."""
        if self.formula not in ("learned", "given"):
            if self.table is not None:
                shapes.add((name,), f"{name}: table needs formula learned, not {self.formula}. Remove one of them.")
            return
        if self.table is None:
            shapes.add((name,), f"{name}: formula {self.formula} needs table: one vector for each position.")
            return
        if self.formula == "given":
            shapes.shape(name, self.table, count, width, f"there are {count} tokens of width {width}")
            return
        needed = self.start + count
        if shapes.tokens(self.table) < needed:
            shapes.add(
                (name,),
                f"{name}: table has {shapes.tokens(self.table)} positions, but the last token is at position "
                f"{needed - 1}. Give table at least {needed} positions (counted from 0).",
            )
        vector = np.zeros(shapes.width(self.table))
        shapes.vector(f"{name}: each vector of table", vector, width, f"tokens are {width} wide", (name,))


def work_positions(pen: Pen, positions: Array, dimensions: Any, width: int, rule: PositionRule) -> Array:
    """Write the table of position vectors that a formula gives."""
    names = tuple(f"dim {d}" for d in dimensions)
    columns = pen.give_as_rows("dimensions", np.asarray(dimensions), symbol="dim", rows=names)
    return pen.work(
        POSITION, positions=positions, dimensions=columns, width=width, formula=rule.formula, base=rule.base
    )


def _position_rule(raw: object) -> object:
    if isinstance(raw, str):
        return {"formula": raw}
    if isinstance(raw, list | tuple | np.ndarray):
        return {"formula": "given", "table": raw}
    return raw


Position = Annotated[PositionRule, BeforeValidator(_position_rule)]


class EmbeddedTokens(ProblemFields):
    """The tokens: X, or words to look up in an embedding."""

    X: Matrix | None = Field(None, description="the token vectors, one token per row (per column in layout columns)")
    embedding: Embedding | None = Field(None, description="instead of X: words with their vectors, {word: [1, 2]}")
    tokens: Tokens = Field((), description="the names of the tokens; with an embedding, the sentence to look up")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tokens, if any."""
        return self.tokens or tuple(self.embedding or ())

    @property
    def is_given(self) -> bool:
        """Whether tokens are given."""
        return self.X is not None or self.embedding is not None

    def size(self, shapes: Shapes) -> tuple[int, int]:
        """Return the number of tokens and the width of their vectors."""
        if self.X is not None:
            return shapes.tokens(self.X), shapes.width(self.X)
        assert self.embedding is not None
        return len(self.names), len(next(iter(self.embedding.values())))

    def embedding_mistakes(self, shapes: Shapes, name: str = "X") -> None:
        """Report vectors and names that do not fit each other."""
        if self.X is not None and self.embedding is not None:
            shapes.add((name, "embedding"), f"both {name} and embedding are given. Remove one of them.")
        if not self.is_given:
            return
        if self.X is not None:
            shapes.names("tokens", self.tokens, name, self.size(shapes)[0])
        elif self.embedding is not None:
            missing = [word for word in self.tokens if word not in self.embedding]
            words = ", ".join(list(self.embedding)[:_MAX_WORDS]) + (" …" if len(self.embedding) > _MAX_WORDS else "")
            for number, word in enumerate(missing):
                hint = did_you_mean(word, self.embedding) if number < _MAX_HINTS else ""
                sentence = f"tokens: '{word}' has no vector in embedding.{hint} Words: {words}."
                shapes.add(("tokens", "embedding"), sentence)

    def work_embedding(self, pen: Pen) -> Array:
        """Write the vectors of the tokens, and return them with tokens as rows."""
        if self.X is not None:
            return pen.give("X", self.X, rows=self.tokens)
        assert self.embedding is not None
        number = {word: place for place, word in enumerate(self.embedding)}
        ids = pen.give_as_rows("tokens", np.array([number[word] for word in self.names]), rows=self.names)
        table = pen.give_as_rows("E", np.stack(list(self.embedding.values())), rows=tuple(self.embedding))
        return pen.at("embedding").work(EMBED, ids=ids, table=table)


class PositionedTokens(EmbeddedTokens):
    """The tokens, with optional positions added."""

    position: Position | None = Field(
        None, description="positions to add: a matrix, the name of a formula, or {formula, base, start, table}"
    )

    def token_mistakes(self, shapes: Shapes) -> None:
        """Report vectors, names and positions that do not fit each other."""
        self.embedding_mistakes(shapes)
        if self.is_given and self.position is not None:
            self.position.mistakes(shapes, "position", *self.size(shapes))

    def work_tokens(self, pen: Pen) -> Array:
        """Write the vectors of the tokens with positions added, and return them with tokens as rows."""
        x = self.work_embedding(pen)
        if self.position is None:
            return x
        added = self.position.work(pen, x.shape[0], x.shape[1], self.names)
        return pen.work(ADD, symbol="X′", a=x, b=added)

"""The keys of an attention layer: weights or Q, K, V, heads, cache, output weights and the attention rule."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from clearhead.steps.step import Layout
from clearhead.steps.vocabulary import PROJECT
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.rule import AttentionRule
from clearhead.worksheet.cells import Count, Matrix, Real, Vector
from clearhead.worksheet.pen import Pen
from clearhead.worksheet.problem import ProblemFields

MAX_HEADS = 1024
ROLES = ("query", "key", "value")
LETTER = {"query": "Q", "key": "K", "value": "V"}


class KeyValueWeights(ProblemFields):
    """The weights of keys and values, or the keys and values themselves."""

    W_K: Matrix | None = Field(None, description="weight matrix of the keys")
    W_V: Matrix | None = Field(None, description="weight matrix of the values")
    b_K: Vector | None = Field(None, description="bias of the keys")
    b_V: Vector | None = Field(None, description="bias of the values")
    K: Matrix | None = Field(None, description="the keys, instead of W_K")
    V: Matrix | None = Field(None, description="the values, instead of W_V")
    cached_K: Matrix | None = Field(None, description="keys of earlier tokens, placed before the new ones")
    cached_V: Matrix | None = Field(None, description="values of earlier tokens, placed before the new ones")


class HeadWeights(KeyValueWeights):
    """The weights of queries, keys and values of one head, or of all heads side by side."""

    W_Q: Matrix | None = Field(None, description="weight matrix of the queries")
    b_Q: Vector | None = Field(None, description="bias of the queries")
    Q: Matrix | None = Field(None, description="the queries, instead of W_Q")


class RotaryRule(ProblemFields):
    """Rotary positions: queries and keys are rotated by their position before the scores are computed."""

    base: Real = Field(10000.0, gt=0, description="the base of the angles")
    pairing: Literal["neighbours", "halves"] = Field(
        "neighbours",
        description="how dimensions are paired. neighbours: (0, 1), (2, 3) …; halves: the first half with the second",
    )


class AttentionLayer(AttentionRule, HeadWeights):
    """An attention layer."""

    num_heads: Count | None = Field(None, ge=1, le=MAX_HEADS, description="the number of heads to split Q, K, V into")
    num_kv_heads: Count | None = Field(
        None, ge=1, le=MAX_HEADS, description="the number of key/value heads, each shared by a group of query heads"
    )
    heads: tuple[HeadWeights, ...] = Field(
        (), max_length=MAX_HEADS, description="instead of num_heads: separate weights {W_Q, W_K, W_V} for each head"
    )
    kv_heads: tuple[KeyValueWeights, ...] = Field(
        (), description="with heads that have only W_Q: the shared weights {W_K, W_V}, fewer than heads"
    )
    W_O: Matrix | None = Field(None, description="output weight matrix, by which the concatenated heads are multiplied")
    b_O: Vector | None = Field(None, description="bias of the output")
    rotary: RotaryRule | None = Field(None, description="rotate queries and keys by their position: {base, pairing}")

    @property
    def head_count(self) -> int:
        """The number of heads, 1 by default."""
        return len(self.heads) or self.num_heads or 1

    @property
    def kv_count(self) -> int:
        """The number of key/value heads."""
        return (len(self.kv_heads) or len(self.heads)) if self.heads else (self.num_kv_heads or self.head_count)

    def num_given(self, layout: Layout) -> int:
        """Return the number of tokens whose keys are given as K."""
        owners: list[KeyValueWeights] = [self, *self.heads, *self.kv_heads]
        keys = next((owner.K for owner in owners if owner.K is not None), None)
        return 0 if keys is None else int(keys.shape[0 if layout == "rows" else 1])

    @property
    def has_values(self) -> bool:
        """Whether values, or anything that needs them, are given; without values the weights are the answer."""
        owners: list[KeyValueWeights] = [self, *self.heads, *self.kv_heads]
        keys = ("V", "W_V", "b_V", "cached_V")
        is_used = self.W_O is not None or self.b_O is not None
        return is_used or any(getattr(owner, key) is not None for owner in owners for key in keys)

    def num_cached(self, layout: Layout) -> int:
        """Return the number of tokens with cached keys and values."""
        owners: list[KeyValueWeights] = [self, *self.heads, *self.kv_heads]
        cached = next((owner.cached_K for owner in owners if owner.cached_K is not None), None)
        return 0 if cached is None else int(cached.shape[0 if layout == "rows" else 1])

    @property
    def has_given_keys(self) -> bool:
        """Whether the keys and values of every head are given, so that no tokens are needed for them."""
        owners: list[KeyValueWeights] = list(self.kv_heads) or list(self.heads) or [self]
        return all(owner.K is not None and owner.V is not None for owner in owners)

    def projection(self, role: str, head: KeyValueWeights | None = None) -> "Projection":
        """Return the projection of queries, keys or values, of the layer or of one head."""
        owner, letter = head or self, LETTER[role]
        return Projection(
            role,
            getattr(owner, letter, None),
            getattr(owner, f"W_{letter}", None),
            getattr(owner, f"b_{letter}", None),
            getattr(owner, f"cached_{letter}", None),
        )

    def work_output(self, pen: Pen, x: Array) -> Array:
        """Write the output projection; without W_O, return `x` unchanged."""
        if self.W_O is None:
            return x
        w = pen.give("W_O", self.W_O)
        b = None if self.b_O is None else pen.give("b_O", self.b_O)
        symbol = "Y" if pen.layout == "columns" else "O"
        return pen.at("output").work(PROJECT, symbol=symbol, x=x, w=w, b=b)


@dataclass(frozen=True, eq=False)
class Projection:
    """The weights of queries, keys or values (or the matrix), of one head or of all heads side by side."""

    role: str
    matrix: Array | None
    weights: Array | None
    bias: Array | None
    cached: Array | None

    @property
    def letter(self) -> str:
        """Q, K or V."""
        return LETTER[self.role]

    def new_symbol(self, sub: str) -> str:
        """Q, K or V with a subscript; `_new` is added where a cache holds those of earlier tokens."""
        return f"{self.letter}{sub}" if self.cached is None else f"{self.letter}_new{sub}"

    def work(self, pen: Pen, x: Array | None, rows: tuple[str, ...], sub: str) -> Array:
        """Write the given matrix or the projection of `x`."""
        letter, symbol = self.letter, self.new_symbol(sub)
        if self.matrix is not None:
            return pen.give(letter, self.matrix, symbol=symbol, rows=rows)
        assert self.weights is not None
        assert x is not None
        w = pen.give(f"W_{letter}", self.weights, symbol=f"W_{letter}{sub}")
        b = None if self.bias is None else pen.give(f"b_{letter}", self.bias, symbol=f"b_{letter}{sub}")
        return pen.at(self.role).work(PROJECT, symbol=symbol, x=x, w=w, b=b)

    def work_cache(self, pen: Pen, rows: tuple[str, ...], sub: str) -> Array | None:
        """Write the cached rows, if there are any."""
        if self.cached is None:
            return None
        symbol = f"cached {self.letter}{sub}"
        return pen.give(f"cached_{self.letter}", self.cached, symbol=symbol, rows=rows)

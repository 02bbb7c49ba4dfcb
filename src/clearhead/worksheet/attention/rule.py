"""How scores become weights: the keys for mask, scale and normaliser, and their steps."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from clearhead.errors import ProblemError
from clearhead.steps.vocabulary import DIVIDE, MASK, SCALE
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.cells import Allowed, Real, read_allowed, read_count, read_number
from clearhead.worksheet.pen import Pen, transpose
from clearhead.worksheet.problem import ProblemFields, shorten
from clearhead.worksheet.shapes import Shapes
from clearhead.worksheet.softmax import work_softmax

Names = tuple[str, ...]
MAX_SCORES = 2**24  # over all heads, to limit the memory of a worksheet


def check_scores(num_heads: int, num_queries: int, num_keys: int) -> None:
    """Raise ProblemError if there are more scores than a worksheet can hold."""
    if num_heads * num_queries * num_keys > MAX_SCORES:
        raise ProblemError(
            f"{num_heads} × {num_queries} × {num_keys} scores (heads × queries × keys) are more than {MAX_SCORES:,}, "
            "the limit of a worksheet. Give fewer tokens."
        )


def _padding(raw: object) -> int | Array | None:
    if isinstance(raw, list | tuple | np.ndarray):
        return np.asarray(read_allowed([list(raw)])[0])
    return None if raw is None else read_count(raw)


class MaskRule(ProblemFields):
    """Which keys a query can attend to."""

    causal: bool = Field(False, description="a token attends only to itself and to earlier tokens")
    padding: Annotated[int | Array | None, PlainValidator(_padding)] = Field(
        None, description="the number of padding keys at the end, or a list with 1 for a real key and 0 for padding"
    )
    explicit: Allowed | None = Field(
        None, description="a matrix with the shape of the scores: 1 if the query can attend to the key, 0 otherwise"
    )

    @property
    def is_off(self) -> bool:
        """Whether nothing is masked."""
        return not self.causal and self.padding is None and self.explicit is None

    def mistakes(self, shapes: Shapes, num_queries: int, num_keys: int) -> None:
        """Report a mask that does not fit the scores."""
        if self.causal and num_queries > num_keys:
            shapes.add(
                ("mask",),
                f"mask: a causal mask needs at least as many keys as queries, but there are {num_queries} queries and "
                f"{num_keys} keys. Use an explicit mask.",
            )
        if isinstance(self.padding, int) and not 0 <= self.padding <= num_keys:
            shapes.add(
                ("mask",),
                f"mask: padding = {self.padding}, but there are {num_keys} keys. Give a number from 0 to {num_keys}.",
            )
        if isinstance(self.padding, np.ndarray):
            shapes.vector("mask: padding", self.padding, num_keys, f"there are {num_keys} keys", ("mask",))
        if self.explicit is not None:
            because = f"there are {num_queries} queries and {num_keys} keys"
            shapes.shape("mask: explicit", self.explicit, num_queries, num_keys, because, ("mask",))

    def allowed(self, num_queries: int, num_keys: int, is_transposed: bool) -> Array:
        """Return 1 where a query (row) can attend to a key (column).

        If there are fewer queries than keys, the queries are the last tokens.
        """
        allowed = np.ones((num_queries, num_keys))
        if self.causal:
            allowed = np.tril(allowed, num_keys - num_queries)
        if isinstance(self.padding, int):
            allowed[:, num_keys - self.padding :] = 0.0
        elif self.padding is not None:
            allowed = allowed * self.padding
        if self.explicit is not None:
            allowed = allowed * (transpose(self.explicit) if is_transposed else self.explicit)
        return allowed


def _mask_rule(raw: object) -> object:
    if isinstance(raw, np.ndarray):
        return {"explicit": raw}
    if raw is None or raw == "none":
        return {}
    if raw == "causal":
        return {"causal": True}
    if isinstance(raw, list | tuple):
        return {"explicit": raw}
    if isinstance(raw, str):
        raise ValueError(
            f"'{str(raw)[:50]}' is not a mask. Give none, causal, a matrix of 0 and 1, or {{causal, padding, explicit}}"
        )
    return raw


def read_scale(raw: object) -> str | float:
    """Read none, sqrt(d_k), sqrt(d_model) or a number to divide by."""
    if raw is None or (isinstance(raw, str) and raw == "none"):
        return "none"
    if isinstance(raw, str) and raw.replace(" ", "") in ("sqrt(d_k)", "sqrt(d_model)"):
        return raw.replace(" ", "")
    try:
        divisor = read_number(raw)
    except ValueError:
        raise ValueError(
            f"{shorten(raw)} is not a scale. Give none, sqrt(d_k), sqrt(d_model) or a number to divide by"
        ) from None
    if divisor <= 0:
        raise ValueError(f"{shorten(raw)} is not greater than 0. Give the number to divide the scores by")
    return divisor


Scale = Annotated[Literal["none", "sqrt(d_k)", "sqrt(d_model)"] | float, PlainValidator(read_scale)]
Mask = Annotated[MaskRule, BeforeValidator(_mask_rule)]


class AttentionRule(ProblemFields):
    """How scores become weights."""

    scale: Scale = Field(
        "sqrt(d_k)", description="the divisor of the scores: none, sqrt(d_k), sqrt(d_model) or a number"
    )
    mask: Mask = Field(
        default_factory=MaskRule, description="none, causal, a matrix of 0 and 1, or {causal, padding, explicit}"
    )
    normaliser: Literal["softmax", "division"] = Field(
        "softmax", description="softmax; or division: divide each score by the sum of its row, without exp"
    )
    base: Real | None = Field(None, gt=0, description="the base of the softmax (default e)")

    @model_validator(mode="after")
    def _base_of_a_softmax(self) -> Self:
        if self.base == 1.0:
            raise ValueError("base = 1 makes all weights equal. Give another base, or remove it to use e")
        if self.base is not None and self.normaliser != "softmax":
            raise ValueError("base needs normaliser softmax. Remove one of them")
        return self


def work_mask(pen: Pen, mask: MaskRule, num_queries: int, num_keys: int, names: tuple[Names, Names]) -> Array | None:
    """Write the mask as a given matrix, once for all heads; return None if nothing is masked."""
    if mask.is_off:
        return None
    allowed = mask.allowed(num_queries, num_keys, pen.layout == "columns")
    for row in np.flatnonzero(~allowed.any(axis=1)):
        name = f"'{names[0][row]}'" if names[0] else f"query {row + 1}"
        pen.warn(f"{name} cannot attend to any key, so its weights and its output are zeros.")
    return pen.give_as_rows("M", allowed, rows=names[0], columns=names[1])


def work_scale(pen: Pen, rule: AttentionRule, scores: Array, d_k: int, d_model: int, sub: str = "") -> Array:
    """Write the scaled scores; with scale none, return the scores unchanged."""
    symbol = f"{SCALE.symbol_in(pen.layout)}{sub}"
    if rule.scale == "none":
        return scores
    if isinstance(rule.scale, float):
        return pen.work(SCALE, symbol=symbol, scores=scores, divisor=rule.scale)
    return pen.work(SCALE, symbol=symbol, scores=scores, root_of=d_k if rule.scale == "sqrt(d_k)" else d_model)


def work_weights(pen: Pen, rule: AttentionRule, scores: Array, allowed: Array | None, sub: str = "") -> Array:
    """Write the masked scores and the weights of each query over the keys."""
    if allowed is not None:
        fill = float("-inf") if rule.normaliser == "softmax" else 0.0
        scores = pen.work(MASK, symbol=f"{MASK.symbol_in(pen.layout)}{sub}", scores=scores, allowed=allowed, fill=fill)
    if rule.normaliser == "softmax":
        return work_softmax(pen, scores, sub=sub, base=rule.base)
    return work_division(pen, scores, allowed, sub)


def work_division(pen: Pen, scores: Array, allowed: Array | None, sub: str = "") -> Array:
    """Write each query's scores divided by their sum; raise ProblemError if a sum is 0."""
    totals = scores.sum(axis=1)
    has_key = np.ones(len(totals), dtype=bool) if allowed is None else allowed.any(axis=1)
    largest = np.abs(scores).max(axis=1)
    for row in np.flatnonzero(has_key & (np.abs(totals) <= 1e-12 * largest)):
        raise ProblemError(
            f"the scores of query {row + 1} sum to 0, so they cannot be divided by the sum. Use normaliser: softmax."
        )
    if np.any(scores < 0):
        pen.warn("some scores are negative, so that division by the sum gives weights below 0 or above 1.")
    return pen.work(DIVIDE, symbol=f"{DIVIDE.symbol_in(pen.layout)}{sub}", scores=scores)

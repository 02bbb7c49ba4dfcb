"""Write the steps of an attention layer, head by head.

Z = softmax(Q Kᵀ / √d_k) V        (tokens as rows; as columns, Y = V softmax(Kᵀ Q / √d))
"""

from dataclasses import dataclass

import numpy as np

from clearhead.errors import ProblemError
from clearhead.steps.symbols import subscript
from clearhead.steps.vocabulary import ANGLE, APPEND, JOIN, MIX, ROTATE, SCORE, SPLIT
from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.layer import ROLES, AttentionLayer, KeyValueWeights
from clearhead.worksheet.attention.rule import Names, check_scores, work_mask, work_scale, work_weights
from clearhead.worksheet.pen import Pen


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """Vectors with the names of their tokens (`x` is None if Q, K or V are given)."""

    x: Array | None
    names: Names = ()
    cached_names: Names = ()


def work_attention(pen: Pen, layer: AttentionLayer, query_tokens: TokenSequence, key_tokens: TokenSequence) -> Array:
    """Write the steps of a layer with queries from `query_tokens`, and keys and values from `key_tokens`."""
    matrices = _HeadMatrices(pen, layer, query_tokens, key_tokens)
    allowed: Array | None = None
    outputs = []
    for head in range(layer.head_count):
        q, k = (matrices.matrix(role, head) for role in ("query", "key"))
        v = matrices.matrix("value", head) if layer.has_values else None
        if head == 0:
            check_scores(layer.head_count, len(q), len(k))
            allowed = _work_mask(pen, layer, (query_tokens, key_tokens), len(q), len(k))
        here, sub = matrices.place("query", head)
        raw = "KᵀQ" if pen.layout == "columns" and layer.scale != "none" else SCORE.symbol_in(pen.layout)
        scores = here.work(SCORE, symbol=f"{raw}{sub}", q=q, k=k)
        d_model = (
            q.shape[1] * (1 if layer.heads else layer.head_count) if query_tokens.x is None else query_tokens.x.shape[1]
        )
        scores = work_scale(here, layer, scores, q.shape[1], d_model, sub)
        weights = work_weights(here, layer, scores, allowed, sub)
        if v is None:
            outputs.append(weights)
        else:
            outputs.append(here.work(MIX, symbol=f"{MIX.symbol_in(pen.layout)}{sub}", weights=weights, v=v))
    if not layer.has_values:
        pen.warn("no values V are given, so the weights are the answer.")
        return outputs[-1]
    joined = pen.at("output").work(JOIN, parts=tuple(outputs)) if matrices.is_many else outputs[0]
    return layer.work_output(pen, joined)


def _work_mask(
    pen: Pen, layer: AttentionLayer, sequences: tuple[TokenSequence, TokenSequence], num_queries: int, num_keys: int
) -> Array | None:
    query_tokens, key_tokens = sequences
    key_names = key_tokens.cached_names + key_tokens.names
    if len(key_names) != num_keys:
        key_names = ()
    if layer.mask.causal and num_queries < num_keys and not layer.num_cached(pen.layout):
        pen.warn("there are fewer queries than keys: the causal mask treats the queries as the last tokens.")
    return work_mask(pen, layer.mask, num_queries, num_keys, (query_tokens.names, key_names))


class _HeadMatrices:
    """Compute queries, keys and values once each, with separate weights for each head or by splitting one product."""

    def __init__(self, pen: Pen, layer: AttentionLayer, query_tokens: TokenSequence, key_tokens: TokenSequence) -> None:
        self.pen, self.layer = pen, layer
        self.is_many = bool(layer.heads) or layer.num_heads is not None
        self._num_cached = layer.num_cached(pen.layout)
        self._tokens = {"query": query_tokens, "key": key_tokens, "value": key_tokens}
        self._by_head: dict[tuple[str, int], Array] = {}
        self._unsplit: dict[str, Array] = {}
        self._caches: dict[str, Array | None] = {}
        if not layer.heads:
            for role in ROLES if layer.has_values else ROLES[:2]:
                self._unsplit[role] = layer.projection(role).work(
                    pen, self._tokens[role].x, self._tokens[role].names, ""
                )
                self._caches[role] = layer.projection(role).work_cache(pen, key_tokens.cached_names, "")

    def place(self, role: str, head: int) -> tuple[Pen, str]:
        """Return the pen for a head, and the subscript of its symbols."""
        if not self.is_many:
            return self.pen, ""
        is_shared = role != "query" and self.layer.kv_count < self.layer.head_count
        return self.pen.at("kv_head" if is_shared else "head", head), subscript(head + 1)

    def matrix(self, role: str, head: int) -> Array:
        """Return the queries of a head, or the keys or values that it uses."""
        count = self.layer.head_count if role == "query" else self.layer.kv_count
        index = head * count // self.layer.head_count
        if (role, index) not in self._by_head:
            self._by_head[role, index] = self._compute(role, index, count)
        return self._by_head[role, index]

    def _compute(self, role: str, index: int, count: int) -> Array:
        here, sub = self.place(role, index)
        letter, tokens = self.layer.projection(role).letter, self._tokens[role]
        if self.layer.heads:
            owners: tuple[KeyValueWeights, ...] = self.layer.heads
            if role != "query" and self.layer.kv_heads:
                owners = self.layer.kv_heads
            projection = self.layer.projection(role, owners[index])
            new, cached = (
                projection.work(here, tokens.x, tokens.names, sub),
                projection.work_cache(here, tokens.cached_names, sub),
            )
        else:
            new, cached = self._unsplit[role], self._caches[role]
            if self.is_many:
                share = {"head": index + 1, "num_heads": count}
                new = here.at(role).work(SPLIT, symbol=self.layer.projection(role).new_symbol(sub), x=new, **share)
                if cached is not None:
                    cached = here.at(role, "cached").work(SPLIT, symbol=f"cached {letter}{sub}", x=cached, **share)
        if role != "value":
            start = self._first_query(new) if role == "query" else self._num_cached
            new = self._rotate(here.at(role), new, start, f"{letter}{sub}′", tokens.names)
        if cached is None:
            return new
        return here.at(role).work(APPEND, symbol=f"{letter}{sub}", cached=cached, new=new)

    def _first_query(self, queries: Array) -> int:
        """Return the position of the first query; with fewer causal queries than keys, they are the last tokens."""
        owners: list[KeyValueWeights] = [self.layer, *self.layer.heads, *self.layer.kv_heads]
        key_matrix = next((owner.K for owner in owners if owner.K is not None), None)
        key_vectors = self._tokens["key"].x
        num_keys = len(queries) if key_vectors is None else len(key_vectors)
        if key_matrix is not None:
            num_keys = key_matrix.shape[self.pen.layout == "columns"]
        is_late = self.layer.mask.causal and not self._num_cached
        return max(0, num_keys - len(queries)) if is_late else self._num_cached

    def _rotate(self, pen: Pen, matrix: Array, start: int, symbol: str, names: Names) -> Array:
        """Rotate queries or keys by their positions if the layer has rotary positions."""
        rotary = self.layer.rotary
        if rotary is None:
            return matrix
        if matrix.shape[1] % 2:
            raise ProblemError(
                f"rotary positions rotate pairs of dimensions, but a head is {matrix.shape[1]} wide. Make d_k even."
            )
        places = start + np.arange(matrix.shape[0], dtype=np.float64)
        positions = pen.give_as_rows("positions", places, symbol="pos", rows=names)
        angles = pen.work(ANGLE, positions=positions, width=matrix.shape[1], base=rotary.base)
        return pen.work(ROTATE, symbol=symbol, x=matrix, angles=angles, pairing=rotary.pairing)

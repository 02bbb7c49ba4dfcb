"""Validate an attention layer: a sentence for every matrix, bias or head that does not fit the others."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clearhead.worksheet.arrays import Array
from clearhead.worksheet.attention.layer import LETTER, ROLES, AttentionLayer, HeadWeights, KeyValueWeights, Projection
from clearhead.worksheet.cells import count
from clearhead.worksheet.shapes import Shapes, size


@dataclass(frozen=True)
class SequenceShape:
    """The tokens of the queries, or of keys and values: the name of the matrix, the number of tokens and the width."""

    name: str
    count: int
    width: int
    is_computed: bool = False

    def on_paper(self, shapes: Shapes) -> Array | None:
        """Return an empty matrix with the shape of the given tokens, None if they are computed."""
        size = (self.count, self.width) if shapes.layout == "rows" else (self.width, self.count)
        return None if self.is_computed else np.empty(size)


def attention_mistakes(
    shapes: Shapes,
    layer: AttentionLayer,
    query_shape: SequenceShape | None,
    key_shape: SequenceShape | None,
    *,
    needs_values: bool = True,
) -> None:
    """Add a sentence for every part of the layer that does not fit its input tokens.

    Without `needs_values`, the values can be left out: the weights are then the answer.
    """
    owners: list[tuple[str, KeyValueWeights]]
    if layer.heads:
        owners = [(f"head {n}: ", head) for n, head in enumerate(layer.heads, 1)]
        owners += [(f"kv_head {n}: ", head) for n, head in enumerate(layer.kv_heads, 1)]
        _head_list_mistakes(shapes, layer)
    else:
        owners = [("", layer)]
        if layer.kv_heads:
            shapes.add(
                ("kv_heads", "heads", "num_heads", "num_kv_heads"),
                "kv_heads needs heads. Give heads too, or use num_heads with num_kv_heads.",
            )
    sources = {"query": query_shape, "key": key_shape, "value": key_shape}
    roles = ROLES if needs_values or layer.has_values else ("query", "key")
    for prefix, owner in owners:
        required: tuple[str, ...] = roles
        if layer.kv_heads:
            required = ("query",) if isinstance(owner, HeadWeights) else roles[1:]
        _role_mistakes(shapes, layer, (prefix, owner), required, sources)
    if not shapes.mistakes:
        _layer_mistakes(shapes, layer, query_shape, key_shape)


def _head_list_mistakes(shapes: Shapes, layer: AttentionLayer) -> None:
    layer_keys = [f"{kind}{letter}" for kind in ("W_", "b_", "", "cached_") for letter in "QKV"]
    present = [key for key in layer_keys if getattr(layer, key, None) is not None]
    if present:
        shapes.add(
            ("heads", present[0], "num_heads"),
            f"both heads and {present[0]} are given. Move {present[0]} into each head, or use num_heads.",
        )
    for key in ("num_heads", "num_kv_heads"):
        if getattr(layer, key) is not None:
            shapes.add(
                ("heads", key), f"both heads and {key} are given. Remove {key}: the length of the list is the number."
            )
    if layer.kv_heads and len(layer.heads) % len(layer.kv_heads):
        shapes.add(
            ("heads", "kv_heads"),
            f"{len(layer.heads)} heads cannot be divided evenly among {len(layer.kv_heads)} kv_heads. "
            f"Use {_divisors(len(layer.heads))} kv_heads.",
        )


def _role_mistakes(
    shapes: Shapes,
    layer: AttentionLayer,
    prefixed_owner: tuple[str, KeyValueWeights],
    required: tuple[str, ...],
    sources: Mapping[str, SequenceShape | None],
) -> None:
    prefix, owner = prefixed_owner
    for role in ROLES:
        letter, source = LETTER[role], sources[role]
        projection = layer.projection(role, owner)
        if role not in required:
            if projection.matrix is not None or projection.weights is not None:
                shapes.add(
                    (letter, f"W_{letter}", "kv_heads"),
                    f"{prefix}{letter} is computed in kv_heads. Remove W_{letter} here.",
                )
            continue
        if projection.matrix is not None and projection.weights is not None:
            shapes.add((letter, f"W_{letter}"), f"{prefix}both {letter} and W_{letter} are given. Remove one of them.")
        elif projection.matrix is None and projection.weights is None:
            shapes.add(
                (f"W_{letter}", letter),
                f"{prefix}W_{letter} is missing: give the weights W_{letter}, or the matrix {letter}.",
            )
        elif projection.weights is not None and source is None:
            name = "Y" if role == "query" and sources["key"] is not None else "X"
            shapes.add(
                (f"W_{letter}", letter, name),
                f"{prefix}W_{letter} needs input tokens: give {name}, or give the matrix {letter} instead.",
            )
        elif projection.weights is not None and source is not None:
            w_name, b_name = f"W_{letter}", f"b_{letter}"
            on_paper, keys = source.on_paper(shapes), (source.name, w_name)
            shapes.product(source.name, source.width, on_paper, f"{prefix}{w_name}", projection.weights, keys)
            if projection.bias is not None:
                shapes.bias(f"{prefix}{b_name}", projection.bias, w_name, projection.weights, (b_name, w_name))
        elif projection.matrix is not None and source is not None and shapes.tokens(projection.matrix) != source.count:
            shapes.add(
                (letter, source.name),
                f"{prefix}{letter} is {size(projection.matrix)}, but {source.name} has {count(source.count, 'token')}. "
                f"Give {letter} one vector for each token of {source.name}, or remove {source.name}.",
            )
        if projection.bias is not None and projection.weights is None:
            shapes.add(
                (f"b_{letter}", f"W_{letter}"),
                f"{prefix}b_{letter} needs W_{letter}, which is not given. Remove it.",
            )


def _layer_mistakes(
    shapes: Shapes, layer: AttentionLayer, query_shape: SequenceShape | None, key_shape: SequenceShape | None
) -> None:
    """Report queries, keys and values that do not fit each other, once each of them can be computed."""
    query_owners = list(layer.heads) or [layer]
    kv_owners: list[KeyValueWeights] = list(layer.kv_heads) or list(query_owners)
    value_widths = []
    num_queries = num_keys = 0
    for number, owner in enumerate(query_owners):
        kv_owner = kv_owners[number * len(kv_owners) // len(query_owners)]
        prefix = f"head {number + 1}: " if layer.heads else ""
        q = _count_and_width(shapes, layer.projection("query", owner), query_shape)
        k = _count_and_width(shapes, layer.projection("key", kv_owner), key_shape)
        v = _count_and_width(shapes, layer.projection("value", kv_owner), key_shape) if layer.has_values else k
        _qkv_mistakes(shapes, layer, prefix, (q, k, v))
        caches = [("K", kv_owner.cached_K, k), ("V", kv_owner.cached_V, v)]
        _cache_mistakes(shapes, prefix, caches)
        keys_here = k[0] + (shapes.tokens(kv_owner.cached_K) if kv_owner.cached_K is not None else 0)
        if number and (q[0], keys_here) != (num_queries, num_keys):
            shapes.add(
                ("heads",),
                f"{prefix}it has {q[0]} queries and {keys_here} keys, but head 1 has {num_queries} and {num_keys}. "
                "Give every head the same numbers.",
            )
            break
        num_queries, num_keys = q[0], keys_here
        value_widths.append(v[1])
    if shapes.mistakes:
        return
    layer.mask.mistakes(shapes, num_queries, num_keys)
    joined = sum(value_widths)
    if not layer.heads and layer.kv_count < layer.head_count:
        joined = joined // layer.kv_count * layer.head_count
    if layer.W_O is not None:
        shapes.product("the joined heads" if layer.head_count > 1 else "Z", joined, None, "W_O", layer.W_O)
        if layer.b_O is not None:
            shapes.bias("b_O", layer.b_O, "W_O", layer.W_O)
    elif layer.b_O is not None:
        shapes.add(("b_O", "W_O"), "b_O needs W_O, which is not given. Remove it.")


def _count_and_width(shapes: Shapes, projection: Projection, source: SequenceShape | None) -> tuple[int, int]:
    """Return the number of vectors of a projection and their width."""
    if projection.matrix is not None:
        return shapes.tokens(projection.matrix), shapes.width(projection.matrix)
    assert projection.weights is not None
    assert source is not None
    return source.count, shapes.width(projection.weights)


def _qkv_mistakes(
    shapes: Shapes, layer: AttentionLayer, prefix: str, qkv: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
) -> None:
    (_, q_width), (k_tokens, k_width), (v_tokens, v_width) = qkv
    heads, kv = (1, 1) if layer.heads else (layer.head_count, layer.kv_count)
    if heads % kv:
        shapes.add(
            ("num_kv_heads", "num_heads"),
            f"num_kv_heads = {kv} does not divide num_heads = {heads}. Use {_divisors(heads)} key/value heads.",
        )
        return
    for letter, width, share, name in (("Q", q_width, heads, "num_heads"), ("K", k_width, kv, "num_kv_heads"),
                                       ("V", v_width, kv, "num_kv_heads")):  # fmt: skip
        if width % share:
            name = name if layer.num_kv_heads else "num_heads"
            shapes.add(
                (name, letter),
                f"{name} = {share} does not divide the width {width} of {letter}. Use {_divisors(width)} heads.",
            )
            return
    if q_width // heads != k_width // kv:
        shapes.add(
            ("W_Q", "W_K", "Q", "K"),
            f"{prefix}a query is {q_width // heads} wide and a key {k_width // kv}, so they have no dot product. "
            "Give W_Q and W_K (or Q and K) the same width in every head.",
        )
    if k_tokens != v_tokens:
        shapes.add(
            ("K", "V"),
            f"{prefix}there are {k_tokens} keys and {v_tokens} values. "
            "Every key needs one value: give the same number of each.",
        )


def _cache_mistakes(shapes: Shapes, prefix: str, caches: list[tuple[str, Array | None, tuple[int, int]]]) -> None:
    (_, cached_k, _), (_, cached_v, _) = caches
    if (cached_k is None) != (cached_v is None):
        there, missing = ("cached_K", "cached_V") if cached_v is None else ("cached_V", "cached_K")
        shapes.add((there, missing), f"{prefix}{there} is given without {missing}. Give both.")
    for letter, cached, (_, width) in caches:
        if cached is not None and shapes.width(cached) != width:
            shapes.add(
                (f"cached_{letter}", letter),
                f"{prefix}cached_{letter} is {size(cached)}, but {letter} is {width} wide. Give both the same width.",
            )
    if cached_k is not None and cached_v is not None:
        names = (f"{prefix}cached_K", f"{prefix}cached_V")
        keys = ("cached_K", "cached_V")
        shapes.same_tokens(names[0], cached_k, names[1], cached_v, "every key needs a value", keys)


def _divisors(number: int) -> str:
    divisors = [str(d) for d in range(1, number + 1) if number % d == 0]
    return divisors[0] if len(divisors) == 1 else f"{', '.join(divisors[:-1])} or {divisors[-1]}"
